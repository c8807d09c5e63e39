// Workload: the arrivals that follow from a scenario and a seed, one at a time, in order.
//
// Lazy, so that a hundred million tasks need no memory before they arrive. Each arrival's fields
// are drawn by a generator keyed with its place, so they do not depend on other blocks. Knows
// nothing of the engine except the number its next task must carry.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "core/event.h"
#include "sim/scenario.h"

namespace berth::sim {

// The purposes of chance; each has its own generators.
enum class Stream : std::uint64_t {
  arrivals = 1,
  fields,
  explicit_fields,
  batch,
  failure,
  load,
  gpu
};

struct Arrival {
  core::Event event;                                 // Submit or SubmitWorkflow
  std::vector<std::optional<Duration>> actual_runs;  // of its tasks, where they differ
};

class Workload {
 public:
  // Keeps a reference to the scenario.
  Workload(const Scenario& scenario, std::uint64_t seed);

  // The instant of the next arrival; never: there are no more.
  Time next_at() const;

  // The next arrival, its tasks numbered from `first` on. REQUIRES next_at() is not never.
  Arrival take(TaskNo first);

  // The number that an explicit task was given; none: it has not arrived yet.
  TaskNo number_of(std::uint32_t explicit_task) const { return numbers_[explicit_task]; }

 private:
  // One rule on its way through its arrivals.
  struct Source {
    const ArrivalRule* rule;
    Rng rng;
    std::int64_t index = 0;
    Time at = Time::never();  // of arrival `index`
  };

  void find_first(Source& source) const;
  void advance(Source& source) const;
  void end_if_over(Source& source) const;
  core::TaskSpec draw(const TaskTemplate& task, std::int64_t index, Rng rng,
                      Arrival& arrival) const;
  Arrival take_explicit(TaskNo first);

  const Scenario& scenario_;
  std::uint64_t seed_;
  std::vector<Source> sources_;
  std::size_t next_explicit_ = 0;
  std::vector<TaskNo> numbers_;
};

// The rate of a `daily` rule at an instant, in arrivals per million seconds.
double daily_rate_micro(const ArrivalRule& rule, Time at);

}  // namespace berth::sim
