// What diagnostics promise, for every target that reads text: a refusal says why, and where.
#pragma once

#include <algorithm>
#include <string_view>

#include "config/diagnostics.h"
#include "tests/fuzz/check.h"

namespace berth::fuzz {

inline void check_diagnostics(const config::Diagnostics& diagnostics, std::string_view text) {
  check(!diagnostics.empty(), "a refusal says why");
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const config::Diagnostic& diagnostic : diagnostics.sorted()) {
    const config::Origin at = diagnostic.at;
    const bool of_the_whole = at.line == 0 && at.column == 0;
    check(of_the_whole || (at.line >= 1 && at.column >= 1 && at.line <= lines),
          "a diagnostic names its place: " + diagnostic.message);
    check(!diagnostic.message.empty(), "a diagnostic says something");
  }
  check(!diagnostics.text().empty(), "diagnostics can be shown");
}

}  // namespace berth::fuzz
