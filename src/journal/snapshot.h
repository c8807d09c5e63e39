// Snapshot container: named sections of bytes with checksums. Knows nothing of what is in them.
//
//   header   magic "BSNP", version, behaviour, sections, seq, epoch, hash, count, table offset,
//            CRC32C of the table, CRC32C of the header
//   sections their bytes, one after another
//   table    for each section: id, CRC32C, offset, size
//
// Sections and table together cover every byte after the header, each exactly once, and the bytes
// end with the table: no byte is unchecked, and a snapshot cut or lengthened anywhere is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "journal/running_hash.h"
#include "journal/wire.h"

namespace berth::journal {

inline constexpr std::uint32_t kSnapshotMagic = 0x504e5342;  // "BSNP"
inline constexpr std::size_t kSnapshotHeaderSize = 64;

struct SnapshotInfo {
  std::uint32_t version = 0;  // of what the sections hold; its writer defines it
  std::uint32_t behaviour = 0;
  std::uint64_t seq = 0;  // of the first event that is not in it
  std::uint64_t epoch = 0;
  RunningHash::State hash;
  bool operator==(const SnapshotInfo&) const = default;
};

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const SnapshotInfo& info);

  // Appends a section. REQUIRES an id not used before.
  void section(std::uint32_t id, ByteView bytes);

  // The same without a copy: the section is what the caller appends to the returned Writer until
  // the next section begins or finish() is called.
  Writer& begin_section(std::uint32_t id);

  // Completes the snapshot and hands it over. The writer is spent.
  Writer finish();

 private:
  struct Entry {
    std::uint32_t id = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  void end_section();

  SnapshotInfo info_;
  Writer out_;
  std::vector<Entry> table_;
  bool open_ = false;
};

// What the header says. Nullopt: these bytes do not begin with a whole one.
std::optional<SnapshotInfo> read_snapshot_info(ByteView bytes);

class SnapshotReader {
 public:
  // Checks everything at once. Nullopt: `error` says where and what. `bytes` must outlive it.
  static std::optional<SnapshotReader> open(ByteView bytes, DecodeError* error = nullptr);

  const SnapshotInfo& info() const { return info_; }

  // Nullopt: no such section.
  std::optional<ByteView> section(std::uint32_t id) const;

 private:
  struct Entry {
    std::uint32_t id = 0;
    ByteView bytes;
  };
  void read(Reader& in, ByteView bytes);
  void read_table(Reader& in, ByteView bytes, std::uint32_t sections, std::size_t table_at);

  SnapshotInfo info_;
  std::vector<Entry> table_;
};

}  // namespace berth::journal
