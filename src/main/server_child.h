// A `berth serve` as a child of this process, for benchmarks. Ends with the object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::main {

class ServerChild {
 public:
  // Waits until it serves. `arguments` go behind `serve`, `environment` beside this process's own.
  static Result<std::unique_ptr<ServerChild>> start(std::vector<std::string> arguments,
                                                    std::vector<std::string> environment);
  ~ServerChild();
  ServerChild(const ServerChild&) = delete;
  ServerChild& operator=(const ServerChild&) = delete;

  std::string grpc_address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  ServerChild(int pid, int output) : pid_(pid), output_(output) {}
  Status read_greeting();

  int pid_;
  int output_;
  int port_ = 0;
};

}  // namespace berth::main
