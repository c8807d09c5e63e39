// See trust.h.
#include "main/trust.h"

#include <utility>

#include "store/folder_access.h"

namespace berth::main {

std::vector<TrustFlaw> flaws_in_trust(const config::ServerConfig& config,
                                      const std::optional<std::string>& file, bool for_others) {
  const config::ServerSection& server = config.server;
  const std::pair<const char*, std::string> trusted[] = {
      {"server.data", server.data},
      {"the configuration", file.value_or("")},
      {"server.tls_certificate", server.tls_certificate},
      {"server.tls_key", server.tls_key},
      {"server.tls_client_ca", server.tls_client_ca},
  };
  std::vector<TrustFlaw> flaws;
  for (const auto& [what, path] : trusted) {
    const std::string flaw = path.empty() ? "" : store::flaw_in_trust(path);
    if (!flaw.empty()) flaws.push_back({what + (": " + flaw), server.authentication || for_others});
  }
  const std::string open = server.tls_key.empty() ? "" : store::flaw_in_secret(server.tls_key);
  if (!open.empty()) flaws.push_back({"server.tls_key: " + open, false});
  return flaws;
}

}  // namespace berth::main
