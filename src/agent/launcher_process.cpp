// The launcher process: read an intent, fork a shim, answer; until nobody is there.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/launcher.h"
#include "agent/launcher_messages.h"
#include "agent/process_info.h"
#include "agent/shim.h"

namespace berth::agent {
namespace {

// fork, with a pidfd from the same call: the child is known before it can have ended.
pid_t fork_with_pidfd(Fd& pidfd) {
  int fd = -1;
  const auto pid = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, nullptr, &fd, nullptr, nullptr));
  if (pid > 0) pidfd = Fd(fd);
  return pid;
}

LaunchAnswer launch(LaunchKey key, const Intent& intent, std::int64_t oom_kills) {
  LaunchAnswer answer;
  answer.key = key;
  const pid_t pid = fork_with_pidfd(answer.shim);
  if (pid == 0) {
    run_shim(intent, oom_kills);
    ::_exit(0);  // nothing of the launcher's is to be ended in order
  }
  if (pid < 0) answer.error = errno;
  return answer;
}

// Takes whole frames off the front. False: the agent is gone.
bool launch_all(std::string& bytes) {
  const std::int64_t oom_kills = kernel_oom_kills();
  std::size_t at = 0;
  FrameHeader header;
  while (bytes.size() - at >= sizeof header) {
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (bytes.size() - at - sizeof header < header.size) break;
    const Result<Intent> intent =
        decode_intent(std::string_view(bytes).substr(at + sizeof header, header.size));
    at += sizeof header + header.size;
    if (!intent) return false;
    const LaunchAnswer answer = launch({header.lease, header.task_no}, *intent, oom_kills);
    if (!send_answer(kLauncherSocket, answer)) return false;
  }
  bytes.erase(0, at);
  return true;
}

}  // namespace

int run_launcher() {
  ::prctl(PR_SET_NAME, "berth-launcher");
  boot_id();  // once, for all shims
  // What a shim that is killed leaves behind is found among our children.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // By /proc/self/cwd a command could enter the folder that it begins in, whoever owns those above.
  if (::chdir("/") != 0) return 1;
  // None of the server's keys for anybody.
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0);
  ::fcntl(kLauncherSocket, F_SETFD, FD_CLOEXEC);
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);  // whatever the server was started with
  }
  ::signal(SIGCHLD, SIG_IGN);  // the kernel buries the shims; they set this back for themselves
  std::string bytes;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(kLauncherSocket, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? 0 : 1;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
    if (!launch_all(bytes)) return 1;
  }
}

}  // namespace berth::agent
