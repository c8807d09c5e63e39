// Tls: the certificates and keys of both doors, read and tried before either opens, so that a file
// that cannot be used is named.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

namespace boost::asio::ssl {
class context;  // NOLINT(readability-identifier-naming): its name
}

namespace berth::api {

struct TlsFiles {
  std::filesystem::path certificate;  // PEM, with its chain; empty: no TLS
  std::filesystem::path key;
  // Every client must show a certificate that one of these signed; empty: clients need none.
  std::filesystem::path client_ca;
};

struct Tls {
  std::string certificates;  // PEM; "": no TLS
  std::string key;
  std::string client_ca;
  std::shared_ptr<boost::asio::ssl::context> context;  // the same, for the HTTP door
};

Result<Tls> load_tls(const TlsFiles& files);

}  // namespace berth::api
