// Fuzz: any bytes as a snapshot. Refused with an error, or restored to an engine whose invariants
// hold and whose snapshot is the same bytes. Never a crash.
//
// The mutator begins from engines that have lived a little and changes one section at a time.
#include "journal/snapshot.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "core/engine.h"
#include "journal/state_records.h"
#include "journal/state_snapshot.h"
#include "journal/testing/engine_world.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/snapshot_mutator.h"

namespace berth::fuzz {
namespace {

using journal::ByteView;

constexpr auto kSections = static_cast<std::uint32_t>(journal::StateSection::leases);

std::vector<std::byte> random_start(std::uint64_t seed) {
  constexpr std::uint64_t kMostSteps = 60;
  journal::testing::Random random(seed);
  journal::testing::EngineWorld world;
  core::Engine engine;
  core::Actions actions;
  for (const core::Event& event : world.setup(random.next()))
    engine.step(event, actions);
  for (std::uint64_t left = random.below(kMostSteps); left > 0; --left) {
    actions.clear();
    engine.step(world.next(random.next(), engine), actions);
    world.note(actions);
  }
  return journal::encode_snapshot(engine);
}

}  // namespace
}  // namespace berth::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  using namespace berth::fuzz;
  return mutate_snapshot(data, size, max_size, seed, kSections, random_start);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::fuzz;
  berth::set_assert_handler(print_assert);
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  berth::journal::SnapshotError error;
  const auto restored = berth::journal::decode_snapshot(bytes, &error);
  if (!restored) {
    check(*error.expected != '\0', "a refusal says what was expected");
    return 0;
  }
  const auto broken = restored->engine.check_invariants();
  check(broken.empty(), "a restored state is consistent: " + (broken.empty() ? "" : broken[0]));
  const auto again = encode_snapshot(restored->engine, restored->info);
  check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
        "a restored engine gives the bytes it came from");
  return 0;
}
