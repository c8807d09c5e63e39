// Launcher: how the agent gets shims. Starting the whole binary for each command would cost more
// than most commands do, so it is started once, and that process forks a shim for each intent.
//
// The launcher process knows nothing and keeps nothing: it reads intents from a socket, forks, and
// hands back a pidfd of the shim. It ends when the socket does, with the agent's process; shims
// live on. A shim that is forked only after its agent died finds that its task was taken back. What
// a shim that is killed leaves becomes the launcher's, so that the agent finds it there.
//
// launch() is the worker's; answers come on the loop's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "agent/files.h"
#include "agent/intent.h"
#include "agent/loop.h"
#include "base/result.h"

namespace berth::agent {

class Launcher {
 public:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // lease, task
  // One launcher process. Dead: whoever has no answer from it gets none.
  struct Process {
    Process(pid_t its_pid, Fd its_socket) : pid(its_pid), socket(std::move(its_socket)) {}
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process();

    const pid_t pid;
    Fd socket;
    std::atomic<bool> dead = false;
    std::atomic<std::uint64_t> asked = 0;  // how often, by the worker
    // The loop's: how often it has answered, also by the last look, and for how many looks not.
    std::uint64_t answered = 0;
    std::uint64_t answered_before = 0;
    int silent_looks = 0;
  };
  using ProcessPtr = std::shared_ptr<Process>;
  // An empty Fd: there is a shim, but no pidfd could be passed.
  using Launched = std::function<void(Key key, Result<Fd> shim)>;
  using Died = std::function<void(const Process* process)>;

  // `command_files`: that each command may have open; 0: as many as this process.
  Launcher(Loop& loop, std::string program, std::uint64_t command_files, Launched launched,
           Died died)
      : loop_(loop),
        program_(std::move(program)),
        command_files_(command_files),
        launched_(std::move(launched)),
        died_(std::move(died)) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  // Sends the intent, to a new process if there is none. The answer comes later, from the one that
  // is returned.
  Result<ProcessPtr> launch(Key key, const Intent& intent);

  // Every few seconds, on the loop's thread. A process that does not answer is woken; one that
  // still does not a few looks later is killed, and whoever waits for it hears that it died.
  void look_after();
  // Of the process that answers now, on the loop's thread; 0: there is none.
  pid_t pid() const { return watched_ ? watched_->pid : 0; }

 private:
  Result<ProcessPtr> start() const;
  void read_answers(const ProcessPtr& process);

  Loop& loop_;
  std::string program_;
  std::uint64_t command_files_;
  Launched launched_;
  Died died_;
  ProcessPtr current_;  // the worker's
  ProcessPtr watched_;  // the loop's
};

// The launcher process: reads intents from its descriptor 3 to the end, and returns the exit status
// for main.
int run_launcher();

}  // namespace berth::agent
