// Codec: events and actions as canonical bytes, and back. No I/O, no exceptions for bad data.
//
//   event  = tag (1..127), i64 now, the fields of its body
//   action = tag (128..255), the fields
//
// Both kinds can share a stream: the tag tells them apart, and a zero byte starts neither (group.h
// uses it). What a
// field looks like is said in encoding.h; which tags and fields there are, in fields.h. The version
// stands in the header of the group or snapshot that holds the messages, not in each of them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/action.h"
#include "core/event.h"
#include "journal/wire.h"

namespace berth::journal {

// Goes up when the bytes of a message change. Groups of formats from kOldestFormat on are read.
inline constexpr std::uint32_t kFormat = 3;
inline constexpr std::uint32_t kOldestFormat = 1;

constexpr bool is_action_tag(std::uint8_t tag) { return tag >= 128; }

void encode_event(Writer& out, const core::Event& event);
void encode_action(Writer& out, const core::Action& action);

// One message where `in` stands, others may follow. False: in.error() says where and why.
[[nodiscard]] bool decode_event(Reader& in, core::Event& event);
[[nodiscard]] bool decode_action(Reader& in, core::Action& action);

// All of `bytes` is one message; anything after it is an error.
std::optional<core::Event> decode_event(ByteView bytes, DecodeError* error = nullptr);
std::optional<core::Action> decode_action(ByteView bytes, DecodeError* error = nullptr);

}  // namespace berth::journal
