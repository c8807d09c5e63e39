// The expected log against the real one, for people.
#pragma once

#include <string>
#include <vector>

namespace berth::scenario {

// Blank lines and the width of gaps do not count, so that a file may align its columns.
// Empty: they agree. Otherwise both, line by line: "-" is expected only, "+" is real only.
std::string difference(const std::vector<std::string>& expected,
                       const std::vector<std::string>& real);

}  // namespace berth::scenario
