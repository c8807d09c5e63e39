// Redraw: runs a command that shows something again and again, each time in place of the last on a
// terminal, one below the other elsewhere. Ends by Ctrl-C, by --timeout, or when the command fails;
// a server that goes away for less than a minute is waited for.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

// Returns the exit code: kDetached after Ctrl-C, kTimedOut after --timeout, or the command's own.
int run_again_and_again(const Call& call);

}  // namespace berth::cli
