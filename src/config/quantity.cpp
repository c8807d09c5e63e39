// See quantity.h.
#include "config/quantity.h"

#include <array>
#include <cmath>
#include <cstdlib>

namespace berth::config {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kMax = INT64_MAX;
constexpr std::int64_t kKibPerMib = 1024;

constexpr std::array kTimeUnits = {
    UnitName{"ns", "_ns", 1},
    UnitName{"us", "_us", 1'000},
    UnitName{"µs", "", 1'000},
    UnitName{"ms", "_ms", 1'000'000},
    UnitName{"s", "_s", 1'000'000'000},
    UnitName{"min", "_minutes", 60'000'000'000},
    UnitName{"h", "_h", 3'600'000'000'000},
    UnitName{"d", "_days", 86'400'000'000'000},
};

constexpr std::array kVramUnits = {
    UnitName{"KB", "", 1},
    UnitName{"KiB", "", 1},
    UnitName{"MB", "_mb", kKibPerMib},
    UnitName{"MiB", "", kKibPerMib},
    UnitName{"GB", "_gb", kKibPerMib * 1024},
    UnitName{"GiB", "", kKibPerMib * 1024},
    UnitName{"TB", "", kKibPerMib * 1024 * 1024},
    UnitName{"TiB", "", kKibPerMib * 1024 * 1024},
};

constexpr std::array kByteUnits = {
    UnitName{"B", "_bytes", 1},
    UnitName{"KB", "_kb", 1024},
    UnitName{"KiB", "", 1024},
    UnitName{"MB", "_mb", 1024 * 1024},
    UnitName{"MiB", "", 1024 * 1024},
    UnitName{"GB", "_gb", 1024 * 1024 * 1024},
    UnitName{"GiB", "", 1024 * 1024 * 1024},
    UnitName{"TB", "", std::int64_t{1} << 40U},
    UnitName{"TiB", "", std::int64_t{1} << 40U},
};

// The exact product, in the unit's base, to whole units of what is returned.
Quantity rounded(Wide numerator, Wide denominator, Unit unit) {
  const bool negative = numerator < 0;
  if (negative) numerator = -numerator;
  if (unit == Unit::vram) denominator *= kKibPerMib;
  Wide whole = numerator / denominator;
  if (unit == Unit::vram && whole * denominator != numerator) ++whole;
  // A negative amount that rounds to nothing is still negative.
  if (negative && whole == 0 && numerator != 0) whole = 1;
  if (whole > kMax) return {0, QuantityError::too_large};
  const auto value = static_cast<std::int64_t>(whole);
  return {negative ? -value : value, QuantityError::none};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::span<const UnitName> units_of(Unit unit) {
  switch (unit) {
    case Unit::time:
      return kTimeUnits;
    case Unit::vram:
      return kVramUnits;
    case Unit::bytes:
      break;
  }
  return kByteUnits;
}

Quantity parse_quantity(std::string_view text, Unit unit) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);

  constexpr Wide kTooLarge = static_cast<Wide>(kMax) * 1000;
  Wide digits = 0;
  Wide denominator = 1;
  bool any_digit = false;
  bool after_point = false;
  bool overflow = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !after_point) {
      after_point = true;
    } else if (is_digit(c)) {
      any_digit = true;
      // Nine places after the point reach the nanosecond of a second; more cannot matter.
      if (after_point && denominator >= 1'000'000'000) continue;
      digits = digits * 10 + (c - '0');
      if (after_point) denominator *= 10;
      if (digits > kTooLarge) {
        overflow = true;
        digits = 1;
      }
    } else if (c != '_') {
      break;
    }
  }
  if (!any_digit) return {0, QuantityError::malformed};
  const std::string_view name = trimmed(text.substr(i));
  if (name.empty()) return {0, QuantityError::no_unit};
  for (const UnitName& candidate : units_of(unit)) {
    if (candidate.name != name) continue;
    if (overflow) return {0, QuantityError::too_large};
    return rounded((negative ? -digits : digits) * candidate.factor, denominator, unit);
  }
  return {0, is_digit(name.front()) || name.front() == '.' ? QuantityError::malformed
                                                           : QuantityError::unknown_unit};
}

Quantity scaled_quantity(std::int64_t number, std::int64_t factor, Unit unit) {
  return rounded(static_cast<Wide>(number) * factor, 1, unit);
}

Quantity scaled_quantity(double number, std::int64_t factor, Unit unit) {
  if (!std::isfinite(number)) return {0, QuantityError::malformed};
  if (std::abs(number) > 9e18) return {0, QuantityError::too_large};
  const double whole = std::trunc(number);
  const auto billionths = static_cast<std::int64_t>(std::llround((number - whole) * 1e9));
  const Wide digits = static_cast<Wide>(whole) * 1'000'000'000 + billionths;
  // Up to 9e18 · 1e9 · 9e13 would not fit: test in double first.
  if (std::abs(number) * static_cast<double>(factor) > 1e22) return {0, QuantityError::too_large};
  return rounded(digits * factor, 1'000'000'000, unit);
}

std::string_view without_unit_suffix(std::string_view key) {
  for (const Unit unit : {Unit::time, Unit::vram, Unit::bytes}) {
    for (const UnitName& candidate : units_of(unit)) {
      if (candidate.suffix.empty() || !key.ends_with(candidate.suffix)) continue;
      return key.substr(0, key.size() - candidate.suffix.size());
    }
  }
  return key;
}

std::string exact_decimal(std::int64_t value, std::int64_t factor) {
  const Wide thousandths = static_cast<Wide>(value) * 1000;
  if (thousandths % factor != 0) return {};
  const auto scaled = static_cast<std::int64_t>(thousandths / factor);
  std::string result = std::to_string(scaled / 1000);
  std::string fraction = std::to_string(1000 + scaled % 1000).substr(1);
  while (fraction.ends_with('0'))
    fraction.pop_back();
  return fraction.empty() ? result : result + "." + fraction;
}

std::string duration_text(std::int64_t ns) {
  if (ns == kMax) return "for ever";
  if (ns < 0) return ns == INT64_MIN ? "-" + duration_text(kMax) : "-" + duration_text(-ns);
  if (ns == 0) return "0s";
  constexpr std::array kShown = {"d", "h", "min", "s", "ms", "us", "ns"};
  for (const std::string_view name : kShown) {
    for (const UnitName& unit : kTimeUnits) {
      if (unit.name != name || ns < unit.factor) continue;
      const std::string number = exact_decimal(ns, unit.factor);
      if (!number.empty()) return number + std::string(name);
    }
  }
  return std::to_string(ns) + "ns";
}

std::string vram_text(std::int64_t mib) {
  if (mib < 0) return mib == INT64_MIN ? "-" + vram_text(kMax) : "-" + vram_text(-mib);
  if (mib >= 1024) {
    const std::string number = exact_decimal(mib, 1024);
    if (!number.empty()) return number + "GB";
  }
  return std::to_string(mib) + "MB";
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 0) return bytes == INT64_MIN ? "-" + bytes_text(kMax) : "-" + bytes_text(-bytes);
  constexpr std::array kShown = {"TiB", "GiB", "MiB", "KiB"};
  for (const std::string_view name : kShown) {
    for (const UnitName& unit : kByteUnits) {
      if (unit.name != name || bytes < unit.factor) continue;
      const std::string number = exact_decimal(bytes, unit.factor);
      if (!number.empty()) return number + std::string(name);
    }
  }
  return std::to_string(bytes) + "B";
}

}  // namespace berth::config
