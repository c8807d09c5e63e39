// See server_process.h.
#include "tests/support/server_process.h"

#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"

namespace berth::support {
namespace {

int port_behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + mark.size());
}

}  // namespace

ServerProcess::ServerProcess(const Options& options) {
  std::vector<std::string> arguments = {
      BERTH_BINARY, "serve",       "--data", options.data.string(),
      "--grpc",     "127.0.0.1:0", "--http", "127.0.0.1:0"};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<std::string> environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry)
    environment.emplace_back(*entry);
  for (const auto& [name, value] : options.environment)
    environment.push_back(name + "=" + value);
  std::vector<char*> envp;
  for (std::string& entry : environment)
    envp.push_back(entry.data());
  envp.push_back(nullptr);

  int pipe_ends[2];
  ASSERT(::pipe2(pipe_ends, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  ASSERT(::posix_spawn(&pid_, BERTH_BINARY, &actions, nullptr, argv.data(), envp.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  output_ = pipe_ends[0];
  read_greeting();
}

// Until both ports are known, or the process has closed its output.
void ServerProcess::read_greeting() {
  std::string text;
  char buffer[4096];
  while (text.find("  GPUs") == std::string::npos) {
    const ssize_t got = ::read(output_, buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  grpc_port_ = port_behind(text, "gRPC  127.0.0.1:");
  http_port_ = port_behind(text, "HTTP  http://127.0.0.1:");
  error_ = text;
  // What it says later is thrown away, lest it wait for a reader.
  const int flags = ::fcntl(output_, F_GETFL);
  ::fcntl(output_, F_SETFL, flags | O_NONBLOCK);
}

ServerProcess::~ServerProcess() {
  if (!ended_) kill();
  if (output_ >= 0) ::close(output_);
}

int ServerProcess::take_status(int status) {
  ended_ = true;
  exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(output_, buffer, sizeof buffer)) > 0;)
    error_.append(buffer, static_cast<std::size_t>(got));
  return exit_;
}

void ServerProcess::kill() {
  if (ended_) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int ServerProcess::stop() {
  if (!ended_) ::kill(pid_, SIGTERM);
  return wait();
}

bool ServerProcess::has_ended() {
  int status = 0;
  if (!ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_) take_status(status);
  return ended_;
}

int ServerProcess::wait() {
  if (ended_) return exit_;
  int status = 0;
  ASSERT(::waitpid(pid_, &status, 0) == pid_);
  return take_status(status);
}

client::Client ServerProcess::client(std::chrono::milliseconds deadline) const {
  client::Endpoint endpoint;
  endpoint.address = grpc_address();
  client::Limits limits;
  limits.deadline = deadline;
  limits.tries = 1;
  Result<client::Client> connected = client::Client::connect(endpoint, limits);
  ASSERT(connected.ok());
  return std::move(*connected);
}

v1::SubmitTaskRequest append_line_task(const std::string& id, const std::filesystem::path& file) {
  v1::SubmitTaskRequest request;
  v1::TaskSpec& task = *request.mutable_task();
  task.set_task_id(id);
  task.set_task_type("llm");
  task.set_gpu_memory_mb(1024);
  task.set_share_milli(100);
  for (const char* word : {"/bin/sh", "-c", "echo \"$BERTH_TASK_ID\" >> \"$1\"", "sh"})
    task.mutable_command()->add_argv(word);
  task.mutable_command()->add_argv(file.string());
  return request;
}

std::map<std::string, int> count_lines(const std::filesystem::path& file) {
  std::map<std::string, int> counts;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    ++counts[line];
  return counts;
}

int rounds(int normal, int many) { return std::getenv("BERTH_LONG") != nullptr ? many : normal; }

}  // namespace berth::support
