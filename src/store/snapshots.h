// Snapshots on disk: snapshots/<seq>.bsnap, each written whole or not at all.
//
// What is in them is opaque; the container of journal/snapshot.h checks every byte. A damaged one
// is named, and recovery goes on with the one before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/wire.h"

namespace berth::store {

struct SnapshotFile {
  std::uint64_t seq = 0;  // of the first event that is not in it
  // Events and actions that led to it, counted together. None: its header is damaged.
  std::optional<std::uint64_t> messages;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
};

// The section that holds the identity of the data folder, as a u64. Beside those of the writer.
inline constexpr std::uint32_t kIdentitySection = 64;
// 0: it has none, or is damaged.
std::uint64_t identity_in_snapshot(journal::ByteView bytes);

// Durable when ok. REQUIRES that the journal is durable up to `seq`.
Status write_snapshot(const std::filesystem::path& folder, std::uint64_t seq,
                      journal::ByteView bytes);

// The newest first. A folder that is not there holds none.
Result<std::vector<SnapshotFile>> list_snapshots(const std::filesystem::path& folder);

// The bytes, checked. The error says which file is damaged and how.
Result<std::vector<std::byte>> read_snapshot(const std::filesystem::path& path);

struct NewestSnapshot {
  std::optional<SnapshotFile> file;  // none: there is no whole snapshot
  std::vector<std::byte> bytes;
  std::vector<std::string> damaged;  // a sentence for each newer one that could not be used
};
Result<NewestSnapshot> read_newest_snapshot(const std::filesystem::path& folder);

// Keeps the newest `keep`, at least one, and `also` if it is given; removes the others, and what an
// interrupted write left.
Status remove_old_snapshots(const std::filesystem::path& folder, std::size_t keep = 2,
                            std::optional<std::uint64_t> also = std::nullopt);

}  // namespace berth::store
