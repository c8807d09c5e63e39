// A `berth serve` of its own on free ports and a folder of the test's, and a client to it. The
// process ends with the object, by kill -9 unless it was asked to stop.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/server_child.h"
#include "store/testing/temp_folder.h"

namespace berth::support {

using store::testing::TempFolder;

class ServerProcess {
 public:
  struct Options {
    std::filesystem::path data;
    std::vector<std::string> arguments;              // behind `serve`
    std::map<std::string, std::string> environment;  // beside the test's own
    std::string program = "berth";                   // of this build
  };

  // A server with planted faults: `fault` as BERTH_FAULT takes it.
  static Options faulty(Options options, const std::string& fault);

  // Waits until it serves. `error()` says what it printed if it did not.
  explicit ServerProcess(const Options& options);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  bool serves() const { return child_->serves(); }
  const std::string& error() const { return child_->said(); }
  std::string grpc_address() const { return child_->grpc_address(); }
  int http_port() const { return child_->http_port(); }
  int pid() const { return child_->pid(); }

  void kill();                                      // -9
  int stop();                                       // SIGTERM; its exit code
  bool has_ended() { return child_->has_ended(); }  // does not wait
  int wait() { return child_->wait(); }             // its exit code, or minus the signal

  // Calls are tried once and end after `deadline`.
  client::Client client(std::chrono::milliseconds deadline = std::chrono::seconds(10)) const;

 private:
  std::unique_ptr<client::ServerChild> child_;
};

// A task whose whole effect is one line, its id, in the file.
v1::SubmitTaskRequest append_line_task(const std::string& id, const std::filesystem::path& file);

// How often each line stands in the file.
std::map<std::string, int> count_lines(const std::filesystem::path& file);

// Whether this build has the address sanitizer. Its servers are slow and say at their end what gRPC
// never frees; the service and the API are tested under it in process.
constexpr bool sanitized() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

// Rounds for a fault test: `normal`, or `many` with BERTH_LONG set.
int rounds(int normal, int many);

}  // namespace berth::support
