// Draw: a number that is fixed, or drawn anew for each task from the scenario's seed.
//
// Written as a value, a list to choose from, {min, max} with an optional step, or {mean} for an
// exponential. The unit is that of the key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace berth::sim {

struct Draw {
  enum class Kind : std::uint8_t { fixed, one_of, uniform, exponential };

  Kind kind = Kind::fixed;
  std::int64_t low = 0;   // fixed: the value; exponential: the mean
  std::int64_t high = 0;  // exponential: what it is cut at
  std::int64_t step = 1;
  std::vector<std::int64_t> values;         // one_of
  std::vector<std::int64_t> weights_below;  // cumulative; empty: all alike

  static Draw fixed(std::int64_t value) {
    Draw draw;
    draw.low = draw.high = value;
    return draw;
  }

  bool is_fixed() const { return kind == Kind::fixed; }

  std::int64_t sample(Rng& rng) const {
    switch (kind) {
      case Kind::fixed:
        return low;
      case Kind::one_of:
        return values[index(rng)];
      case Kind::uniform:
        return low + step * rng.between(0, (high - low) / step);
      case Kind::exponential: {
        const double drawn = rng.exponential() * static_cast<double>(low);
        return drawn < static_cast<double>(high) ? static_cast<std::int64_t>(drawn) : high;
      }
    }
    return low;
  }

 private:
  std::size_t index(Rng& rng) const {
    const auto count = static_cast<std::int64_t>(values.size());
    if (weights_below.empty()) return static_cast<std::size_t>(rng.between(0, count - 1));
    const std::int64_t drawn = rng.between(0, weights_below.back() - 1);
    const auto above = std::upper_bound(weights_below.begin(), weights_below.end(), drawn);
    return static_cast<std::size_t>(above - weights_below.begin());
  }
};

}  // namespace berth::sim
