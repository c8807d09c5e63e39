// Quantities as people write them: "120ms", "1.5 h", "8GB", "64KiB". Exact integers come out.
//
// A decimal fraction is taken exactly, never through a double. "GB" means 1024 MiB, as nvidia-smi
// shows it, and GiB the same. A key may carry the unit instead of the value: `load_time = "5s"` or
// `load_time_s = 5`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace berth::config {

enum class Unit : std::uint8_t { time, vram, bytes };

struct UnitName {
  std::string_view name;    // after a number in a string
  std::string_view suffix;  // after a key, with its underscore; "" if there is none
  std::int64_t factor;      // to nanoseconds, to KiB of VRAM, or to bytes
};

std::span<const UnitName> units_of(Unit unit);

// Why a text is not a quantity.
enum class QuantityError : std::uint8_t { none, malformed, no_unit, unknown_unit, too_large };

struct Quantity {
  std::int64_t value = 0;  // nanoseconds or bytes (rounded down), or MiB (rounded up)
  QuantityError error = QuantityError::none;
};

// "1.5s" -> 1'500'000'000 ns. A sign is accepted, so that the caller can name the allowed range.
Quantity parse_quantity(std::string_view text, Unit unit);

// number × factor, as parse_quantity would give for the number followed by its unit.
Quantity scaled_quantity(double number, std::int64_t factor, Unit unit);
Quantity scaled_quantity(std::int64_t number, std::int64_t factor, Unit unit);

// `max_batch_wait_ms` -> `max_batch_wait`; other keys as they are.
std::string_view without_unit_suffix(std::string_view key);

// The shortest exact spelling: 120'000'000 ns -> "120ms", 4608 MiB -> "4.5GB", 65536 bytes ->
// "64KiB".
std::string duration_text(std::int64_t ns);
std::string vram_text(std::int64_t mib);
std::string bytes_text(std::int64_t bytes);

// value / factor with at most three places, or "" if that is not exact.
std::string exact_decimal(std::int64_t value, std::int64_t factor);

}  // namespace berth::config
