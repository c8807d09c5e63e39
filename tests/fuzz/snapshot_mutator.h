// A mutator for snapshots. Checksums would stop almost every change, so it works inside: it takes a
// snapshot apart, changes one section and seals it again. Knows nothing of what sections hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "journal/snapshot.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace berth::fuzz {

// One of the sections 1 to `sections` changed, all checksums right.
inline std::vector<std::byte> with_one_section_changed(const journal::SnapshotReader& snapshot,
                                                       std::uint32_t sections, std::size_t room,
                                                       std::uint64_t seed) {
  const auto chosen = static_cast<std::uint32_t>(1 + seed % sections);
  journal::SnapshotWriter writer(snapshot.info());
  for (std::uint32_t id = 1; id <= sections; ++id) {
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

// Mostly a section, now and then the bytes as they are, or anew from `random_start(seed)`.
template <class RandomStart>
std::size_t mutate_snapshot(std::uint8_t* data, std::size_t size, std::size_t max_size,
                            unsigned seed, std::uint32_t sections, RandomStart&& random_start) {
  constexpr unsigned kAnewOneIn = 256;
  constexpr unsigned kPlainOneIn = 16;
  const journal::ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto snapshot = journal::SnapshotReader::open(bytes);
  if (snapshot && seed % kPlainOneIn == 1) return LLVMFuzzerMutate(data, size, max_size);
  const auto changed =
      snapshot && seed % kAnewOneIn != 0
          ? with_one_section_changed(*snapshot, sections, max_size - size, seed / kAnewOneIn)
          : random_start(seed);
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace berth::fuzz
