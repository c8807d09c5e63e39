// The tokens file: who may come in, one line each. Secrets are not in it, only their SHA-256.
//
// A line: id, hash, tenant, role, created, expires, revoked, with tabs between; instants in seconds
// since 1970, 0 for none. Written whole, synced and renamed, readable by its owner alone; writers
// take turns by a lock file beside it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/methods.h"
#include "base/result.h"

namespace berth::api {

using Sha256 = std::array<std::uint8_t, 32>;

struct Token {
  std::string id;
  Sha256 hash{};
  std::string tenant;
  Role role = Role::tenant;
  std::int64_t created_s = 0;
  std::int64_t expires_s = 0;
  std::int64_t revoked_s = 0;
};

inline constexpr std::string_view kTokenPrefix = "bth_";
inline constexpr std::array kTokenRoles = {Role::tenant, Role::reader, Role::agent, Role::admin};
std::optional<Role> token_role_named(std::string_view name);

Sha256 sha256(std::string_view text);

// A file that is not there holds no token; one that others can change, a link, and a file of
// another user are refused.
Result<std::vector<Token>> read_tokens(const std::filesystem::path& path);

struct NewToken {
  Token token;
  std::string secret;  // shown once, kept nowhere
};
// Only a tenant's token must name a tenant; of another it is whose name stands in its submits.
Result<NewToken> create_token(const std::filesystem::path& path, const std::string& tenant,
                              Role role, std::int64_t expires_s, std::int64_t now_s);
Result<Token> revoke_token(const std::filesystem::path& path, std::string_view id,
                           std::int64_t now_s);

}  // namespace berth::api
