// See unreachable.h.
#include "cli/unreachable.h"

#include "config/diagnostics.h"

namespace berth::cli {
namespace {

constexpr const char* kStartOne =
    "Start a server with 'berth serve', or name another with --server or BERTH_SERVER.";

// It took the connection and let it go before a word was said.
Unreachable closed_at_once(const Approach& approach) {
  const std::string why = "the server at " + approach.server + " closed the connection at once";
  if (!approach.with_tls) return {why, "It may use TLS: name its authority with --ca or BERTH_CA."};
  if (!approach.with_certificate) {
    return {why,
            "It may ask for a certificate: give --cert and --key, or BERTH_CERT and BERTH_KEY."};
  }
  return {why, "It may not trust the certificate in --cert."};
}

}  // namespace

std::optional<Unreachable> unreachable(const client::Failure& failure, const Approach& approach) {
  if (failure.code != grpc::StatusCode::UNAVAILABLE) return std::nullopt;
  const std::string& said = failure.message;
  const auto has = [&](std::string_view words) { return said.find(words) != said.npos; };
  const std::string& server = approach.server;
  if (said.starts_with("DNS resolution failed")) {
    return Unreachable{"no machine is named " + config::quoted(server.substr(0, server.rfind(':'))),
                       "Name the server with --server or BERTH_SERVER, as HOST:PORT."};
  }
  if (!said.starts_with("failed to connect")) return std::nullopt;
  if (has("certificate verify failed")) {
    return Unreachable{"the certificates to trust do not vouch for the server at " + server,
                       "See --ca: it names those of the server's authority."};
  }
  if (has("wrong version number"))
    return Unreachable{"the server at " + server + " does not use TLS", "Leave out --ca."};
  for (const char* words : {"Socket closed", "Connection reset", "Broken pipe"}) {
    if (has(words)) return closed_at_once(approach);
  }
  return Unreachable{"no server answers at " + server, kStartOne};
}

}  // namespace berth::cli
