// See tls.h.
#include "api/tls.h"

#include <fstream>
#include <sstream>
#include <string_view>

#include <boost/asio/ssl/context.hpp>

namespace berth::api {
namespace {

namespace ssl = boost::asio::ssl;

constexpr std::string_view kSessionsOf = "berth";

Result<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return Error{"cannot read " + path.string()};
  return text.str();
}

Status cannot_use(std::string_view what, const std::filesystem::path& path,
                  const boost::system::error_code& error) {
  if (!error) return Done{};
  return Error{"cannot use the " + std::string(what) + " in " + path.string() + ": " +
               error.message()};
}

Status use_own(ssl::context& context, const Tls& tls, const TlsFiles& files) {
  boost::system::error_code error;
  context.set_options(
      ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, error);
  if (!error) context.use_certificate_chain(boost::asio::buffer(tls.certificates), error);
  if (error) return cannot_use("TLS certificate", files.certificate, error);
  context.use_private_key(boost::asio::buffer(tls.key), ssl::context::pem, error);
  return cannot_use("TLS key", files.key, error);
}

Status ask_clients(ssl::context& context, const Tls& tls, const TlsFiles& files) {
  boost::system::error_code error;
  context.add_certificate_authority(boost::asio::buffer(tls.client_ca), error);
  if (!error) context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  // Without it a client that takes up an earlier session is turned away.
  SSL_CTX_set_session_id_context(context.native_handle(),
                                 reinterpret_cast<const unsigned char*>(kSessionsOf.data()),
                                 static_cast<unsigned>(kSessionsOf.size()));
  return cannot_use("certificates that vouch for clients", files.client_ca, error);
}

Status read_files(const TlsFiles& files, Tls& tls) {
  for (const auto& [path, text] :
       {std::pair{files.certificate, &tls.certificates}, std::pair{files.key, &tls.key},
        std::pair{files.client_ca, &tls.client_ca}}) {
    if (path.empty()) continue;
    Result<std::string> read = read_text(path);
    if (!read) return read.error();
    *text = std::move(*read);
  }
  return Done{};
}

}  // namespace

Result<Tls> load_tls(const TlsFiles& files) {
  Tls tls;
  if (files.certificate.empty() != files.key.empty())
    return Error{"TLS needs both a certificate and its key"};
  if (files.certificate.empty()) {
    if (files.client_ca.empty()) return tls;
    return Error{"client certificates need TLS: a certificate of the server and its key"};
  }
  if (Status read = read_files(files, tls); !read) return read.error();
  tls.context = std::make_shared<ssl::context>(ssl::context::tls_server);
  if (Status used = use_own(*tls.context, tls, files); !used) return used.error();
  if (files.client_ca.empty()) return tls;
  if (Status asked = ask_clients(*tls.context, tls, files); !asked) return asked.error();
  return tls;
}

}  // namespace berth::api
