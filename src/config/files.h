// Input files as text. A reader is given a ReadFile, so that a test can give it any content.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace berth::config {

// The content of a file, or none and the reason in `error`.
using ReadFile =
    std::function<std::optional<std::string>(const std::string& path, std::string& error)>;

std::optional<std::string> read_whole_file(const std::string& path, std::string& error);

}  // namespace berth::config
