// A snapshot taken after any step restores an engine that goes on exactly as the original does.
//
// Two engines follow each history: one is replaced after every step by what its own snapshot
// restores, so that anything a snapshot forgets shows at once; the other was restored once, at one
// step of the history, so that anything it got wrong has time to grow.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "journal/state_snapshot.h"
#include "tests/property/cases.h"
#include "tests/property/oracle.h"

namespace berth::property {
namespace {

using journal::decode_snapshot;
using journal::encode_snapshot;

core::Engine restored(const std::vector<std::byte>& bytes) {
  journal::SnapshotError error;
  auto snapshot = decode_snapshot(bytes, &error);
  if (!snapshot) throw Broken("a snapshot was refused: " + to_string(error));
  return std::move(snapshot->engine);
}

void follow(core::Engine& engine, const Step& step, const char* which) {
  core::Actions actions;
  const std::size_t from_timers = engine.step(step.event, actions);
  if (actions == step.actions && from_timers == step.from_timers) return;
  std::string text = std::string("the engine restored ") + which + " decides otherwise:";
  for (const core::Action& action : actions)
    text += "\n     " + describe(action);
  throw Broken(text);
}

void must_be_sound(const core::Engine& engine) {
  const auto findings = engine.check_invariants();
  if (!findings.empty()) throw Broken("restored: " + findings.front());
}

TEST(Snapshot, RestoredAfterEveryStepChangesNothing) {
  for_cases({.cases = 100, .commands = 200}, [](const Case& input) {
    World world(input);
    core::Engine engine;
    world.on_step = [&](const Step& step) {
      follow(engine, step, "after every step");
      const auto bytes = encode_snapshot(world.engine());
      if (encode_snapshot(engine) != bytes) throw Broken("equal histories, different snapshots");
      engine = restored(bytes);
      must_be_sound(engine);
      if (engine.next_wakeup() != world.engine().next_wakeup()) throw Broken("another wake-up");
      if (encode_snapshot(engine) != bytes) throw Broken("a restored engine has another snapshot");
    };
    run_world(world);
  });
}

TEST(Snapshot, RestoredOnceAtAnyStepChangesNothing) {
  for_cases({.cases = 150, .commands = 200}, [](const Case& input) {
    World world(input);
    const std::size_t at = input.setup.empty() ? 0 : input.setup.back() % 100;
    std::optional<core::Engine> engine;
    std::size_t steps = 0;
    world.on_step = [&](const Step& step) {
      if (engine) {
        follow(*engine, step, ("after step " + std::to_string(at)).c_str());
      } else if (steps == at) {
        engine = restored(encode_snapshot(world.engine()));
      }
      ++steps;
    };
    run_world(world);
    if (!engine) return;
    must_be_sound(*engine);
    if (encode_snapshot(*engine) != encode_snapshot(world.engine())) {
      throw Broken("equal histories, different snapshots");
    }
  });
}

}  // namespace
}  // namespace berth::property
