// How a command ends: the one list of exit codes, used by commands, help, man pages and the guide.
// A command that waits for one task ends as that task's command did; these stand beside it.
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
// Of a task that was waited for, where it has no exit status of its own. Other codes are those of
// its command.
inline constexpr int kTaskCancelled = 121;
inline constexpr int kTaskExpired = 122;
inline constexpr int kTaskHeld = 123;
inline constexpr int kTaskOverran = 124;  // as timeout(1) ends
inline constexpr int kSignalBase = 128;
inline constexpr int kDetached = 130;  // as shells show the end by Ctrl-C

struct ExitCode {
  int code;
  std::string_view meaning;
  bool of_waiting = false;  // only where a task is waited for
};

inline constexpr std::array kExitCodes = {
    ExitCode{kOk, "done"},
    ExitCode{kFailed, "the task failed, or the work could not be done"},
    ExitCode{kBadInput, "wrong usage or input; nothing was done"},
    ExitCode{kNotFound, "there is no such task, queue, GPU, …"},
    ExitCode{kDenied, "the token is missing or wrong, or does not give this right"},
    ExitCode{kUnavailable, "the server cannot be reached, or takes no more work for now"},
    ExitCode{kTimedOut, "it did not end within --timeout"},
    ExitCode{kConflict, "it conflicts with what is there: an id is taken, or the state forbids it"},
    ExitCode{kTaskCancelled, "the task that was waited for was cancelled", true},
    ExitCode{kTaskExpired, "it expired: it waited too long, or its deadline passed", true},
    ExitCode{kTaskHeld, "the server holds it, after it failed again and again", true},
    ExitCode{kTaskOverran, "it was stopped: it ran longer than its run limit", true},
    ExitCode{kDetached, "Ctrl-C ended the command; the task goes on"},
};

}  // namespace berth::cli
