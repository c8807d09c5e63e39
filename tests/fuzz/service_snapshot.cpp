// Fuzz: any bytes as the snapshot of a service. It is refused with a sentence, or restored; then
// its own snapshot restores to the same again, and a sequencer can go on from it.
//
// The mutator begins from services that have lived a little and changes one section at a time. The
// engine's section has a target of its own, `snapshot`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "core/state/state.h"
#include "tests/fuzz/service_steps.h"
#include "tests/fuzz/snapshot_mutator.h"

namespace berth::fuzz {
namespace {

using journal::ByteView;

constexpr std::uint32_t kSections = 5;

std::vector<std::byte> random_start(std::uint64_t seed) {
  Random random(seed);
  ServiceWorld world;
  for (std::uint64_t left = random.below(20); left > 0; --left)
    live(world, usual_step(random));
  return world.snapshot();
}

// A sequencer begins its epoch and the agent comes back. Not years later: what runs is charged by
// the minute.
void go_on(service::Replayer& replayer) {
  const Time now = replayer.position().now;
  if (now - replayer.position().engine.state().now > minutes(60)) return;
  service::Sequencer sequencer({}, replayer.take_position());
  sequencer.begin_epoch({"", 0, now, {}}, "fuzz");
  service::testing::QuickAgent agent(
      [&](v1::AgentMessage&& message) { sequencer.take(1, std::move(message), now); });
  agent.hello(2, 40'000);
  const auto broken = sequencer.engine().check_invariants();
  check(broken.empty(), "invariants hold: " + (broken.empty() ? "" : broken[0]));
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
  google::protobuf::SetLogHandler(nullptr);
  constexpr auto kRemember = berth::minutes(24 * 60);
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  berth::service::Replayer replayer(kRemember);
  const berth::Status restored = replayer.restore(bytes);
  if (!restored) {
    check(!restored.error().message.empty(), "a refusal says why");
    return 0;
  }
  const auto first = replayer.snapshot();
  berth::service::Replayer again(kRemember);
  const berth::Status twice = again.restore(first);
  check(twice.ok(), "what was restored can be restored: " + (twice ? "" : twice.error().message));
  check(again.snapshot() == first, "what was restored is restored to the same");
  go_on(replayer);
  return 0;
}
