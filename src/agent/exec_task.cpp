// A clean process for the command: group, signals, working folder, files, program.
#include "agent/exec_task.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/files.h"

namespace berth::agent {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> made;
  for (const std::string& word : words) {
    made.push_back(const_cast<char*>(word.c_str()));
  }
  made.push_back(nullptr);
  return made;
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string_view path_of(const Intent& intent) {
  for (const std::string& entry : intent.environment) {
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

// execvp would hand a file it does not understand to a shell; this never does.
Error exec_program(const Intent& intent) {
  const std::string& program = intent.argv.front();
  const std::vector<char*> argv = pointers(intent.argv);
  const std::vector<char*> environment = pointers(intent.environment);
  if (program.find('/') != std::string::npos) {
    ::execve(program.c_str(), argv.data(), environment.data());
    return {"Could not run \"" + program + "\": " + std::strerror(errno) + "."};
  }
  std::string_view path = path_of(intent);
  int worst = ENOENT;
  while (!path.empty()) {
    const std::size_t end = path.find(':');
    const std::string candidate = std::string(path.substr(0, end)) + "/" + program;
    ::execve(candidate.c_str(), argv.data(), environment.data());
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  }
  if (worst != ENOENT) return {"Could not run \"" + program + "\": " + std::strerror(worst) + "."};
  return {"The program \"" + program + "\" was not found in the task's PATH (" +
          std::string(path_of(intent)) + "); give its full path, or set PATH in the task's env."};
}

}  // namespace

Error exec_task(const Intent& intent, const std::filesystem::path& folder, int out, int err) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the shim is killed, the command must not run on unseen
  reset_signals();
  const std::filesystem::path workdir =
      intent.workdir.empty() ? folder / "work" : std::filesystem::path(intent.workdir);
  if (::chdir(workdir.c_str()) != 0) return file_error("enter the working folder", workdir, errno);
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(input, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) {
    return file_error("redirect the output of the task in", folder, errno);
  }
  if (intent.argv.empty()) return {"The task has no command."};
  return exec_program(intent);
}

}  // namespace berth::agent
