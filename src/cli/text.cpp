// See text.h.
#include "cli/text.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "cli/table.h"

namespace berth::cli {
namespace {

std::string two_digits(std::int64_t number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

// Reads exactly `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool take_character(std::string_view& text, std::string_view allowed) {
  if (text.empty() || allowed.find(text[0]) == allowed.npos) return false;
  text.remove_prefix(1);
  return true;
}

// Milliseconds of ".25"; the text may also go on without a fraction.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take_character(text, ".")) return 0;
  std::int64_t ms = 0;
  std::int64_t place = 100;
  bool any = false;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    ms += place * (text[0] - '0');
    place /= 10;
    any = true;
    text.remove_prefix(1);
  }
  if (!any) return std::nullopt;
  return ms;
}

// Minutes east of UTC of "Z" or "+02:00", which end the text.
std::optional<std::int64_t> take_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  const bool west = text.starts_with('-');
  if (!take_character(text, "+-")) return std::nullopt;
  const auto hours = take_number(text, 2);
  if (!hours || !take_character(text, ":")) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || !text.empty() || *hours > 23 || *minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 60 + *minutes);
}

// Length of the well-formed UTF-8 sequence at the front that shows something; 0: there is none.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool control = code < 0xa0;
  const bool turns_direction =
      (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return overlong || surrogate || control || turns_direction || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string age_text(std::int64_t ms) {
  const std::int64_t seconds = ms > 0 ? ms / 1000 : 0;
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m" + two_digits(seconds % 60) + "s";
  const std::int64_t hours = seconds / 3600;
  if (hours < 24) return std::to_string(hours) + "h" + two_digits(seconds / 60 % 60) + "m";
  return std::to_string(hours / 24) + "d" + two_digits(hours % 24) + "h";
}

std::string time_text(std::int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + "ms";
  if (ms < 10'000) return fixed_text(static_cast<double>(ms) / 1000.0, 1) + "s";
  return age_text(ms);
}

std::string instant_text(std::int64_t unix_ms) {
  using namespace std::chrono;
  const sys_seconds at = floor<std::chrono::seconds>(
      sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(unix_ms)));
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02u %02d:%02d:%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return buffer.data();
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto size = static_cast<double>(bytes) / 1024.0;
  std::string unit = "KiB";
  for (const char* larger : {"MiB", "GiB", "TiB"}) {
    if (size < 1024.0) break;
    size /= 1024.0;
    unit = larger;
  }
  return fixed_text(size, 1) + " " + unit;
}

std::optional<std::int64_t> parse_instant(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = take_number(text, 4);
  if (!year_number || !take_character(text, "-")) return std::nullopt;
  const auto month_number = take_number(text, 2);
  if (!month_number || !take_character(text, "-")) return std::nullopt;
  const auto day_number = take_number(text, 2);
  if (!day_number || !take_character(text, "T t")) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || !take_character(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || !take_character(text, ":")) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto east = take_offset(text);
  const year_month_day date(year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number)));
  if (!east || !date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const auto at = sys_days(date) + hours(*hour) + std::chrono::minutes(*minute - *east) +
                  std::chrono::seconds(*second);
  return duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count() + *fraction;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  std::string result = "'";
  for (const char c : harmless(text)) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

std::string harmless(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    if (length > 0) {
      result.append(text.substr(0, length));
      text.remove_prefix(length);
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte == '\n')
      result += "\\n";
    else if (byte == '\t')
      result += "\\t";
    else {
      result += "\\x";
      result += "0123456789abcdef"[byte >> 4U];
      result += "0123456789abcdef"[byte & 0x0fU];
    }
    text.remove_prefix(1);
  }
  return result;
}

}  // namespace berth::cli
