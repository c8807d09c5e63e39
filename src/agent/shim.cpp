// The shim's life: claim, run (task_run.h), write down.
#include "agent/shim.h"

#include <csignal>
#include <utility>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/task_run.h"

namespace berth::agent {
namespace {

constexpr int kWriteTries = 30;  // one each second

// Signals become readable; from here on SIGTERM cannot be lost.
Fd catch_signals() {
  sigset_t caught;
  ::sigemptyset(&caught);
  for (const int signal : {SIGTERM, SIGCHLD, SIGINT, SIGHUP}) {
    ::sigaddset(&caught, signal);
  }
  ::sigprocmask(SIG_BLOCK, &caught, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // if it came ignored, children would vanish unseen
  ::signal(SIGPIPE, SIG_IGN);
  return Fd(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The exit has had its room since before the claim. Where the file system copies on write, it needs
// new room all the same: then this waits a while for some, and the agent with it. If none comes,
// the agent finds no exit and says so.
void write_down(const Fd& record, const TaskFiles& files, const ExitRecord& exit) {
  for (int tries = 0; tries < kWriteTries; ++tries) {
    if (write_exit(record, files, exit).ok()) return;
    ::sleep(1);
  }
}

}  // namespace

void run_shim(const Intent& intent, std::int64_t oom_kills) {
  ::prctl(PR_SET_NAME, "berth-shim");
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  ::setsid();  // a signal to the server's terminal or group does not reach it
  Fd signals = catch_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Result<Fd> record = claim_intent(intent.files);
  if (!record) return;  // taken back
  write_down(*record, intent.files, run_task(intent, oom_kills, std::move(signals)));
}

}  // namespace berth::agent
