// YAML, from the JSON that protobuf writes: the same names and values in the same order. A text is
// quoted where YAML would take it for something else.
#pragma once

#include <string>
#include <string_view>

namespace berth::cli {

// REQUIRES well-formed JSON. Ends with a line end.
std::string yaml_of_json(std::string_view json);

}  // namespace berth::cli
