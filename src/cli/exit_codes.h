// How a command ends: the one list of exit codes, used by commands, help, man pages and the guide.
#pragma once

#include <array>
#include <string_view>

namespace berth::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kNotFound = 3;
inline constexpr int kDenied = 4;
inline constexpr int kUnavailable = 5;
inline constexpr int kTimedOut = 6;
inline constexpr int kConflict = 7;
inline constexpr int kDetached = 130;  // as shells show the end by Ctrl-C

struct ExitCode {
  int code;
  std::string_view meaning;
};

inline constexpr std::array kExitCodes = {
    ExitCode{kOk, "done"},
    ExitCode{kFailed, "the task failed, or the work could not be done"},
    ExitCode{kBadInput, "wrong usage or input; nothing was done"},
    ExitCode{kNotFound, "there is no such task, queue, GPU, …"},
    ExitCode{kDenied, "no token, a wrong one, or one without the right"},
    ExitCode{kUnavailable, "the server cannot be reached, or takes no more for now"},
    ExitCode{kTimedOut, "it took longer than --timeout"},
    ExitCode{kConflict, "in conflict with what is there, such as an id that is taken"},
    ExitCode{kDetached, "detached by Ctrl-C; the task goes on"},
};

}  // namespace berth::cli
