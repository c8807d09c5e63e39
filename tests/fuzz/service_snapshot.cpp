// Fuzz: any bytes as the snapshot of a service. It is refused with a sentence, or restored; then
// its own snapshot restores to the same again, and a sequencer can go on from it.
//
// Checksums would stop almost every change, so the mutator works inside: it takes a snapshot apart,
// changes one section and seals it again. It begins from services that have lived a little. The
// engine's section has a target of its own, `snapshot`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "core/state/state.h"
#include "tests/fuzz/service_steps.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

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

// One section changed, all checksums right.
std::vector<std::byte> mutated(const journal::SnapshotReader& snapshot, std::size_t room,
                               std::uint64_t seed) {
  const auto chosen = static_cast<std::uint32_t>(1 + seed % kSections);
  journal::SnapshotWriter writer(snapshot.info());
  for (std::uint32_t id = 1; id <= kSections; ++id) {
    const auto content = snapshot.section(id);
    if (!content) continue;
    std::vector<std::byte> bytes(content->begin(), content->end());
    if (id == chosen) {
      const std::size_t size = bytes.size();
      bytes.resize(size + room);
      bytes.resize(
          LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
    }
    writer.section(id, bytes);
  }
  const journal::Writer sealed = writer.finish();
  return {sealed.view().begin(), sealed.view().end()};
}

// A sequencer begins its epoch and the agent comes back. Not years later: what runs is charged by
// the minute.
void go_on(service::Replayer& replayer) {
  const Time now = replayer.position().now;
  if (now - replayer.position().engine.state().now > minutes(60)) return;
  service::Sequencer sequencer({}, replayer.take_position());
  sequencer.begin_epoch(now, 0, "fuzz");
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
  constexpr unsigned kAnewOneIn = 256;
  constexpr unsigned kPlainOneIn = 16;
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto snapshot = berth::journal::SnapshotReader::open(bytes);
  if (snapshot && seed % kPlainOneIn == 1) return LLVMFuzzerMutate(data, size, max_size);
  const auto changed = snapshot && seed % kAnewOneIn != 0
                           ? mutated(*snapshot, max_size - size, seed / kAnewOneIn)
                           : random_start(seed);
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
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
