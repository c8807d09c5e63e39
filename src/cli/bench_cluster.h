// The run of berth bench cluster; its line in the table of commands stands in bench_command.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "config/diagnostics.h"

namespace berth::cli {

// Reads a number flag into `target`; false after an error was printed.
bool read_number(const Call& call, std::string_view flag, auto& target, std::int64_t low,
                 std::int64_t high) {
  const auto text = call.args.value(flag);
  if (!text) return true;
  const auto number = parse_integer(*text, low, high);
  if (!number) {
    bad_usage(call, std::string(flag) + ": expected an integer from " + std::to_string(low) +
                        " to " + std::to_string(high) + ", found " + config::quoted(*text));
    return false;
  }
  target = static_cast<std::remove_reference_t<decltype(target)>>(*number);
  return true;
}

int run_bench_cluster(const Call& call);

}  // namespace berth::cli
