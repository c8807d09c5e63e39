// Writing and reading records.
#include "agent/records.h"

#include <charconv>

namespace berth::agent {

void put_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(" ").append(std::to_string(value.size())).append("\n");
  out.append(value).append("\n");
}

void put_field(std::string& out, std::string_view name, std::int64_t value) {
  put_field(out, name, std::string_view(std::to_string(value)));
}

Result<Fields> parse_fields(std::string_view text) {
  const Error broken{"The record is cut off or is none."};
  Fields fields;
  while (!text.empty()) {
    const std::size_t line = text.find('\n');
    const std::size_t space = text.find(' ');
    if (line == std::string_view::npos || space >= line) return broken;
    std::size_t length = 0;
    const char* const digits_end = text.data() + line;
    const auto [end, error] = std::from_chars(text.data() + space + 1, digits_end, length);
    if (error != std::errc{} || end != digits_end) return broken;
    const std::size_t left = text.size() - line - 1;
    if (left == 0 || length > left - 1 || text[line + 1 + length] != '\n') return broken;
    fields.emplace_back(text.substr(0, space), text.substr(line + 1, length));
    text.remove_prefix(line + 1 + length + 1);
  }
  return fields;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int64_t field_number(std::string_view value) { return parse_number(value).value_or(0); }

}  // namespace berth::agent
