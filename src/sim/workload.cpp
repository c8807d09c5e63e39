// See workload.h.
#include "sim/workload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace berth::sim {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kNsPerMillionSeconds = 1'000'000'000'000'000;

constexpr std::uint64_t key(Stream stream) { return static_cast<std::uint64_t>(stream); }

Time saturated(Wide ns) {
  return ns >= Time::never().ns ? Time::never() : Time{static_cast<std::int64_t>(ns)};
}

// An exponential gap at the given rate, at least a nanosecond less than for ever.
Duration exponential_gap(Rng& rng, double rate_micro) {
  const double ns = rng.exponential() * static_cast<double>(kNsPerMillionSeconds) / rate_micro;
  return ns < 9e18 ? Duration{static_cast<std::int64_t>(ns)} : Duration::forever();
}

// Arrival i of a rule whose times do not depend on chance.
Time regular_arrival(const ArrivalRule& rule, std::int64_t i) {
  if (rule.kind == ArrivalKind::bursts) {
    const Wide burst = Wide{i / rule.burst_size} * rule.burst_every.ns;
    return saturated(rule.start.ns + burst + Wide{i % rule.burst_size} * rule.gap.ns);
  }
  // Computed from i, never summed, so that 70 a second stays exact for ever.
  if (rule.rate_micro > 0) {
    return saturated(rule.start.ns + Wide{i} * kNsPerMillionSeconds / rule.rate_micro);
  }
  return saturated(rule.start.ns + Wide{i} * rule.gap.ns);
}

// Arrivals of a daily rule: candidates at the peak's rate, kept in proportion to the day's curve.
Time next_daily(const ArrivalRule& rule, Rng& rng, Time from) {
  const auto peak = static_cast<double>(rule.rate_micro);
  const Time end = rule.start + rule.duration;
  Time at = from;
  while (at < end) {
    at = at + exponential_gap(rng, peak);
    if (rng.unit() * peak < daily_rate_micro(rule, at)) return at;
  }
  return Time::never();
}

}  // namespace

double daily_rate_micro(const ArrivalRule& rule, Time at) {
  // 1 at the peak, 0 half a period away, straight in between; then smoothed to a bell.
  const std::int64_t period = rule.period.ns;
  const std::int64_t half = period / 2;
  const std::int64_t phase = ((at.ns - rule.peak_at.ns) % period + period) % period;
  const double u = std::abs(static_cast<double>(phase - half)) / static_cast<double>(half);
  const double bell = u * u * (3.0 - 2.0 * u);
  const auto low = static_cast<double>(rule.low_rate_micro);
  return low + (static_cast<double>(rule.rate_micro) - low) * bell;
}

Workload::Workload(const Scenario& scenario, std::uint64_t seed)
    : scenario_(scenario), seed_(seed), numbers_(scenario.tasks.size()) {
  for (const ArrivalRule& rule : scenario.rules) {
    Source source{&rule, Rng::keyed(seed, {key(Stream::arrivals), rule.block})};
    find_first(source);
    sources_.push_back(source);
  }
}

void Workload::find_first(Source& source) const {
  const ArrivalRule& rule = *source.rule;
  if (rule.kind == ArrivalKind::poisson) {
    source.at = rule.start + exponential_gap(source.rng, static_cast<double>(rule.rate_micro));
  } else if (rule.kind == ArrivalKind::daily) {
    source.at = next_daily(rule, source.rng, rule.start);
  } else {
    source.at = regular_arrival(rule, 0);
  }
  end_if_over(source);
}

void Workload::advance(Source& source) const {
  const ArrivalRule& rule = *source.rule;
  ++source.index;
  if (rule.kind == ArrivalKind::poisson) {
    source.at = source.at + exponential_gap(source.rng, static_cast<double>(rule.rate_micro));
  } else if (rule.kind == ArrivalKind::daily) {
    source.at = next_daily(rule, source.rng, source.at);
  } else {
    source.at = regular_arrival(rule, source.index);
  }
  end_if_over(source);
}

void Workload::end_if_over(Source& source) const {
  const ArrivalRule& rule = *source.rule;
  const bool late = rule.duration != Duration::forever() && source.at >= rule.start + rule.duration;
  if (source.index >= rule.count || late) source.at = Time::never();
}

Time Workload::next_at() const {
  Time earliest = Time::never();
  if (next_explicit_ < scenario_.tasks.size()) earliest = scenario_.tasks[next_explicit_].at;
  for (const Source& source : sources_)
    earliest = std::min(earliest, source.at);
  return earliest;
}

Arrival Workload::take(TaskNo first) {
  const Time at = next_at();
  ASSERT(at != Time::never());
  const bool explicit_first =
      next_explicit_ < scenario_.tasks.size() && scenario_.tasks[next_explicit_].at == at;
  if (explicit_first) return take_explicit(first);

  Source& source = *std::ranges::find(sources_, at, &Source::at);
  const ArrivalRule& rule = *source.rule;
  Arrival arrival;
  std::vector<core::TaskSpec> tasks;
  for (std::size_t step = 0; step < rule.steps.size(); ++step) {
    Rng rng = Rng::keyed(
        seed_, {key(Stream::fields), rule.block, static_cast<std::uint64_t>(source.index), step});
    tasks.push_back(draw(rule.steps[step].task, source.index, rng, arrival));
    for (const std::uint32_t below : rule.steps[step].depends_on) {
      tasks.back().depends_on.push_back({core::Dependency::Kind::task, first.value + below});
    }
  }
  advance(source);
  if (tasks.size() == 1) {
    arrival.event = {at, core::Submit{first, std::move(tasks.front())}};
  } else {
    arrival.event = {at, core::SubmitWorkflow{first, std::move(tasks)}};
  }
  return arrival;
}

Arrival Workload::take_explicit(TaskNo first) {
  const ExplicitTask& task = scenario_.tasks[next_explicit_];
  Arrival arrival;
  const auto index = static_cast<std::int64_t>(next_explicit_);
  Rng rng = Rng::keyed(seed_, {key(Stream::explicit_fields), next_explicit_});
  core::TaskSpec spec = draw(task.task, index, rng, arrival);
  for (const std::uint32_t below : task.depends_on) {
    spec.depends_on.push_back({core::Dependency::Kind::task, numbers_[below].value});
  }
  numbers_[next_explicit_++] = first;
  arrival.event = {task.at, core::Submit{first, std::move(spec)}};
  return arrival;
}

core::TaskSpec Workload::draw(const TaskTemplate& task, std::int64_t index, Rng rng,
                              Arrival& arrival) const {
  core::TaskSpec spec = task.spec;
  std::optional<Duration> actual_run = task.actual_run;
  std::int64_t round = index;  // one tenant per whole round of the queues
  for (const DrawnField& drawn : task.drawn) {
    std::int64_t value = 0;
    if (drawn.rotate) {
      const auto choices = static_cast<std::int64_t>(drawn.draw.values.size());
      value = drawn.draw.values[static_cast<std::size_t>(round % choices)];
      round /= choices;
    } else {
      value = drawn.draw.sample(rng);
    }
    set_field(spec, actual_run, drawn.field, value);
  }
  arrival.actual_runs.push_back(actual_run);
  return spec;
}

}  // namespace berth::sim
