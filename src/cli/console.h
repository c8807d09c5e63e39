// Console: all that a command sees of the world around it: its streams, the environment, the
// terminal, the clock, the working folder, the interrupt key. Commands never touch the process's
// own, so that tests can run them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>

#include "cli/exit_codes.h"

namespace berth::cli {

inline std::int64_t system_unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  // then long runs may show their progress
  bool out_is_terminal = false;  // then colours are used
  std::istream* in = nullptr;    // where questions are answered; null: nobody can be asked
  std::istream* data = nullptr;  // standard input, for what is read from it as a whole
  // The value of an environment variable; none: it is not set.
  std::function<std::optional<std::string>(const std::string& name)> env = {};
  // From the first call on, Ctrl-C sets the flag instead of ending the process.
  std::function<const std::atomic<bool>&()> catch_interrupts = {};
  // The folder in which the program was started; "": it is not known.
  std::function<std::string()> folder = {};
  // How many lines the terminal shows; 0: not known.
  std::function<int()> rows = {};
  std::int64_t (*now_unix_ms)() = system_unix_ms;

  // "" if the variable is not set.
  std::string environment(const std::string& name) const {
    return env ? env(name).value_or("") : "";
  }
};

}  // namespace berth::cli
