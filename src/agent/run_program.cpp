// posix_spawn, a pipe, and poll until the limit.
#include "agent/run_program.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/loop.h"

extern char** environ;

namespace berth::agent {
namespace {

constexpr std::size_t kOutputMax = std::size_t{1} << 20;

Error failed(const std::string& program, const std::string& why) {
  return {"Could not run " + program + ": " + why + "."};
}

Result<pid_t> spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> words;
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(argv[0], std::strerror(error));
  return pid;
}

// True when all of the output came before `deadline`.
bool read_to_end(int fd, Time deadline, std::string& output) {
  std::array<char, 4096> buffer;
  while (true) {
    const std::int64_t left_ms = (deadline - Loop::now()).ns / 1'000'000;
    if (left_ms <= 0 || output.size() > kOutputMax) return false;
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(left_ms)) <= 0) continue;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got > 0) output.append(buffer.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return false;
  }
}

// Its status; a failure if it does not end within a second more, as a program can that hangs in a
// driver, where even SIGKILL has to wait.
int reap(pid_t pid) {
  for (int tries = 0; tries < 100; ++tries) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) return status;
    ::usleep(10'000);
  }
  ::kill(pid, SIGKILL);
  return -1;
}

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& argv, Duration limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(argv[0], std::strerror(errno));
  const Result<pid_t> pid = spawn(argv, ends[1]);
  ::close(ends[1]);
  std::string output;
  const bool complete = pid.ok() && read_to_end(ends[0], Loop::now() + limit, output);
  ::close(ends[0]);
  if (!pid) return pid.error();
  if (!complete) ::kill(*pid, SIGKILL);
  const int status = reap(*pid);
  if (!complete) return failed(argv[0], "it did not end in time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return failed(argv[0], "it failed");
  return output;
}

}  // namespace berth::agent
