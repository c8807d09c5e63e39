// State snapshot: a whole engine as bytes, and back. No I/O, no exceptions for bad data.
//
// The bytes say only what cannot be derived (state_records.h), in the container of snapshot.h. They
// are canonical: equal engines give equal bytes, whatever slots and free lists their histories left
// behind, and a restored engine gives the bytes it came from. It also decides as the original does,
// event by event.
//
// Restoring trusts nothing: checksums find accidents, every range and reference is checked before
// it is used, and at the end the engine's invariants are, so hostile bytes give an error and never
// a crash or a state that no history leads to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine.h"
#include "journal/snapshot.h"
#include "journal/wire.h"

namespace berth::journal {

// Between two steps. Of `info` the caller gives seq, epoch and the running hash; the version and
// the behaviour are filled in here.
std::vector<std::byte> encode_snapshot(const core::Engine& engine, SnapshotInfo info = {});

// Of a snapshot of this version: the format of its records, as those of journals (codec.h).
constexpr std::uint32_t format_of_snapshot(std::uint32_t version) { return version - 1; }

struct RestoredSnapshot {
  SnapshotInfo info;
  core::Engine engine;
};

struct SnapshotError {
  const char* section = "";   // "" : the container itself
  std::size_t offset = 0;     // in the section, or in the snapshot
  const char* expected = "";  // what would have been accepted there
};
std::string to_string(const SnapshotError& error);

// Nullopt: `error` says where and what. A snapshot of another behaviour restores as well: what was
// decided stays, what follows is decided anew.
std::optional<RestoredSnapshot> decode_snapshot(ByteView bytes, SnapshotError* error = nullptr);

}  // namespace berth::journal
