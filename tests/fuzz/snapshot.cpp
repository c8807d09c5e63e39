// Fuzz: any bytes as a snapshot. Refused with an error, or restored to an engine whose invariants
// hold and whose snapshot is the same bytes. Never a crash.
//
// Checksums would stop almost every change, so the mutator works inside: it takes a snapshot apart,
// changes one section and seals it again. It begins from engines that have lived a little.
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

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace berth::fuzz {
namespace {

using journal::ByteView;

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

// One section changed, all checksums right.
std::vector<std::byte> mutated(const journal::SnapshotReader& snapshot, std::size_t room,
                               std::uint64_t seed) {
  constexpr auto kSections = static_cast<std::uint32_t>(journal::StateSection::leases);
  const auto chosen = static_cast<std::uint32_t>(1 + seed % kSections);
  journal::SnapshotWriter writer(snapshot.info());
  for (std::uint32_t id = 1; id <= kSections; ++id) {
    const auto content = snapshot.section(id);
    if (!content) continue;
    std::vector<std::byte> bytes = journal::testing::copy_of(*content);
    if (id == chosen) {
      const std::size_t size = bytes.size();
      bytes.resize(size + room);
      bytes.resize(
          LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
    }
    writer.section(id, bytes);
  }
  return journal::testing::copy_of(writer.finish().view());
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
