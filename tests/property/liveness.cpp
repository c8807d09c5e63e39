// After faults heal, every task runs: when nothing hinders any more and agents answer, all
// work ends within a bounded number of rounds, whatever history came before.
#include <string>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"

namespace berth::property {
namespace {

std::string stuck_task(const core::Engine& engine) {
  const core::State& state = engine.state();
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    if (!state.tasks.is_live(slot)) continue;
    const core::TaskRow& row = state.tasks.row(slot);
    if (row.state == core::TaskState::waiting) continue;
    std::string text =
        "task " + std::to_string(row.no.value) + " stays " + std::string(core::name_of(row.state));
    const auto explanation = engine.explain(row.no);
    for (const core::Reason& reason : explanation->binding) {
      text += "; " + std::string(core::info_of(reason.code).name);
    }
    return text;
  }
  return "";
}

TEST(Liveness, EveryTaskEndsOnceNothingHinders) {
  constexpr int kRounds = 400;
  std::size_t ended = 0;
  for_cases({.cases = 1500, .commands = 200}, [&](const Case& input) {
    World world(input);
    run_world(world);
    const std::size_t before = world.engine().state().tasks.live();
    world.heal();
    for (int round = 0; round < kRounds; ++round) {
      if (world.engine().state().tasks.live() == 0 || !world.settle_once()) break;
    }
    const std::string stuck = stuck_task(world.engine());
    if (!stuck.empty()) fail(world.steps(), stuck);
    ended += before - world.engine().state().tasks.live();
  });
  EXPECT_GT(ended, 1000U);
}

}  // namespace
}  // namespace berth::property
