// See values.h.
#include "cli/values.h"

#include <algorithm>

#include "cli/text.h"
#include "config/diagnostics.h"
#include "config/quantity.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

Error expected(std::string_view what, std::string_view found) {
  return Error{"expected " + std::string(what) + ", found " + config::quoted(found)};
}

// "2.5" with at most so many places behind the point, as a whole number of the last of them.
std::optional<std::int64_t> parse_decimal(std::string_view text, int places) {
  if (text.empty() || text == ".") return std::nullopt;
  std::int64_t value = 0;
  int behind = -1;  // places behind the point; -1: before it
  for (const char c : text) {
    if (c == '.' && behind < 0) {
      behind = 0;
    } else if (c >= '0' && c <= '9' && behind < places && value <= kCpusMilliMax) {
      value = value * 10 + (c - '0');
      if (behind >= 0) ++behind;
    } else {
      return std::nullopt;
    }
  }
  for (int place = std::max(behind, 0); place < places; ++place)
    value *= 10;
  return value;
}

}  // namespace

Result<std::int64_t> read_duration_ms(std::string_view text, std::int64_t least) {
  if (least == 0 && text == "0") return 0;
  const config::Quantity time = config::parse_quantity(text, config::Unit::time);
  const bool is_whole = time.value % kNsPerMs == 0 || time.value > kNsPerMs;
  if (time.error == config::QuantityError::none && time.value >= least * kNsPerMs && is_whole)
    return time.value / kNsPerMs;
  const std::string range =
      least == 0 ? "" : " of " + config::duration_text(least * kNsPerMs) + " or more";
  return expected("a duration" + range + ", such as 500ms, 90s, 5min or 2h", text);
}

Result<std::int64_t> read_size_mb(std::string_view text) {
  const config::Quantity size = config::parse_quantity(text, config::Unit::vram);
  if (size.error != config::QuantityError::none || size.value < 0)
    return expected("a size such as 8GB or 512MB", text);
  return size.value;
}

Result<std::int64_t> read_share_milli(std::string_view text) {
  const bool percent = text.ends_with('%');
  const std::string_view number = text.substr(0, text.size() - (percent ? 1 : 0));
  const auto value = parse_decimal(number, percent ? 1 : 3);
  if (!value || *value < 1 || *value > 1000)
    return expected("a part of a GPU from 0.001 to 1, such as 0.5 or 50%", text);
  return *value;
}

Result<std::int64_t> read_cpus_milli(std::string_view text) {
  const auto value = parse_decimal(text, 3);
  if (!value || *value < 1 || *value > kCpusMilliMax)
    return expected("a number of CPU cores from 0.001 to 1000000, such as 4 or 0.5", text);
  return *value;
}

Result<std::int64_t> read_instant_ms(std::string_view text, std::int64_t now_unix_ms) {
  if (text.starts_with('+')) {
    const Result<std::int64_t> later = read_duration_ms(text.substr(1), 0);
    if (later) return now_unix_ms + *later;
  } else if (const auto instant = parse_instant(text)) {
    return *instant;
  }
  return expected("an instant such as 2026-11-15T12:00:00Z, or +10min from now", text);
}

Result<std::pair<std::string, std::string>> read_pair(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return expected("KEY=VALUE", text);
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

template <class T>
std::optional<T> Values::take(std::string_view flag, Result<T> result) {
  if (result) return std::move(*result);
  const std::string origin = call_.args.origin(flag);
  note(origin + (origin.empty() ? "" : ": ") + std::string(flag) + ": " + result.error().message);
  return std::nullopt;
}

std::optional<std::int64_t> Values::duration_ms(std::string_view flag, std::int64_t least) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_duration_ms(*given, least)) : std::nullopt;
}

std::optional<std::int64_t> Values::size_mb(std::string_view flag) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_size_mb(*given)) : std::nullopt;
}

std::optional<std::int64_t> Values::share_milli(std::string_view flag) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_share_milli(*given)) : std::nullopt;
}

std::optional<std::int64_t> Values::cpus_milli(std::string_view flag) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_cpus_milli(*given)) : std::nullopt;
}

std::optional<std::int64_t> Values::instant_ms(std::string_view flag) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_instant_ms(*given, call_.console.now_unix_ms())) : std::nullopt;
}

std::optional<std::int64_t> Values::integer(std::string_view flag, std::int64_t low,
                                            std::int64_t high) {
  const auto given = call_.args.value(flag);
  if (!given) return std::nullopt;
  const auto number = parse_integer(*given, low, high);
  if (number) return number;
  return take<std::int64_t>(
      flag,
      expected("an integer from " + std::to_string(low) + " to " + std::to_string(high), *given));
}

std::vector<std::pair<std::string, std::string>> Values::pairs(std::string_view flag) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& given : call_.args.values(flag)) {
    if (auto pair = take(flag, read_pair(given))) result.push_back(std::move(*pair));
  }
  return result;
}

int Values::refuse() const {
  std::string all;
  for (const std::string& error : errors_) {
    if (!all.empty()) all += "\nberth " + std::string(call_.command.name) + ": ";
    all += error;
  }
  return bad_usage(call_, all);
}

}  // namespace berth::cli
