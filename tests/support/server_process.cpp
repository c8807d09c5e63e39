// See server_process.h.
#include "tests/support/server_process.h"

#include <cstdlib>
#include <fstream>

#include "base/assert.h"

namespace berth::support {
namespace {

client::ServerChild::Options child_options(const ServerProcess::Options& options) {
  client::ServerChild::Options child;
  child.program = std::string(BERTH_FOLDER) + "/" + options.program;
  // Nothing of it stays behind on the machine.
  child.arguments = {"--data", options.data.string(),
                     "--grpc", "127.0.0.1:0",
                     "--http", "127.0.0.1:0",
                     "--set",  "tasks.cgroup=off",
                     "--set",  "tasks.folder=" + options.data.string() + "-tasks"};
  child.arguments.insert(child.arguments.end(), options.arguments.begin(), options.arguments.end());
  for (const auto& [name, value] : options.environment)
    child.environment.emplace_back(name) += "=" + value;
  child.take_errors = true;
  return child;
}

}  // namespace

ServerProcess::Options ServerProcess::faulty(Options options, const std::string& fault) {
  options.program = "berth_faulty";
  options.environment["BERTH_FAULT"] = fault;
  return options;
}

ServerProcess::ServerProcess(const Options& options) {
  Result<std::unique_ptr<client::ServerChild>> started =
      client::ServerChild::start(child_options(options));
  ASSERT(started.ok());
  child_ = std::move(*started);
}

ServerProcess::~ServerProcess() { kill(); }

void ServerProcess::kill() {
  child_->send(SIGKILL);
  child_->wait();
}

int ServerProcess::stop() {
  child_->send(SIGTERM);
  return child_->wait();
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
