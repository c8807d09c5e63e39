// What text is UTF-8. JSON and protobuf hold nothing else.
#pragma once

#include <cstddef>
#include <string_view>

namespace berth {

// How many bytes the character at the beginning of `text` has; 0: it is none. Neither longer than
// it must be, nor a surrogate, nor above U+10FFFF. REQUIRES a text that is not empty.
std::size_t utf8_size(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace berth
