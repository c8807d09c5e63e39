// Processes: the executor of commands. Each task runs under a shim of its own (shim.h).
//
// The agent writes down what is to run, starts the shim, watches it and reads what it left; output,
// limits and the command's children are the shim's. Decides on the loop's thread, writes and spawns
// on the worker's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <sys/types.h>

#include "agent/agent.h"
#include "agent/files.h"
#include "agent/lease_store.h"
#include "agent/loop.h"
#include "agent/task_folder.h"
#include "agent/worker.h"
#include "base/result.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

class Processes {
 public:
  using Ended = std::function<void(std::uint64_t lease, std::uint64_t task_no,
                                   berth::v1::TaskResult&& result)>;

  Processes(Loop& loop, Worker& worker, const LeaseStore& store, const AgentOptions& options,
            Ended ended)
      : loop_(loop), worker_(worker), store_(store), options_(options), ended_(std::move(ended)) {}
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  // `tasks` are places in lease.tasks.
  void start(const berth::v1::Lease& lease, std::span<const int> tasks);
  // A task that an earlier agent started and that still ran when it was found.
  void adopt(std::uint64_t lease, std::uint64_t task_no);
  void stop(std::uint64_t lease, std::uint64_t task_no);

  bool is_running(std::uint64_t lease, std::uint64_t task_no) const {
    return running_.contains({lease, task_no});
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // lease, task
  struct Running {
    std::filesystem::path folder;
    ProcessIdentity shim;  // pid 0: not spawned yet
    Fd pidfd;
    bool stop_asked = false;
  };

  Intent intent_of(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task) const;
  std::string visible_devices(const berth::v1::Lease& lease) const;
  void spawned(Key key, const Result<pid_t>& shim);
  void watch(Key key);
  void look_again_later(Key key);
  void ask_to_stop(const Running& running);
  void settle(Key key);
  void end(Key key, berth::v1::TaskResult&& result);
  void end_unstarted(Key key, const std::string& why);

  Loop& loop_;
  Worker& worker_;
  const LeaseStore& store_;
  const AgentOptions& options_;
  Ended ended_;
  std::map<Key, Running> running_;
};

}  // namespace berth::agent
