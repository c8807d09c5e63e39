// Caller: who asks, as the door found out, and what follows from it: whose tasks they may see and
// in whose name they may submit. The only place where rights of tenants are decided.
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include "api/methods.h"
#include "api/problem.h"
#include "api/streams.h"
#include "api/token_file.h"

namespace berth::api {

inline constexpr const char* kDefaultTenant = "default";

struct Caller {
  std::string tenant;          // from the token; "": without authentication
  Role role = Role::admin;     // without authentication everyone on the machine is trusted
  bool authenticated = false;  // a token was asked for and was good
  Sha256 token{};              // its hash, by which it is looked at again
  std::chrono::system_clock::time_point deadline = std::chrono::system_clock::time_point::max();
};

inline bool sees_all(const Caller& caller) {
  return caller.role == Role::admin || caller.role == Role::reader;
}

inline Listener listener_of(const Caller& caller) { return {caller.tenant, sees_all(caller)}; }

// The tenant a request speaks of: `user_id` where the caller may say so, else the caller's own.
inline std::variant<std::string, Problem> tenant_of(const Caller& caller,
                                                    const std::string& user_id) {
  if (user_id.empty()) return caller.tenant.empty() ? std::string(kDefaultTenant) : caller.tenant;
  if (sees_all(caller) || user_id == caller.tenant) return user_id;
  return Problem{.code = Code::permission_denied,
                 .reason = "other_tenant",
                 .message = "the token belongs to tenant \"" + caller.tenant +
                            "\"; user_id must be that, or left out",
                 .metadata = {{"subject", caller.tenant}}};
}

}  // namespace berth::api
