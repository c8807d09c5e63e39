// GPUs that go into MIG mode and out of it while instances, batches and models come and go, nodes
// are lost, and reports come late and twice: every instance lies where it may, none overlap, no
// tenant's isolation is broken, and all counters and indexes agree after every step.
#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"
#include "tests/property/oracle.h"

namespace berth::property {
namespace {

TEST(Mig, InstancesAreLegalAndIsolationHolds) {
  std::size_t instances = 0;
  std::size_t beside_others = 0;
  for_cases({.cases = 2000, .commands = 200}, [&](const Case& input) {
    World world(input, {.changes_mig = true});
    Oracle oracle;
    world.on_step = [&](const Step& step) {
      oracle.read(step);
      const auto findings = world.engine().check_invariants();
      if (!findings.empty()) throw Broken(findings.front());
      for (const core::Action& action : step.actions) {
        const auto* batch = std::get_if<core::BatchStarted>(&action);
        if (batch == nullptr || !batch->instance) continue;
        ++instances;
        const core::State& state = world.engine().state();
        if (state.gpu(batch->gpus.front()).leases.size() > 1) ++beside_others;
      }
    };
    run_world(world);
  });
  EXPECT_GT(instances, 800U);
  EXPECT_GT(beside_others, 100U);
}

}  // namespace
}  // namespace berth::property
