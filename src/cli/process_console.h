// The process's own console: its streams, environment, terminal and interrupt key.
#pragma once

#include "cli/console.h"

namespace berth::cli {

Console process_console();

}  // namespace berth::cli
