// See server_child.h.
#include "client/server_child.h"

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::client {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The port at the end of the line that begins with the mark; 0: there is none.
int port_in_line(const std::string& text, const std::string& mark) {
  const std::size_t begin = text.find(mark);
  if (begin == std::string::npos) return 0;
  const std::size_t colon = text.rfind(':', text.find('\n', begin));
  return colon == std::string::npos || colon < begin ? 0 : std::atoi(text.c_str() + colon + 1);
}

}  // namespace

Result<std::unique_ptr<ServerChild>> ServerChild::start(Options options) {
  options.arguments.insert(options.arguments.begin(), {"berth", "serve"});
  for (char** entry = ::environ; *entry != nullptr; ++entry)
    options.environment.emplace_back(*entry);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{"no pipe for the server's output"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (options.take_errors) posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, options.program.c_str(), &actions, nullptr,
                    pointers(options.arguments).data(), pointers(options.environment).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return Error{"cannot start the server " + options.program + ": " + std::strerror(error)};
  }
  std::unique_ptr<ServerChild> child(new ServerChild(pid, ends[0]));
  child->read_greeting();
  return child;
}

// Until both ports are known, or the process has closed its output.
void ServerChild::read_greeting() {
  char buffer[4096];
  while (said_.find("  GPUs") == std::string::npos) {
    const ssize_t got = ::read(output_, buffer, sizeof buffer);
    if (got <= 0) return;
    said_.append(buffer, static_cast<std::size_t>(got));
  }
  grpc_port_ = port_in_line(said_, "  gRPC  ");
  http_port_ = port_in_line(said_, "  HTTP  ");
  // What it says later waits in the pipe, and is read at its end.
  ::fcntl(output_, F_SETFL, ::fcntl(output_, F_GETFL) | O_NONBLOCK);
}

ServerChild::~ServerChild() {
  send(SIGTERM);
  wait();
  ::close(output_);
}

int ServerChild::take_status(int status) {
  ended_ = true;
  exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(output_, buffer, sizeof buffer)) > 0;)
    said_.append(buffer, static_cast<std::size_t>(got));
  return exit_;
}

void ServerChild::send(int signal) {
  if (!ended_) ::kill(pid_, signal);
}

bool ServerChild::has_ended() {
  int status = 0;
  if (!ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_) take_status(status);
  return ended_;
}

int ServerChild::wait() {
  if (ended_) return exit_;
  int status = 0;
  while (::waitpid(pid_, &status, 0) != pid_) {
  }
  return take_status(status);
}

}  // namespace berth::client
