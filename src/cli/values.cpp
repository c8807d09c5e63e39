// See values.h.
#include "cli/values.h"

#include "cli/text.h"
#include "config/diagnostics.h"
#include "config/quantity.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

Error expected(std::string_view what, std::string_view found) {
  return Error{"expected " + std::string(what) + ", found " + config::quoted(found)};
}

}  // namespace

Result<std::int64_t> read_duration_ms(std::string_view text) {
  const config::Quantity time = config::parse_quantity(text, config::Unit::time);
  if (time.error != config::QuantityError::none || time.value < kNsPerMs)
    return expected("a duration of 1ms or more, such as 500ms, 90s, 5min or 2h", text);
  return time.value / kNsPerMs;
}

Result<std::int64_t> read_vram_mb(std::string_view text) {
  const config::Quantity vram = config::parse_quantity(text, config::Unit::vram);
  if (vram.error != config::QuantityError::none || vram.value < 0)
    return expected("a size such as 8GB or 512MB", text);
  return vram.value;
}

Result<std::int64_t> read_share_milli(std::string_view text) {
  const bool percent = text.ends_with('%');
  std::string_view digits = percent ? text.substr(0, text.size() - 1) : text;
  std::int64_t value = 0;
  int places = -1;  // behind the point; -1: before it
  bool wrong = digits.empty() || digits == ".";
  for (const char c : digits) {
    if (c == '.' && places < 0) {
      places = 0;
    } else if (c >= '0' && c <= '9' && places < (percent ? 1 : 3) && value <= 100'000) {
      value = value * 10 + (c - '0');
      if (places >= 0) ++places;
    } else {
      wrong = true;
    }
  }
  for (int place = std::max(places, 0); place < (percent ? 1 : 3); ++place)
    value *= 10;
  if (wrong || value < 1 || value > 1000)
    return expected("a part of a GPU from 0.001 to 1, such as 0.5 or 50%", text);
  return value;
}

Result<std::int64_t> read_instant_ms(std::string_view text, std::int64_t now_unix_ms) {
  if (text.starts_with('+')) {
    const Result<std::int64_t> later = read_duration_ms(text.substr(1));
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
  note(std::string(flag) + ": " + result.error().message);
  return std::nullopt;
}

std::optional<std::int64_t> Values::duration_ms(std::string_view flag) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_duration_ms(*given)) : std::nullopt;
}

std::optional<std::int64_t> Values::vram_mb(std::string_view flag) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_vram_mb(*given)) : std::nullopt;
}

std::optional<std::int64_t> Values::share_milli(std::string_view flag) {
  const auto given = call_.args.value(flag);
  return given ? take(flag, read_share_milli(*given)) : std::nullopt;
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
