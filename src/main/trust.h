// What a server trusts: its data folder, its configuration, its keys. Whether somebody else could
// change them, and so come in as anybody or run commands as anybody.
//
// Only owners, modes and links are looked at, never contents. Where everyone may do everything
// anyway, without tokens and without other users, a flaw is no more than a warning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/server_config.h"

namespace berth::main {

struct TrustFlaw {
  std::string text;  // what, why, what to do
  bool prevents_start = false;
};

// `file`: of the configuration, if it has one. `for_others`: commands run as other users than the
// server's.
std::vector<TrustFlaw> flaws_in_trust(const config::ServerConfig& config,
                                      const std::optional<std::string>& file, bool for_others);

}  // namespace berth::main
