// vfork, then exec. Until the exec the child lives in the memory of its parent, which waits: so
// everything that allocates happens before, and the child tells by a value why it failed.
#include "agent/spawn_command.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process_info.h"

namespace berth::agent {
namespace {

// Until the exec the child is its user's to suspend, and its parent waits: so the search is short.
constexpr std::size_t kPathFoldersMax = 128;
constexpr std::size_t kPathShownMax = 1000;

struct Command {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::string workdir;
  std::vector<std::string> programs;  // tried in this order
  const IntentUser* user;             // null: the parent's own
  CommandFiles files;
  pid_t parent = ::getpid();
};

struct Failure {
  enum Step { none, confine, change_user, enter, redirect, execute } step = none;
  int error = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> made;
  for (const std::string& word : words) {
    made.push_back(const_cast<char*>(word.c_str()));
  }
  made.push_back(nullptr);
  return made;
}

std::string_view name_in(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// What the rank has and the mark of the calling shim, over what the task has.
std::vector<std::string> environment_of(const Intent& intent, const RankIntent* rank) {
  std::vector<std::string> over;
  if (rank != nullptr) over = rank->environment;
  over.push_back(shim_mark({::getpid(), start_ticks_of(::getpid()), boot_id()}));
  std::vector<std::string> environment = over;
  for (const std::string& entry : intent.environment) {
    const auto is_same = [&](const std::string& own) { return name_in(own) == name_in(entry); };
    if (std::ranges::none_of(over, is_same)) environment.push_back(entry);
  }
  return environment;
}

std::string_view path_of(const Intent& intent) {
  for (const std::string& entry : intent.environment) {
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

std::vector<std::string> programs_of(const Intent& intent) {
  const std::string& program = intent.argv.front();
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> programs;
  std::string_view path = path_of(intent);
  while (!path.empty() && programs.size() < kPathFoldersMax) {
    const std::size_t end = path.find(':');
    programs.push_back(std::string(path.substr(0, end)) + "/" + program);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  }
  return programs;
}

// ---- In the child
// --------------------------------------------------------------------------------

// The launcher has set all others back; exec does so with those that have handlers.
void reset_signals() {
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// From here on nothing of the parent's rights is left: not its user, groups, capabilities or keys.
// The kernel is asked directly: the library would look for other threads, in memory that is the
// parent's. False: errno says why.
bool change_user(const IntentUser& user) {
  if (::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0) return false;
  if (::syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0) return false;
  if (::syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) return false;
  // A parent that is not root but has capabilities would hand them on.
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct nothing[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, nothing) != 0) return false;
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0);
  ::umask(022);
  return !user.no_new_privs || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// execvp would hand a file it does not understand to a shell; this never does.
int exec_first(const Command& command) {
  int worst = ENOENT;
  for (const std::string& program : command.programs) {
    ::execve(program.c_str(), command.argv.data(), command.environment.data());
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
  }
  return worst;
}

// What the server was given for itself is not the command's. Where it may not be set back, it
// stays.
void reset_priorities() {
  ::setpriority(PRIO_PROCESS, 0, 0);
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t put = ::write(file, "0", 1);
  ::close(file);
}

Failure become(const Command& command) {
  ::setpgid(0, 0);
  reset_priorities();
  const int cgroup = command.files.cgroup;
  if (cgroup >= 0 && ::write(cgroup, "0", 1) != 1) return {Failure::confine, errno};
  if (command.user != nullptr && !change_user(*command.user)) return {Failure::change_user, errno};
  // After the change, which takes it back. If the shim is killed, the command must not run on
  // unseen.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != command.parent) ::_exit(127);  // it was killed before that
  reset_signals();
  if (::chdir(command.workdir.c_str()) != 0) return {Failure::enter, errno};
  if (::dup2(command.files.out, 1) < 0 || ::dup2(command.files.err, 2) < 0) {
    return {Failure::redirect, errno};
  }
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  return {Failure::execute, exec_first(command)};
}

pid_t start(const Command& command, Failure* failure) {
  // posix_spawn, which is vfork inside, cannot tie the child's life to the parent's. The child
  // allocates nothing, and what it writes is meant for the parent, which waits.
  // NOLINTNEXTLINE(bugprone-unsafe-functions,clang-analyzer-security.insecureAPI.vfork)
  const pid_t pid = ::vfork();
  if (pid == 0) {
    // NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
    *failure = become(command);
    ::_exit(127);
  }
  return pid;
}

// ---- Why it failed
// -------------------------------------------------------------------------------

bool is_shortage(int error) {
  return error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE;
}

// A working folder of its own is the node's to make.
EndCause cause_of(const Intent& intent, const Failure& failure) {
  const bool is_ours = failure.step < Failure::enter || failure.step == Failure::redirect ||
                       is_shortage(failure.error) ||
                       (failure.step == Failure::enter && intent.workdir.empty());
  return is_ours ? EndCause::not_begun : EndCause::not_executed;
}

std::string why(const Intent& intent, const Command& command, const Failure& failure) {
  const std::string as_user = intent.user ? " as the user \"" + intent.user->name + "\"" : "";
  if (failure.step == Failure::confine) {
    return file_error("put a command into the group", intent.group, failure.error).message;
  }
  if (failure.step == Failure::change_user) {
    return "Could not run a command" + as_user + ": " + std::strerror(failure.error) + ".";
  }
  if (failure.step == Failure::enter) {
    std::string said =
        file_error("enter" + as_user + " the working folder", command.workdir, failure.error)
            .message;
    if (intent.workdir.empty()) return said;
    return said +
           " Submit it with --no-workdir to run in a folder of its own, or name another "
           "with --workdir.";
  }
  if (failure.step == Failure::redirect) {
    return file_error("redirect the output of", intent.argv.front(), failure.error).message;
  }
  const std::string& program = intent.argv.front();
  if (failure.error != ENOENT || program.find('/') != std::string::npos) {
    return "Could not run \"" + program + "\"" + as_user + ": " + std::strerror(failure.error) +
           ".";
  }
  const bool is_all = command.programs.size() < kPathFoldersMax;
  return "The program \"" + program + "\" was not found in " +
         (is_all ? "" : "the first " + std::to_string(kPathFoldersMax) + " folders of ") +
         "the task's PATH (" + std::string(path_of(intent).substr(0, kPathShownMax)) +
         "); give its full path, or set PATH in the task's env.";
}

}  // namespace

std::variant<pid_t, NotSpawned> spawn_command(const Intent& intent, const RankIntent* rank,
                                              const CommandFiles& files) {
  if (intent.argv.empty()) return NotSpawned{EndCause::not_executed, "The task has no command."};
  const std::vector<std::string> environment = environment_of(intent, rank);
  const Command command{pointers(intent.argv),
                        pointers(environment),
                        intent.workdir.empty() ? intent.files.work() : intent.workdir,
                        programs_of(intent),
                        intent.user ? &*intent.user : nullptr,
                        files};
  Failure failure;
  const pid_t pid = start(command, &failure);
  if (pid < 0) {
    return NotSpawned{EndCause::not_begun,
                      std::string("Could not fork: ") + std::strerror(errno) + "."};
  }
  if (failure.step == Failure::none) return pid;
  ::waitpid(pid, nullptr, 0);
  return NotSpawned{cause_of(intent, failure), why(intent, command, failure)};
}

}  // namespace berth::agent
