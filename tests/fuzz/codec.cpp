// Fuzz: any bytes as an event, an action, a stream of both and a group. Nothing crashes; whatever
// decodes encodes to the very bytes it came from, and a refusal says where and why.
//
// Messages are hard to hit by chance, so the mutator begins from random ones of every type; a
// group's checksums are set right before it is looked at a second time.
#include "journal/codec.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "journal/crc32c.h"
#include "journal/group.h"
#include "journal/testing/random_values.h"
#include "tests/fuzz/byte_mutator.h"
#include "tests/fuzz/check.h"

namespace berth::fuzz {
namespace {

using journal::ByteView;
using journal::DecodeError;
using journal::Reader;

bool equal(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void check_error(const DecodeError& error, std::size_t size) {
  check(error.offset <= size, "an error lies within the bytes");
  check(*error.expected != '\0', "an error says what was expected");
}

template <class Message>
void check_one(ByteView bytes, std::optional<Message> (*decode)(ByteView, DecodeError*)) {
  DecodeError error;
  const auto message = decode(bytes, &error);
  if (message) {
    check(equal(journal::testing::encoded(*message), bytes), "a message has one encoding");
  } else {
    check_error(error, bytes.size());
  }
}

// Messages one after another, until one is refused.
void check_stream(ByteView bytes) {
  Reader in(bytes);
  while (in.ok() && !in.at_end()) {
    const std::size_t start = in.offset();
    journal::Writer again;
    if (journal::is_action_tag(Reader(in).u8())) {
      core::Action action;
      if (!decode_action(in, action)) break;
      encode_action(again, action);
    } else {
      core::Event event;
      if (!decode_event(in, event)) break;
      encode_event(again, event);
    }
    check(equal(again.view(), in.since(start)), "a message of a stream has one encoding");
  }
  if (!in.ok()) check_error(in.error(), bytes.size());
}

// An intact group whose messages are all good is what a builder makes of them, except for its hash.
void check_group(ByteView bytes) {
  const journal::ParsedGroup parsed = journal::parse_group(bytes);
  if (parsed.status != journal::GroupStatus::intact) {
    check(*parsed.reason != '\0', "a group that is not intact says why");
    return;
  }
  const journal::GroupHeader& header = parsed.group.header;
  journal::RunningHash hash;
  journal::GroupBuilder builder(hash);
  journal::GroupCursor at(parsed.group);
  while (at.next()) {
    switch (at.kind()) {
      case journal::GroupCursor::Kind::event:
        builder.add_event(at.event());
        break;
      case journal::GroupCursor::Kind::action:
        builder.add_action(at.action());
        break;
      case journal::GroupCursor::Kind::note:
        builder.add_note(at.note());
        break;
    }
  }
  if (!at.ok()) return check_error(at.error(), parsed.group.payload.size());
  const journal::Writer sealed = builder.seal({header.seq, header.epoch, header.behaviour});
  journal::ParsedGroup again = journal::parse_group(sealed.view());
  check(again.status == journal::GroupStatus::intact, "a sealed group is intact");
  again.group.header.hash = header.hash;
  check(again.group.header == header, "a group's header follows from its messages");
  check(equal(again.group.payload, parsed.group.payload), "a group has one encoding");
}

void check_find(ByteView bytes) {
  constexpr std::uint64_t kSeq = 3;
  const auto found = journal::find_group(bytes, 1, kSeq);
  if (!found) return;
  const journal::ParsedGroup parsed = journal::parse_group(bytes.subspan(*found));
  check(*found >= 1 && parsed.group.header.seq >= kSeq, "a group that was asked for is found");
}

// The bytes as a group whose magic, format, length and checksums are right.
std::vector<std::byte> as_group(ByteView bytes) {
  std::vector<std::byte> group(bytes.begin(), bytes.end());
  group.resize(std::max(group.size(), journal::kGroupHeaderSize));
  const ByteView payload = ByteView(group).subspan(journal::kGroupHeaderSize);
  journal::store_le(group.data(), journal::kGroupMagic);
  journal::store_le(group.data() + 4, journal::kFormat);
  journal::store_le(group.data() + 8, static_cast<std::uint32_t>(payload.size()));
  journal::store_le(group.data() + 48, journal::crc32c(payload));
  journal::store_le(group.data() + 52, journal::crc32c(ByteView(group).first(52)));
  return group;
}

// One message, or a group of a few.
std::vector<std::byte> random_start(std::uint64_t seed) {
  journal::testing::Random random(seed);
  if (random.below(3) == 0)
    return journal::testing::encoded(journal::testing::random_event(random));
  if (random.below(2) == 0) {
    return journal::testing::encoded(journal::testing::random_action(random));
  }
  journal::RunningHash hash;
  journal::GroupBuilder builder(hash);
  for (std::uint64_t left = random.below(4); left > 0; --left) {
    builder.add_event(journal::testing::random_event(random));
    builder.add_action(journal::testing::random_action(random));
  }
  return journal::testing::copy_of(builder.seal({.seq = random.below(9)}).view());
}

}  // namespace
}  // namespace berth::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return berth::fuzz::mutate_bytes(data, size, max_size, seed, 2, berth::fuzz::random_start);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::fuzz;
  berth::set_assert_handler(print_assert);
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  check_one<berth::core::Event>(bytes, berth::journal::decode_event);
  check_one<berth::core::Action>(bytes, berth::journal::decode_action);
  check_stream(bytes);
  check_group(bytes);
  check_group(as_group(bytes));
  check_find(bytes);
  return 0;
}
