// Leases whose tasks run real commands, and what one looks for afterwards. For tests only.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "agent/files.h"
#include "agent/task_record.h"
#include "agent/testing/server_side.h"

namespace berth::agent::testing {

// The test program itself is the launcher: see main_test.cpp.
inline AgentOptions command_options(const std::filesystem::path& folder) {
  AgentOptions options = options_in(folder);
  options.launcher_program = std::filesystem::read_symlink("/proc/self/exe").string();
  return options;
}

inline berth::v1::Lease command_lease(std::uint64_t id, const std::vector<std::string>& argv) {
  berth::v1::Lease lease = lease_of(id, 1);
  for (const std::string& word : argv) {
    lease.mutable_tasks(0)->mutable_spec()->mutable_command()->add_argv(word);
  }
  return lease;
}

inline berth::v1::Lease script_lease(std::uint64_t id, const std::string& script) {
  return command_lease(id, {"sh", "-c", script});
}

// Ranks on the simulated GPUs, the first two on n0 and the third on n1.
inline berth::v1::Lease gang_lease(std::uint64_t id, const std::string& script) {
  berth::v1::Lease lease = script_lease(id, script);
  lease.clear_gpus();
  berth::v1::Gang& gang = *lease.mutable_gang();
  gang.add_hosts("n0");
  gang.add_hosts("n1");
  gang.set_master_address("127.0.0.1");
  for (const char* gpu : {"SIM-a100-0", "SIM-a100-1", "SIM-l4-0"}) {
    const auto number = static_cast<std::uint32_t>(gang.ranks_size());
    berth::v1::Rank& rank = *gang.add_ranks();
    rank.set_rank(number);
    rank.set_node_rank(number / 2);
    rank.set_local_rank(number % 2);
    rank.set_gpu(gpu);
    lease.add_gpus(gpu);
  }
  gang.set_size(3);
  return lease;
}

inline std::string content(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path);
  return text.ok() ? *text : "(no file)";
}

// The exit that stands in the record of a task, or what it was before.
inline std::optional<ExitRecord> exit_of(const TaskFiles& files) {
  const Result<std::optional<TaskRecord>> record = read_record(files.claimed());
  return record.ok() && *record ? (*record)->exit : std::nullopt;
}

// 0: nobody has claimed it.
inline pid_t shim_of(const TaskFiles& files) {
  const Result<std::optional<TaskRecord>> record = read_record(files.claimed());
  return record.ok() && *record ? (*record)->shim_pid : 0;
}

// Looks again until it is so; fails the test if that takes too long.
template <class Condition>
void wait_until(const Condition& condition) {
  for (int tries = 0; tries < 3000; ++tries) {
    if (condition()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "what was waited for did not happen";
}

inline bool process_exists(pid_t pid) {
  if (::kill(pid, 0) != 0) return false;
  const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
  const bool is_dead =
      stat.find(") Z ") != std::string::npos || stat.find(") X ") != std::string::npos;
  return !is_dead && stat != "(no file)";
}

inline pid_t parent_of(pid_t pid) {
  const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
  return static_cast<pid_t>(std::stol(stat.substr(stat.rfind(')') + 4)));
}

// The pid that a task has written into a file of its own.
inline pid_t written_pid(const std::filesystem::path& path) {
  wait_until([&] { return content(path).ends_with("\n"); });
  return static_cast<pid_t>(std::stol(content(path)));
}

}  // namespace berth::agent::testing
