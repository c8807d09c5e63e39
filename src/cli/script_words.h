// Words of a line as a shell splits them: spaces part them, quotes and backslashes keep them whole,
// and a # that begins a word ends the line. Nothing is expanded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

// None: a quote is not closed.
std::optional<std::vector<std::string>> words_of_line(std::string_view line);

}  // namespace berth::cli
