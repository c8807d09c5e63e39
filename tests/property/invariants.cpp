// Random events for thousands of steps keep every invariant, and an oracle that sees only events
// and actions finds nothing lost, started twice, over-committed or mixed.
#include <cstdio>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"
#include "tests/property/oracle.h"

namespace berth::property {
namespace {

TEST(Invariants, HoldAfterEveryStep) {
  std::size_t steps = 0;
  std::map<std::string, std::size_t> seen;  // actions by name
  for_cases({.cases = 1500, .commands = 200}, [&](const Case& input) {
    World world(input);
    world.on_step = [&](const Step& step) {
      ++steps;
      for (const core::Action& action : step.actions) {
        const std::string text = describe(action);
        ++seen[text.substr(0, text.find(' '))];
        const auto* batch = std::get_if<core::BatchStarted>(&action);
        if (batch == nullptr || (batch->cpu.value == 0 && batch->memory.value == 0)) continue;
        ++seen[batch->node ? "start without a GPU" : "start with CPUs"];
      }
      const auto findings = world.engine().check_invariants();
      if (!findings.empty()) throw Broken(findings.front());
    };
    run_world(world);
  });
  EXPECT_GT(steps, 5000U);
  EXPECT_GT(seen["start without a GPU"], 100U);
  EXPECT_GT(seen["start with CPUs"], 100U);
  std::printf("%zu steps checked:", steps);
  for (const auto& [name, count] : seen)
    std::printf(" %s %zu", name.c_str(), count);
  std::printf("\n");
}

// Gangs of the first tier meet long work of all tiers, and GPUs go into MIG mode and out of it: so
// that there is a plan, something is blocked and something is claimed most of the time.
TEST(Invariants, OfPlacedWorkHoldUnderPressure) {
  std::size_t planned = 0;
  std::size_t reserved = 0;
  std::size_t blocked = 0;
  std::size_t claimed = 0;
  for_cases({.cases = 4000, .commands = 200}, [&](const Case& input) {
    World world(input, {.mixes_ranks = true, .changes_mig = true});
    world.on_step = [&](const Step&) {
      const core::State& state = world.engine().state();
      planned += state.placed.plan.kept ? 1 : 0;
      reserved += state.placed.plan.reservations.empty() ? 0 : 1;
      blocked += state.placed.blocked.empty() ? 0 : 1;
      claimed += state.claims.empty() ? 0 : 1;
      const auto findings = world.engine().check_invariants();
      if (!findings.empty()) throw Broken(findings.front());
    };
    run_world(world);
  });
  EXPECT_GT(planned, 1000U);
  EXPECT_GT(reserved, 500U);
  EXPECT_GT(blocked, 1000U);
  EXPECT_GT(claimed, 100U);
  std::printf("steps with a plan %zu, reservations %zu, blocked shapes %zu, claims %zu\n", planned,
              reserved, blocked, claimed);
}

TEST(Invariants, AnOracleThatSeesOnlyEventsAndActionsAgrees) {
  for_cases({.cases = 2000, .commands = 200}, [](const Case& input) {
    World world(input);
    Oracle oracle;
    world.on_step = [&](const Step& step) {
      oracle.read(step);
      for (const TaskNo task : oracle.live()) {
        if (!world.engine().explain(task)) {
          throw Broken("task " + std::to_string(task.value) + " was lost");
        }
      }
    };
    run_world(world);
  });
}

}  // namespace
}  // namespace berth::property
