// ServerChild: a `berth serve` as a child of this process, for benchmarks and tests. Ends with the
// object, in order.
//
// Knows the binary's command line and its greeting; nothing of its service.
#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::client {

class ServerChild {
 public:
  struct Options {
    std::string program;
    std::vector<std::string> arguments;    // behind `serve`
    std::vector<std::string> environment;  // "NAME=value", beside this process's own
    bool take_errors = false;              // stderr is read too, not passed on
  };

  // Waits until it serves or has ended. An error: no process could be made.
  static Result<std::unique_ptr<ServerChild>> start(Options options);
  ~ServerChild();
  ServerChild(const ServerChild&) = delete;
  ServerChild& operator=(const ServerChild&) = delete;

  bool serves() const { return grpc_port_ != 0; }
  int grpc_port() const { return grpc_port_; }
  int http_port() const { return http_port_; }
  std::string grpc_address() const { return "127.0.0.1:" + std::to_string(grpc_port_); }
  int pid() const { return pid_; }
  // What it printed up to its greeting, and after its end all of it.
  const std::string& said() const { return said_; }

  void send(int signal);
  bool has_ended();  // does not wait
  int wait();        // its exit code, or minus the signal

 private:
  ServerChild(int pid, int output) : pid_(pid), output_(output) {}
  void read_greeting();
  int take_status(int status);

  int pid_;
  int output_;
  int grpc_port_ = 0;
  int http_port_ = 0;
  int exit_ = 0;
  bool ended_ = false;
  std::string said_;
};

}  // namespace berth::client
