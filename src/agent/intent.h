// Intent: all that a shim needs to know to run one command, and its bytes on the way to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cgroup.h"
#include "agent/task_record.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::agent {

// One process of a gang: its number, and what it has over the task's environment.
struct RankIntent {
  std::uint32_t number = 0;
  std::vector<std::string> environment;  // NAME=value
  bool operator==(const RankIntent&) const = default;
};

// As whom a command runs, if not as the shim's own user.
struct IntentUser {
  std::string name;  // for people
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  bool no_new_privs = true;  // set-user-ID programs give it nothing
  bool operator==(const IntentUser&) const = default;
};

struct Intent {
  TaskFiles files;
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value
  std::vector<RankIntent> ranks;         // none: one process, which is no rank
  std::string workdir;                   // empty: files.work()
  std::optional<IntentUser> user;        // none: the shim's own
  std::string group;                     // the control group to make for it; empty: none
  GroupLimits limits;                    // of the group
  int stop_signal = 15;
  Duration stop_grace = seconds(10);
  Duration run_limit{};  // zero: none
  bool limit_is_deadline = false;
  std::uint64_t output_cap = 0;  // bytes of each stream
};

std::string encode(const Intent& intent);
Result<Intent> decode_intent(std::string_view text);

}  // namespace berth::agent
