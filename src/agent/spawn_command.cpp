// vfork, then exec. Until the exec the child lives in the memory of its parent, which waits: so
// everything that allocates happens before, and the child tells by a value why it failed.
#include "agent/spawn_command.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::agent {
namespace {

struct Command {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::string workdir;
  std::vector<std::string> programs;  // tried in this order
  int out;
  int err;
  pid_t parent = ::getpid();
};

struct Failure {
  enum Step { none, enter, redirect, execute } step = none;
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

std::vector<std::string> environment_of(const Intent& intent, const RankIntent* rank) {
  if (rank == nullptr) return intent.environment;
  std::vector<std::string> environment = rank->environment;
  for (const std::string& entry : intent.environment) {
    const auto is_same = [&](const std::string& own) { return name_in(own) == name_in(entry); };
    if (std::ranges::none_of(rank->environment, is_same)) environment.push_back(entry);
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
  while (!path.empty()) {
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

// execvp would hand a file it does not understand to a shell; this never does.
int exec_first(const Command& command) {
  int worst = ENOENT;
  for (const std::string& program : command.programs) {
    ::execve(program.c_str(), command.argv.data(), command.environment.data());
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
  }
  return worst;
}

Failure become(const Command& command) {
  ::setpgid(0, 0);
  // If the shim is killed, the command must not run on unseen.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != command.parent) ::_exit(127);  // it was killed before that
  reset_signals();
  if (::chdir(command.workdir.c_str()) != 0) return {Failure::enter, errno};
  if (::dup2(command.out, 1) < 0 || ::dup2(command.err, 2) < 0) return {Failure::redirect, errno};
  return {Failure::execute, exec_first(command)};
}

pid_t start(const Command& command, Failure* failure) {
  // posix_spawn, which is vfork inside, cannot tie the child's life to the parent's.
  const pid_t pid = ::vfork();  // NOLINT(bugprone-unsafe-functions)
  if (pid == 0) {
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
  const bool is_ours = failure.step == Failure::redirect || is_shortage(failure.error) ||
                       (failure.step == Failure::enter && intent.workdir.empty());
  return is_ours ? EndCause::not_begun : EndCause::not_executed;
}

std::string why(const Intent& intent, const Command& command, const Failure& failure) {
  if (failure.step == Failure::enter) {
    return file_error("enter the working folder", command.workdir, failure.error).message;
  }
  if (failure.step == Failure::redirect) {
    return file_error("redirect the output of", intent.argv.front(), failure.error).message;
  }
  const std::string& program = intent.argv.front();
  if (failure.error != ENOENT || program.find('/') != std::string::npos) {
    return "Could not run \"" + program + "\": " + std::strerror(failure.error) + ".";
  }
  return "The program \"" + program + "\" was not found in the task's PATH (" +
         std::string(path_of(intent)) + "); give its full path, or set PATH in the task's env.";
}

}  // namespace

std::variant<pid_t, NotSpawned> spawn_command(const Intent& intent, const RankIntent* rank, int out,
                                              int err) {
  if (intent.argv.empty()) return NotSpawned{EndCause::not_executed, "The task has no command."};
  const std::vector<std::string> environment = environment_of(intent, rank);
  const Command command{pointers(intent.argv),
                        pointers(environment),
                        intent.workdir.empty() ? intent.files.work() : intent.workdir,
                        programs_of(intent),
                        out,
                        err};
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
