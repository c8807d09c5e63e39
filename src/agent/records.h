// Records: named texts in a file, in order: "name length\nbytes\n". Any bytes may stand in a value;
// a file that was cut off is noticed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::agent {

using Fields = std::vector<std::pair<std::string, std::string>>;

void put_field(std::string& out, std::string_view name, std::string_view value);
void put_field(std::string& out, std::string_view name, std::int64_t value);

Result<Fields> parse_fields(std::string_view text);

// The whole text as a number.
std::optional<std::int64_t> parse_number(std::string_view text);
// Zero if it is none.
std::int64_t field_number(std::string_view value);

}  // namespace berth::agent
