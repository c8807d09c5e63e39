// Both doors with TLS, with a certificate made for the test.
#include <fstream>
#include <memory>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "api/testing/doors.h"

namespace berth::api {
namespace {

template <class T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, std::integral_constant<void (*)(T*), kFree>>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

// For "localhost", signed by itself.
TlsText make_certificate() {
  const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
  const Owned<X509, X509_free> certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost");
  X509_add_ext(certificate.get(), names, -1);
  X509_EXTENSION_free(names);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const Owned<BIO, BIO_free_all> certificate_text(BIO_new(BIO_s_mem()));
  const Owned<BIO, BIO_free_all> key_text(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate_text.get(), certificate.get());
  PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

class Tls : public ::testing::Test {
 protected:
  Tls() : tls_(make_certificate()) {
    std::ofstream(files_ / "cert.pem") << tls_.certificates;
    std::ofstream(files_ / "key.pem") << tls_.key;
    ApiOptions options;
    options.tls_certificate = files_ / "cert.pem";
    options.tls_key = files_ / "key.pem";
    doors_ = std::make_unique<testing::Doors>(std::move(options));
  }

  TlsText tls_;
  store::testing::TempFolder files_;
  std::unique_ptr<testing::Doors> doors_;
};

TEST_F(Tls, GrpcIsEncrypted) {
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = tls_.certificates;
  // By address, with the name to expect: a look-up by gRPC's resolver leaks a few bytes.
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("localhost");
  const auto channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(doors_->server->grpc_port()),
                                grpc::SslCredentials(trust), arguments);
  const auto stub = v1::Scheduler::NewStub(channel);
  grpc::ClientContext context;
  v1::ServerInfo info;
  const grpc::Status status = stub->GetServerInfo(&context, {}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(doors_->call(&v1::Scheduler::Stub::GetServerInfo, {}, info).ok())
      << "without TLS there is no answer";
}

TEST_F(Tls, HttpIsEncrypted) {
  const Owned<SSL_CTX, SSL_CTX_free> context(SSL_CTX_new(TLS_client_method()));
  const Owned<BIO, BIO_free_all> trusted(
      BIO_new_mem_buf(tls_.certificates.data(), static_cast<int>(tls_.certificates.size())));
  const Owned<X509, X509_free> root(PEM_read_bio_X509(trusted.get(), nullptr, nullptr, nullptr));
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), root.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const Owned<BIO, BIO_free_all> bio(BIO_new_ssl_connect(context.get()));
  BIO_set_conn_hostname(bio.get(),
                        ("127.0.0.1:" + std::to_string(doors_->server->http_port())).c_str());
  ASSERT_EQ(BIO_do_handshake(bio.get()), 1);
  const std::string request =
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  BIO_write(bio.get(), request.data(), static_cast<int>(request.size()));
  std::string answer;
  char buffer[4096];
  for (int got = 0; (got = BIO_read(bio.get(), buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(got));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_TRUE(answer.ends_with("ok\n"));
}

TEST(TlsFiles, AMissingOrBadFileIsSaid) {
  testing::Doors doors;
  ApiOptions options;
  options.grpc_address = options.http_address = "127.0.0.1:0";
  options.tls_certificate = doors.folder / "nothing.pem";
  EXPECT_FALSE(ApiServer::start(options, doors.running.service()).ok()) << "no key";
  options.tls_key = doors.folder / "nothing.pem";
  const auto started = ApiServer::start(options, doors.running.service());
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("nothing.pem"), std::string::npos);
}

}  // namespace
}  // namespace berth::api
