// See names.h.
#include "base/names.h"

namespace berth {

std::string flaw_in_name(std::string_view name) {
  if (name.empty()) return "must not be empty";
  if (name.size() > kNameMax) {
    return "has " + std::to_string(name.size()) + " characters; the limit is " +
           std::to_string(kNameMax);
  }
  for (const char c : name) {
    if (c < 0x20 || c > 0x7e) return "may contain printable ASCII characters only";
  }
  if (name.front() == ' ' || name.back() == ' ') return "must not begin or end with a space";
  return "";
}

}  // namespace berth
