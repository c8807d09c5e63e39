// The same events lead to the same actions: with any ticks in between, after recovery from the
// recorded stream, and after every index was built anew.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"

namespace berth::property {
namespace {

// One history with what it led to, ended by an event, so that all that timers had to decide is in.
std::vector<Step> record(const Case& input) {
  World world(input);
  run_world(world);
  std::vector<Step> steps = world.steps();
  while (!steps.empty() && std::holds_alternative<core::Tick>(steps.back().event.body)) {
    steps.pop_back();
  }
  return steps;
}

core::Actions actions_from(const std::vector<Step>& steps, std::size_t first) {
  core::Actions all;
  for (std::size_t i = first; i < steps.size(); ++i) {
    all.insert(all.end(), steps[i].actions.begin(), steps[i].actions.end());
  }
  return all;
}

void expect_same(const core::Actions& actions, const core::Actions& expected,
                 const std::vector<Step>& steps, const std::string& what) {
  if (actions == expected) return;
  const auto [a, b] =
      std::mismatch(actions.begin(), actions.end(), expected.begin(), expected.end());
  fail(steps, what + ": action " + std::to_string(a - actions.begin()) + " is " +
                  (a == actions.end() ? "missing" : describe(*a)) + ", not " +
                  (b == expected.end() ? "missing" : describe(*b)));
}

void expect_clean(const core::Engine& engine, const std::vector<Step>& steps, const char* when) {
  const auto findings = engine.check_invariants();
  if (!findings.empty()) fail(steps, std::string(when) + ": " + findings.front());
}

// Steps the engine from step `first` on and compares what it decides with the record. A tick does
// a bounded number of rounds, so the same actions may come a tick earlier or later.
void expect_same_future(core::Engine& engine, const std::vector<Step>& steps, std::size_t first,
                        const char* what) {
  core::Actions actions;
  std::string problem;
  try {
    for (std::size_t i = first; i < steps.size(); ++i)
      engine.step(steps[i].event, actions);
  } catch (const Broken& broken) {
    problem = std::string(": ") + broken.what();
  }
  expect_same(actions, actions_from(steps, first), steps,
              std::string(what) + " before step " + std::to_string(first) + problem);
}

std::size_t pick_step(const Case& input, const std::vector<Step>& steps) {
  return std::min<std::size_t>(input.setup.back() % 200, steps.size());
}

core::Actions with_ticks(const std::vector<Step>& steps, Duration interval) {
  constexpr int kTicksPerGap = 200;
  core::Engine engine;
  core::Actions all;
  Time now{0};
  for (const Step& step : steps) {
    for (int i = 0; i < kTicksPerGap && now + interval < step.event.now; ++i) {
      now = now + interval;
      engine.step({now, core::Tick{}}, all);
    }
    now = step.event.now;
    engine.step(step.event, all);
  }
  return all;
}

TEST(Replay, TicksChangeNothing) {
  for_cases({.cases = 500, .commands = 150}, [](const Case& input) {
    const std::vector<Step> steps = record(input);
    std::vector<Step> events;
    for (const Step& step : steps) {
      if (!std::holds_alternative<core::Tick>(step.event.body)) events.push_back(step);
    }
    for (const Duration interval :
         {Duration::forever(), milliseconds(10), seconds(10),
          Duration{1 + static_cast<std::int64_t>(input.setup.back()) * 50}}) {
      expect_same(with_ticks(events, interval), actions_from(steps, 0), steps,
                  "with ticks every " + std::to_string(interval.ns) + " ns");
    }
  });
}

TEST(Replay, RecoveryFromTheRecordDecidesTheSame) {
  for_cases({.cases = 2500, .commands = 150}, [](const Case& input) {
    const std::vector<Step> steps = record(input);
    const std::size_t crash = pick_step(input, steps);
    core::Engine recovered;
    for (std::size_t i = 0; i < crash; ++i) {
      for (std::size_t a = 0; a < steps[i].from_timers; ++a)
        recovered.apply(steps[i].actions[a]);
      recovered.apply(steps[i].event);
      for (std::size_t a = steps[i].from_timers; a < steps[i].actions.size(); ++a) {
        recovered.apply(steps[i].actions[a]);
      }
    }
    expect_clean(recovered, steps, "after recovery");
    expect_same_future(recovered, steps, crash, "recovered");
  });
}

TEST(Replay, RebuildingTheIndexesChangesNoDecision) {
  for_cases({.cases = 2500, .commands = 150}, [](const Case& input) {
    const std::vector<Step> steps = record(input);
    const std::size_t at = pick_step(input, steps);
    core::Engine engine;
    core::Actions ignored;
    for (std::size_t i = 0; i < at; ++i)
      engine.step(steps[i].event, ignored);
    core::rebuild_indexes(const_cast<core::State&>(engine.state()));
    expect_clean(engine, steps, "after the rebuild");
    expect_same_future(engine, steps, at, "rebuilt");
  });
}

}  // namespace
}  // namespace berth::property
