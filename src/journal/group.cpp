// Building, checking, finding and walking groups.
#include "journal/group.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "journal/codec.h"
#include "journal/crc32c.h"

namespace berth::journal {
namespace {

constexpr std::size_t kPayloadCrcAt = 48;
constexpr std::size_t kGroupCrcAt = 52;
constexpr std::uint8_t kNoteTag = 0;

struct RawHeader {
  std::uint32_t magic = 0;
  GroupHeader header;
  std::uint32_t payload_crc = 0;
  std::uint32_t header_crc = 0;
};

RawHeader read_header(ByteView bytes) {
  Reader in(bytes.first(kGroupHeaderSize));
  RawHeader raw;
  GroupHeader& h = raw.header;
  raw.magic = in.u32();
  h.format = in.u32();
  h.payload_size = in.u32();
  h.events = in.u32();
  h.actions = in.u32();
  h.seq = in.u64();
  h.epoch = in.u64();
  h.hash = in.u64();
  h.behaviour = in.u32();
  raw.payload_crc = in.u32();
  raw.header_crc = in.u32();
  ASSERT(in.ok() && in.at_end());
  return raw;
}

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

ParsedGroup failure(GroupStatus status, const char* reason) {
  ParsedGroup parsed;
  parsed.status = status;
  parsed.reason = reason;
  return parsed;
}

}  // namespace

GroupBuilder::GroupBuilder(RunningHash& hash) : hash_(hash) { open(); }

void GroupBuilder::open() {
  out_.clear();
  std::memset(out_.claim(kGroupHeaderSize), 0, kGroupHeaderSize);
  events_ = 0;
  actions_ = 0;
}

void GroupBuilder::add_event(const core::Event& event) {
  encode_event(out_, event);
  ++events_;
}

void GroupBuilder::add_action(const core::Action& action) {
  const std::size_t start = out_.size();
  encode_action(out_, action);
  hash_.add_bytes(out_.view_from(start));
  ++actions_;
}

std::size_t GroupBuilder::add_note(ByteView bytes) {
  ASSERT(bytes.size() <= std::numeric_limits<std::uint32_t>::max());
  out_.u8(kNoteTag);
  out_.u32(static_cast<std::uint32_t>(bytes.size()));
  const std::size_t at = out_.size();
  out_.bytes(bytes);
  return at;
}

Writer GroupBuilder::seal(const Stamp& stamp, Writer reuse) {
  const ByteView payload = out_.view_from(kGroupHeaderSize);
  ASSERT(payload.size() <= std::numeric_limits<std::uint32_t>::max());
  out_.put_at(0, kGroupMagic);
  out_.put_at(4, kFormat);
  out_.put_at(8, static_cast<std::uint32_t>(payload.size()));
  out_.put_at(12, events_);
  out_.put_at(16, actions_);
  out_.put_at(20, stamp.seq);
  out_.put_at(28, stamp.epoch);
  out_.put_at(36, hash_.value());
  out_.put_at(44, stamp.behaviour);
  out_.put_at(kPayloadCrcAt, crc32c(payload));
  out_.put_at(kGroupCrcAt, crc32c(out_.view().first(kGroupCrcAt)));
  Writer sealed = std::exchange(out_, std::move(reuse));
  open();
  return sealed;
}

ParsedGroup parse_group(ByteView bytes) {
  if (bytes.size() < kGroupHeaderSize) {
    return all_zero(bytes) ? failure(GroupStatus::blank, "no group here")
                           : failure(GroupStatus::torn, "ends inside the header");
  }
  const ByteView head = bytes.first(kGroupHeaderSize);
  if (all_zero(head)) return failure(GroupStatus::blank, "no group here");
  const RawHeader raw = read_header(head);
  if (raw.magic != kGroupMagic) return failure(GroupStatus::damaged, "no group begins here");
  if (raw.header_crc != crc32c(head.first(kGroupCrcAt))) {
    return failure(GroupStatus::damaged, "the header does not match its checksum");
  }
  const std::size_t size = raw.header.payload_size;
  if (bytes.size() - kGroupHeaderSize < size) {
    return failure(GroupStatus::torn, "ends inside the payload");
  }
  const ByteView payload = bytes.subspan(kGroupHeaderSize, size);
  if (raw.payload_crc != crc32c(payload)) {
    return failure(GroupStatus::damaged, "the payload does not match its checksum");
  }
  ParsedGroup parsed;
  parsed.group = {raw.header, payload};
  if (raw.header.format >= kOldestFormat && raw.header.format <= kFormat) {
    parsed.status = GroupStatus::intact;
  } else {
    parsed.status = GroupStatus::unknown_format;
    parsed.reason = "written in a format this build does not read";
  }
  return parsed;
}

std::optional<std::size_t> find_group(ByteView bytes, std::size_t from, std::uint64_t seq) {
  std::array<std::byte, sizeof kGroupMagic> magic{};
  store_le(magic.data(), kGroupMagic);
  while (from < bytes.size()) {
    const ByteView rest = bytes.subspan(from);
    const auto hit = std::search(rest.begin(), rest.end(), magic.begin(), magic.end());
    if (hit == rest.end()) return std::nullopt;
    from += static_cast<std::size_t>(hit - rest.begin());
    const ParsedGroup parsed = parse_group(bytes.subspan(from));
    const bool whole =
        parsed.status == GroupStatus::intact || parsed.status == GroupStatus::unknown_format;
    if (whole && parsed.group.header.seq >= seq) return from;
    ++from;
  }
  return std::nullopt;
}

GroupCursor::GroupCursor(const Group& group)
    : header_(group.header), in_(group.payload, group.header.format) {}

bool GroupCursor::next() {
  if (!in_.ok()) return false;
  if (in_.at_end()) {
    check_end();
    return false;
  }
  const std::size_t start = in_.offset();
  Reader peek = in_;
  const std::uint8_t tag = peek.u8();
  if (tag == kNoteTag) {
    kind_ = Kind::note;
    in_.u8();
    note_ = in_.bytes(in_.u32());
  } else if (is_action_tag(tag)) {
    kind_ = Kind::action;
    ++actions_;
    (void)decode_action(in_, action_);
  } else {
    kind_ = Kind::event;
    ++events_;
    (void)decode_event(in_, event_);
  }
  encoded_ = in_.since(start);
  return in_.ok();
}

std::size_t GroupCursor::note_offset() const {
  return kGroupHeaderSize + in_.offset() - note_.size();
}

void GroupCursor::check_end() {
  if (events_ != header_.events) in_.fail("as many events as the header says");
  if (actions_ != header_.actions) in_.fail("as many actions as the header says");
}

}  // namespace berth::journal
