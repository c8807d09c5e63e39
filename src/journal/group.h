// Group: what the journal appends and syncs as one. The bytes only; files belong to the store.
//
//   offset  0  u32  magic "BGRP"            28  u64  epoch
//           4  u32  format (kFormat)        36  u64  running hash after the group
//           8  u32  bytes of payload        44  u32  behaviour of the core that decided
//          12  u32  events                  48  u32  CRC32C of the payload
//          16  u32  actions                 52  u32  CRC32C of the 52 bytes before
//          20  u64  seq of the first event  56  payload: events and actions as they took effect
//
// The actions that an event led to follow it; those of timers that were due before it precede it,
// so that recovery applies message after message. Between them stand notes: bytes that the service
// adds (names, payloads, results), opaque here, not counted and not hashed: a zero byte, u32 size,
// the bytes. Events are numbered through the whole journal:
// the next group begins at seq + events. The header has a checksum of its own, so a length is
// believed only when it is intact, and "too short" is told from "damaged". Magic, format, length
// and both checksums stay in their places in any format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/action.h"
#include "core/event.h"
#include "journal/running_hash.h"
#include "journal/wire.h"

namespace berth::journal {

inline constexpr std::size_t kGroupHeaderSize = 56;
inline constexpr std::uint32_t kGroupMagic = 0x50524742;  // "BGRP"

struct GroupHeader {
  std::uint32_t format = 0;
  std::uint32_t payload_size = 0;
  std::uint32_t events = 0;
  std::uint32_t actions = 0;
  std::uint64_t seq = 0;
  std::uint64_t epoch = 0;
  std::uint64_t hash = 0;
  std::uint32_t behaviour = 0;
  bool operator==(const GroupHeader&) const = default;
};

// Encodes events and actions as they come, each once, and hashes the actions on the way.
class GroupBuilder {
 public:
  struct Stamp {
    std::uint64_t seq = 0;  // of the first event
    std::uint64_t epoch = 0;
    std::uint32_t behaviour = 0;
  };

  // `hash` goes on from group to group and must outlive the builder.
  explicit GroupBuilder(RunningHash& hash);

  void add_event(const core::Event& event);
  void add_action(const core::Action& action);

  // Returns where in the sealed group the note's bytes begin.
  std::size_t add_note(ByteView bytes);

  bool empty() const { return out_.size() == kGroupHeaderSize; }
  std::uint32_t events() const { return events_; }
  std::size_t size() const { return out_.size(); }  // bytes so far, header included

  // Completes the group and hands it over. The builder is empty again and goes on in the memory of
  // `reuse`, usually a group that has been synced. REQUIRES a payload below 4 GiB.
  Writer seal(const Stamp& stamp, Writer reuse = {});

 private:
  void open();

  RunningHash& hash_;
  Writer out_;
  std::uint32_t events_ = 0;
  std::uint32_t actions_ = 0;
};

enum class GroupStatus : std::uint8_t {
  intact,
  blank,           // the header's place holds only zeros: nothing was written here
  torn,            // the bytes end before the group does
  unknown_format,  // intact, but written in a format this build does not read
  damaged,
};

struct Group {
  GroupHeader header;
  ByteView payload;
  std::size_t size() const { return kGroupHeaderSize + payload.size(); }
};

struct ParsedGroup {
  GroupStatus status = GroupStatus::damaged;
  Group group;              // all of it when intact; header.format when unknown_format
  const char* reason = "";  // a few words, when not intact
};

// Looks at the group that begins where `bytes` do; more may follow it. Checks the checksums, not
// the messages: GroupCursor does.
ParsedGroup parse_group(ByteView bytes);

// The first place at or after `from` where an undamaged group with seq >= `seq` begins. What stands
// before it is then damage in the middle, not a torn tail. The bound on seq passes over leftovers
// of an earlier use of the file.
std::optional<std::size_t> find_group(ByteView bytes, std::size_t from, std::uint64_t seq);

// Walks the messages of an intact group, in order:
//
//   GroupCursor at(group);
//   while (at.next()) {
//     switch (at.kind()) { case event: apply(at.event()); … }
//   }
//   if (!at.ok()) refuse(at.error());
//
// The loop ends early at the first message that is not one, and is not ok() unless the numbers of
// events and actions are those of the header.
class GroupCursor {
 public:
  enum class Kind : std::uint8_t { event, action, note };

  explicit GroupCursor(const Group& group);  // `group`'s bytes must outlive the cursor

  bool next();
  Kind kind() const { return kind_; }
  const core::Event& event() const { return event_; }
  const core::Action& action() const { return action_; }
  ByteView note() const { return note_; }
  std::size_t note_offset() const;               // in the group, as add_note returned it
  ByteView encoded() const { return encoded_; }  // of the current message, for RunningHash

  bool ok() const { return in_.ok(); }
  const DecodeError& error() const { return in_.error(); }  // offset in the payload

 private:
  void check_end();

  GroupHeader header_;
  Reader in_;
  ByteView encoded_;
  ByteView note_;
  Kind kind_ = Kind::event;
  core::Event event_;
  core::Action action_;
  std::uint32_t events_ = 0;
  std::uint32_t actions_ = 0;
};

}  // namespace berth::journal
