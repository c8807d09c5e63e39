// Both doors with TLS, with certificates made for the test: who is let in, and who is not.
#include <fstream>
#include <memory>
#include <optional>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "api/testing/certificates.h"
#include "api/testing/doors.h"

namespace berth::api::tls_test {
namespace {

using testing::Authority;
using testing::Identity;
using testing::Owned;

constexpr const char* kNobody = "";

class Tls : public ::testing::Test {
 protected:
  Tls() : authority_("servers"), clients_("clients"), server_(authority_.issue("localhost")) {
    write("server.pem", server_.certificate);
    write("server.key", server_.key);
    write("clients.pem", clients_.certificate());
  }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(files_ / name) << text;
    return files_ / name;
  }
  void serve(bool asks_clients, ApiOptions options = {}) {
    options.tls = {.certificate = files_ / "server.pem", .key = files_ / "server.key"};
    if (asks_clients) options.tls.client_ca = files_ / "clients.pem";
    doors_ = std::make_unique<testing::Doors>(std::move(options));
  }

  // A call by one who trusts the server; with a certificate, if it has one.
  grpc::Status call(const std::optional<Identity>& client) const {
    grpc::SslCredentialsOptions credentials;
    credentials.pem_root_certs = authority_.certificate();
    if (client) {
      credentials.pem_cert_chain = client->certificate;
      credentials.pem_private_key = client->key;
    }
    const auto stub = v1::Scheduler::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(doors_->server->grpc_port()),
                            grpc::SslCredentials(credentials)));
    grpc::ClientContext context;
    v1::ServerInfo info;
    return stub->GetServerInfo(&context, {}, &info);
  }

  // The same over HTTP: what was answered to GET /healthz. `session`: of an earlier call, taken up
  // again and replaced.
  std::string get(const std::optional<Identity>& client, SSL_SESSION** session = nullptr) const {
    const Owned<SSL_CTX, SSL_CTX_free> context(SSL_CTX_new(TLS_client_method()));
    const Owned<X509, X509_free> root = certificate_of(authority_.certificate());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), root.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (client) {
      const Owned<BIO, BIO_free_all> key_text = memory(client->key);
      const Owned<EVP_PKEY, EVP_PKEY_free> key(
          PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
      SSL_CTX_use_certificate(context.get(), certificate_of(client->certificate).get());
      SSL_CTX_use_PrivateKey(context.get(), key.get());
    }
    const Owned<BIO, BIO_free_all> bio(BIO_new_ssl_connect(context.get()));
    SSL* ssl = nullptr;
    BIO_get_ssl(bio.get(), &ssl);
    if (session != nullptr && *session != nullptr) {
      SSL_set_session(ssl, *session);
      SSL_SESSION_free(std::exchange(*session, nullptr));
    }
    BIO_set_conn_hostname(bio.get(),
                          ("127.0.0.1:" + std::to_string(doors_->server->http_port())).c_str());
    if (BIO_do_handshake(bio.get()) != 1) return kNobody;
    const std::string request =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    BIO_write(bio.get(), request.data(), static_cast<int>(request.size()));
    std::string answer;
    char buffer[4096];
    for (int got = 0; (got = BIO_read(bio.get(), buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
    if (session != nullptr) {
      taken_up_ = SSL_session_reused(ssl) == 1;
      *session = SSL_get1_session(ssl);
    }
    return answer;
  }

  static Owned<BIO, BIO_free_all> memory(const std::string& text) {
    return Owned<BIO, BIO_free_all>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  }
  static Owned<X509, X509_free> certificate_of(const std::string& text) {
    return Owned<X509, X509_free>(PEM_read_bio_X509(memory(text).get(), nullptr, nullptr, nullptr));
  }

  const Authority authority_;
  const Authority clients_;
  const Identity server_;
  store::testing::TempFolder files_;
  std::unique_ptr<testing::Doors> doors_;
  mutable bool taken_up_ = false;
};

// Connections that never say hello give way, also those of one's own address.
TEST_F(Tls, HalfOpenHandshakesKeepNobodyOut) {
  ApiOptions options;
  options.http_limits.guests = {
      .all = 8, .per_address = 8, .greetings = 4, .greetings_per_address = 4};
  serve(false, std::move(options));
  std::vector<std::unique_ptr<testing::RawHttp>> silent;
  for (int i = 0; i < 32; ++i)
    silent.push_back(std::make_unique<testing::RawHttp>(doors_->server->http_port()));
  EXPECT_NE(get(std::nullopt), kNobody);
  EXPECT_FALSE(silent.front()->receive()) << "it was sent away";
}

TEST_F(Tls, GrpcIsEncrypted) {
  serve(false);
  const grpc::Status status = call(std::nullopt);
  EXPECT_TRUE(status.ok()) << status.error_message();
  v1::ServerInfo info;
  EXPECT_FALSE(doors_->call(&v1::Scheduler::Stub::GetServerInfo, {}, info).ok())
      << "without TLS there is no answer";
}

TEST_F(Tls, HttpIsEncrypted) {
  serve(false);
  const std::string answer = get(std::nullopt);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_TRUE(answer.ends_with("ok\n"));
}

TEST_F(Tls, AClientWithACertificateOfTheAuthorityIsLetIn) {
  serve(true);
  const Identity client = clients_.issue("somebody");
  const grpc::Status status = call(client);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(get(client).starts_with("HTTP/1.1 200"));
}

TEST_F(Tls, AClientWithoutACertificateIsNot) {
  serve(true);
  EXPECT_EQ(call(std::nullopt).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(get(std::nullopt), kNobody);
}

TEST_F(Tls, NorOneWithACertificateOfAnotherAuthority) {
  serve(true);
  for (const Identity& stranger :
       {Authority("strangers").issue("somebody"), Authority("clients").issue("somebody"),
        authority_.issue("somebody")}) {
    EXPECT_EQ(call(stranger).error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(get(stranger), kNobody);
  }
}

TEST_F(Tls, AnEarlierSessionIsTakenUpAgain) {
  serve(true);
  const Identity client = clients_.issue("somebody");
  SSL_SESSION* session = nullptr;
  EXPECT_TRUE(get(client, &session).starts_with("HTTP/1.1 200"));
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(get(client, &session).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(taken_up_);
  SSL_SESSION_free(session);
}

TEST_F(Tls, AFileThatCannotBeUsedIsNamed) {
  testing::Doors doors;
  const auto error = [&](TlsFiles files) -> std::string {
    ApiOptions options;
    options.grpc_address = options.http_address = "127.0.0.1:0";
    options.tls = std::move(files);
    const auto started = ApiServer::start(options, doors.running.service());
    return started.ok() ? "" : started.error().message;
  };
  const auto good = files_ / "server.pem";
  const auto key = files_ / "server.key";
  const auto missing = files_ / "nothing.pem";
  const auto garbage = write("garbage.pem", "no certificate\n");
  const auto other_key = write("other.key", authority_.issue("localhost").key);
  EXPECT_EQ(error({.certificate = good}), "TLS needs both a certificate and its key");
  EXPECT_EQ(error({.client_ca = good}),
            "client certificates need TLS: a certificate of the server and its key");
  EXPECT_EQ(error({good, missing, {}}), "cannot read " + missing.string());
  EXPECT_EQ(error({good, key, missing}), "cannot read " + missing.string());
  for (const TlsFiles& files :
       {TlsFiles{garbage, key, {}}, TlsFiles{good, garbage, {}}, TlsFiles{good, key, garbage}})
    EXPECT_TRUE(error(files).starts_with("cannot use the ")) << error(files);
  EXPECT_NE(error({good, key, garbage}).find("garbage.pem"), std::string::npos);
  EXPECT_NE(error({good, other_key, {}}).find("other.key"), std::string::npos);
}

}  // namespace
}  // namespace berth::api::tls_test
