// See server_child.h.
#include "main/server_child.h"

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::main {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<std::unique_ptr<ServerChild>> ServerChild::start(std::vector<std::string> arguments,
                                                        std::vector<std::string> environment) {
  arguments.insert(arguments.begin(), {"berth", "serve"});
  for (char** entry = ::environ; *entry != nullptr; ++entry)
    environment.emplace_back(*entry);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{"no pipe for the server's output"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                  pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return Error{std::string("cannot start the server: ") + std::strerror(error)};
  }
  std::unique_ptr<ServerChild> child(new ServerChild(pid, ends[0]));
  if (Status ready = child->read_greeting(); !ready) return ready.error();
  return child;
}

Status ServerChild::read_greeting() {
  constexpr std::string_view kMark = "gRPC  127.0.0.1:";
  std::string text;
  char buffer[4096];
  while (text.find("  GPUs") == std::string::npos) {
    const ssize_t got = ::read(output_, buffer, sizeof buffer);
    if (got <= 0) return Error{"the server ended before it served"};
    text.append(buffer, static_cast<std::size_t>(got));
  }
  const std::size_t at = text.find(kMark);
  if (at != std::string::npos) port_ = std::atoi(text.c_str() + at + kMark.size());
  if (port_ == 0) return Error{"the server did not say where it listens"};
  return Done{};
}

ServerChild::~ServerChild() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  ::close(output_);
}

}  // namespace berth::main
