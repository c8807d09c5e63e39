// The composition root: gives the commands their streams, and ends every failure in a sentence.
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <absl/synchronization/mutex.h>
#include <google/protobuf/stubs/logging.h>

#include "base/assert.h"
#include "cli/commands.h"
#include "cli/process_console.h"
#include "main/commands.h"

namespace {

void print_failed_assertion(const char* expression, const char* file, int line) {
  std::fprintf(stderr,
               "berth: a bug: %s does not hold, at %s:%d\n"
               "Please report it with the command that led to it.\n",
               expression, file, line);
}

}  // namespace

int main(int argc, char** argv) {
  berth::set_assert_handler(print_failed_assertion);
  // Debian builds Abseil with its debug checks on. gRPC locks a mutex many times for each call, and
  // looking for cycles among them costs more than the locks.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Protobuf tells standard error of every malformed message; who sent it is told already.
  google::protobuf::SetLogHandler(nullptr);
  try {
    std::ios::sync_with_stdio(false);
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    berth::cli::Console console = berth::cli::process_console();
    const int code = berth::cli::run_command_line(args, console, berth::main::server_commands());
    std::cout.flush();
    if (std::cout.good()) return code;
    std::fputs("berth: cannot write to standard output\n", stderr);
  } catch (const std::bad_alloc&) {
    std::fputs("berth: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "berth: %s\n", error.what());
  }
  return berth::cli::kFailed;
}
