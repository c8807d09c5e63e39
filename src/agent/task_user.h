// TaskUser: a user of this machine as whom commands run, and what it takes to start them so.
//
// Knows nothing of tenants: whose commands run as whom is the caller's.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace berth::agent {

struct TaskUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // all of the user's own, with `gid`
  std::string home;
  std::string shell;
  bool operator==(const TaskUser&) const = default;
};

// Asks the databases of the system, which may be far away: never on the loop.
Result<TaskUser> find_user(const std::string& name);

// The name of a user, or its number where it has none.
std::string user_name(uid_t uid);

// What this process lacks to start and end commands as other users, such as "CAP_SETUID, CAP_KILL";
// "": nothing.
std::string missing_capabilities();

}  // namespace berth::agent
