// What the core learns from its own events, as small integer sketches.
//
// They are part of the state: they change only when an event or action is applied and travel in
// snapshots, so a replay learns the same and decides the same.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace berth::core {

// Batch time as a + b·n, by least squares over recent batches; older ones fade by halving.
// Times are those of a GPU of speed 1, for the class of work that the queue has.
struct BatchTimeSketch {
  std::int64_t count = 0;
  std::int64_t sum_n = 0;
  std::int64_t sum_nn = 0;
  std::int64_t sum_t = 0;  // microseconds
  std::int64_t sum_nt = 0;
  // The two coefficients as of the last add, never negative.
  Duration base{0};
  Duration per_task{0};

  void add(std::int64_t n, Duration took);
  bool known() const { return count >= 4; }
  Duration predict(std::int64_t n) const { return Duration{base.ns + per_task.ns * n}; }

  bool operator==(const BatchTimeSketch&) const = default;
};

// Mean gap between arrivals: fast to follow, and aware of silence.
struct ArrivalSketch {
  std::int64_t gap_ns = 0;  // 0: fewer than two arrivals so far
  Time last{INT64_MIN};

  void add(Time now);
  // The gap to reckon with now: silence longer than the mean counts. Forever if unknown.
  Duration gap(Time now) const;

  bool operator==(const ArrivalSketch&) const = default;
};

// Mean of a duration, weight 1/4 to the newest.
struct MeanSketch {
  std::int64_t mean_ns = 0;
  std::int64_t count = 0;

  void add(Duration d);
  Duration or_else(Duration prior) const { return count > 0 ? Duration{mean_ns} : prior; }

  bool operator==(const MeanSketch&) const = default;
};

}  // namespace berth::core
