// The container's layout, written once and checked in full when opened.
#include "journal/snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "journal/crc32c.h"

namespace berth::journal {
namespace {

constexpr std::size_t kTableCrcAt = 56;
constexpr std::size_t kSnapshotCrcAt = 60;
constexpr std::size_t kEntrySize = 24;

struct Header {
  SnapshotInfo info;
  std::uint32_t sections = 0;
  std::uint64_t table_at = 0;
  std::uint32_t table_crc = 0;
};

// Nothing of it is of use before `in` is found ok.
Header read_header(Reader& in, ByteView bytes) {
  Header header;
  if (in.u32() != kSnapshotMagic) in.fail_at(0, "a snapshot");
  header.info.version = in.u32();
  header.info.behaviour = in.u32();
  header.sections = in.u32();
  header.info.seq = in.u64();
  header.info.epoch = in.u64();
  header.info.hash.hash = in.u64();
  header.info.hash.count = in.u64();
  header.table_at = in.u64();
  header.table_crc = in.u32();
  const std::uint32_t crc = in.u32();
  if (in.ok() && crc != crc32c(bytes.first(kSnapshotCrcAt))) {
    in.fail_at(kSnapshotCrcAt, "the checksum of the header");
  }
  return header;
}

}  // namespace

std::optional<SnapshotInfo> read_snapshot_info(ByteView bytes) {
  Reader in(bytes);
  const Header header = read_header(in, bytes);
  if (!in.ok()) return std::nullopt;
  return header.info;
}

SnapshotWriter::SnapshotWriter(const SnapshotInfo& info) : info_(info) {
  std::memset(out_.claim(kSnapshotHeaderSize), 0, kSnapshotHeaderSize);
}

Writer& SnapshotWriter::begin_section(std::uint32_t id) {
  end_section();
  ASSERT(std::none_of(table_.begin(), table_.end(), [&](const Entry& e) { return e.id == id; }));
  table_.push_back({.id = id, .offset = out_.size()});
  open_ = true;
  return out_;
}

void SnapshotWriter::end_section() {
  if (!std::exchange(open_, false)) return;
  table_.back().size = out_.size() - table_.back().offset;
}

void SnapshotWriter::section(std::uint32_t id, ByteView bytes) {
  begin_section(id).bytes(bytes);
  end_section();
}

Writer SnapshotWriter::finish() {
  end_section();
  const std::size_t table_at = out_.size();
  for (const Entry& entry : table_) {
    const std::uint32_t crc = crc32c(out_.view().subspan(entry.offset, entry.size));
    out_.u32(entry.id);
    out_.u32(crc);
    out_.u64(entry.offset);
    out_.u64(entry.size);
  }
  out_.put_at(0, kSnapshotMagic);
  out_.put_at(4, info_.version);
  out_.put_at(8, info_.behaviour);
  out_.put_at(12, static_cast<std::uint32_t>(table_.size()));
  out_.put_at(16, info_.seq);
  out_.put_at(24, info_.epoch);
  out_.put_at(32, info_.hash.hash);
  out_.put_at(40, info_.hash.count);
  out_.put_at(48, static_cast<std::uint64_t>(table_at));
  out_.put_at(kTableCrcAt, crc32c(out_.view_from(table_at)));
  out_.put_at(kSnapshotCrcAt, crc32c(out_.view().first(kSnapshotCrcAt)));
  return std::move(out_);
}

std::optional<SnapshotReader> SnapshotReader::open(ByteView bytes, DecodeError* error) {
  SnapshotReader snapshot;
  Reader in(bytes);
  snapshot.read(in, bytes);
  if (in.ok()) return snapshot;
  if (error != nullptr) *error = in.error();
  return std::nullopt;
}

void SnapshotReader::read(Reader& in, ByteView bytes) {
  const Header header = read_header(in, bytes);
  if (!in.ok()) return;
  // Nothing of the table is used before its checksum.
  const std::uint64_t table_at = header.table_at;
  if (table_at < kSnapshotHeaderSize || table_at > bytes.size() ||
      (bytes.size() - table_at) / kEntrySize != header.sections ||
      (bytes.size() - table_at) % kEntrySize != 0) {
    return in.fail_at(bytes.size(), "the end of the snapshot where its header says");
  }
  if (header.table_crc != crc32c(bytes.subspan(table_at))) {
    return in.fail_at(kTableCrcAt, "the checksum of the table");
  }
  info_ = header.info;
  read_table(in, bytes, header.sections, table_at);
}

void SnapshotReader::read_table(Reader& in, ByteView bytes, std::uint32_t sections,
                                std::size_t table_at) {
  in.bytes(table_at - kSnapshotHeaderSize);
  std::size_t next = kSnapshotHeaderSize;
  for (std::uint32_t i = 0; i < sections; ++i) {
    const std::size_t entry_at = in.offset();
    const std::uint32_t id = in.u32();
    const std::uint32_t crc = in.u32();
    const std::uint64_t offset = in.u64();
    const std::uint64_t size = in.u64();
    if (!in.ok()) return;
    if (offset != next || size > table_at - next) {
      return in.fail_at(entry_at, "sections that follow one another up to the table");
    }
    if (section(id)) return in.fail_at(entry_at, "a section named once");
    const ByteView content = bytes.subspan(offset, size);
    if (crc != crc32c(content)) return in.fail_at(offset, "a section that fits its checksum");
    table_.push_back({id, content});
    next += size;
  }
  if (next != table_at) in.fail_at(next, "the table right after the last section");
}

std::optional<ByteView> SnapshotReader::section(std::uint32_t id) const {
  for (const Entry& entry : table_) {
    if (entry.id == id) return entry.bytes;
  }
  return std::nullopt;
}

}  // namespace berth::journal
