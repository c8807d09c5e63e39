// Console: where a command writes, and how it ends. Commands never touch the process's own streams,
// so that tests can run them.
#pragma once

#include <ostream>

namespace berth::cli {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  // then long runs may show their progress
};

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;    // the work could not be done: a file cannot be written, …
inline constexpr int kBadInput = 2;  // the command line or the scenario is wrong; nothing was done

}  // namespace berth::cli
