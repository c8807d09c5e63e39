// Groups: built and walked, cut anywhere, any bit flipped, found behind damage, hostile payloads.
#include "journal/group.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "journal/codec.h"
#include "journal/crc32c.h"
#include "journal/testing/random_values.h"

namespace berth::journal::group_test {
namespace {

using testing::copy_of;
using testing::for_each_flip;
using testing::packed;
using testing::prefix_of;
using testing::Random;
using testing::random_action;
using testing::random_event;
using testing::to_hex;

struct Turn {
  core::Event event;
  std::vector<core::Action> actions;
  bool operator==(const Turn&) const = default;
};

std::vector<Turn> random_history(std::uint64_t seed, std::size_t turns) {
  Random random(seed);
  std::vector<Turn> history(turns);
  for (Turn& turn : history) {
    turn.event = random_event(random);
    turn.actions.resize(random.below(4));
    for (core::Action& action : turn.actions) {
      action = random_action(random);
    }
  }
  return history;
}

void add(GroupBuilder& builder, const Turn& turn) {
  builder.add_event(turn.event);
  for (const core::Action& action : turn.actions) {
    builder.add_action(action);
  }
}

std::vector<std::byte> group_of(const std::vector<Turn>& history, std::uint64_t seq = 7) {
  RunningHash hash;
  GroupBuilder builder(hash);
  for (const Turn& turn : history) {
    add(builder, turn);
  }
  return copy_of(builder.seal({.seq = seq, .epoch = 2, .behaviour = 3}).view());
}

// Reads a group as recovery would: event, then its actions; hash over the bytes as they stand.
std::vector<Turn> history_of(const Group& group, RunningHash& hash) {
  std::vector<Turn> history;
  GroupCursor at(group);
  while (at.next()) {
    if (at.kind() == GroupCursor::Kind::event) {
      history.push_back({at.event(), {}});
    } else {
      history.back().actions.push_back(at.action());
      hash.add_bytes(at.encoded());
    }
  }
  EXPECT_TRUE(at.ok()) << at.error().expected;
  return history;
}

// Makes the checksums right again after a test has written into a group.
void repair_checksums(std::vector<std::byte>& bytes) {
  store_le(bytes.data() + 48, crc32c(ByteView(bytes).subspan(kGroupHeaderSize)));
  store_le(bytes.data() + 52, crc32c(ByteView(bytes).first(52)));
}

TEST(Group, ComesBackWithItsHeaderEventsAndActions) {
  const auto history = random_history(1, 50);
  const auto bytes = group_of(history);
  const ParsedGroup parsed = parse_group(bytes);
  ASSERT_EQ(parsed.status, GroupStatus::intact) << parsed.reason;
  const GroupHeader& header = parsed.group.header;
  EXPECT_EQ(header.format, kFormat);
  EXPECT_EQ(header.events, 50U);
  EXPECT_EQ(header.seq, 7U);
  EXPECT_EQ(header.epoch, 2U);
  EXPECT_EQ(header.behaviour, 3U);
  EXPECT_EQ(parsed.group.size(), bytes.size());
  RunningHash hash;
  EXPECT_EQ(history_of(parsed.group, hash), history);
  EXPECT_EQ(hash.value(), header.hash);
  EXPECT_EQ(hash.count(), header.actions);
}

TEST(Group, FixedBytes) {
  RunningHash hash;
  GroupBuilder builder(hash);
  builder.add_event({Time{1}, core::Cancel{TaskNo{2}}});
  builder.add_action(core::TaskReady{TaskNo{2}});
  const Writer group = builder.seal({.seq = 3, .epoch = 4, .behaviour = 5});
  EXPECT_EQ(to_hex(group.view()),
            packed("42475250 03000000 1a000000 "         // magic, format, bytes of payload
                   "01000000 01000000 "                  // events, actions
                   "0300000000000000 0400000000000000 "  // seq, epoch
                   "c07ca9db6b8690c2 05000000 "          // hash, behaviour
                   "b00f4c04 4ac06478 "                  // checksums of payload and header
                   "08 0100000000000000 0200000000000000 83 0200000000000000"));
}

TEST(Group, AnEmptyGroupIsWhole) {
  const auto bytes = group_of({});
  EXPECT_EQ(bytes.size(), kGroupHeaderSize);
  const ParsedGroup parsed = parse_group(bytes);
  ASSERT_EQ(parsed.status, GroupStatus::intact);
  GroupCursor at(parsed.group);
  EXPECT_FALSE(at.next());
  EXPECT_TRUE(at.ok());
}

TEST(Group, GroupingDoesNotChangeTheHash) {
  const auto history = random_history(2, 60);
  std::uint64_t expected = 0;
  for (const std::size_t per_group : {1U, 2U, 7U, 60U}) {
    RunningHash hash;
    GroupBuilder builder(hash);
    std::vector<Turn> back;
    RunningHash recovered;
    Writer spare;
    for (std::size_t i = 0; i < history.size(); ++i) {
      add(builder, history[i]);
      if ((i + 1) % per_group != 0 && i + 1 != history.size()) continue;
      Writer group = builder.seal({.seq = back.size()}, std::move(spare));
      EXPECT_TRUE(builder.empty());
      const ParsedGroup parsed = parse_group(group.view());
      ASSERT_EQ(parsed.status, GroupStatus::intact);
      for (Turn& turn : history_of(parsed.group, recovered)) {
        back.push_back(std::move(turn));
      }
      EXPECT_EQ(recovered.value(), parsed.group.header.hash);
      spare = std::move(group);
    }
    EXPECT_EQ(back, history);
    if (expected == 0) expected = hash.value();
    EXPECT_EQ(hash.value(), expected);
  }
}

TEST(Group, SealGoesOnInTheMemoryItIsGiven) {
  RunningHash hash;
  GroupBuilder builder(hash);
  for (const Turn& turn : random_history(3, 100)) {
    add(builder, turn);
  }
  Writer first = builder.seal({});
  const std::byte* memory = first.view().data();
  const Writer second = builder.seal({}, std::move(first));
  const Writer third = builder.seal({});
  EXPECT_EQ(third.view().data(), memory);
  EXPECT_EQ(to_hex(third.view()), to_hex(second.view()));
}

// ---- Bad bytes ----------------------------------------------------------------------------------

TEST(Group, EveryTruncationIsTorn) {
  const auto bytes = group_of(random_history(4, 5));
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_EQ(parse_group(prefix_of(bytes, size)).status, GroupStatus::torn) << size;
  }
}

TEST(Group, EveryFlippedBitIsDamage) {
  for_each_flip(group_of(random_history(5, 5)), [](ByteView bytes, std::size_t bit) {
    const ParsedGroup parsed = parse_group(bytes);
    EXPECT_EQ(parsed.status, GroupStatus::damaged) << "bit " << bit;
    EXPECT_NE(std::string(parsed.reason), "");
  });
}

TEST(Group, ZerosAreBlank) {
  for (const std::size_t size : {0U, 1U, 55U, 56U, 500U}) {
    EXPECT_EQ(parse_group(std::vector<std::byte>(size)).status, GroupStatus::blank);
  }
}

TEST(Group, OlderFormatsAreRead) {
  auto bytes = group_of({});
  store_le(bytes.data() + 4, kOldestFormat);
  repair_checksums(bytes);
  const ParsedGroup parsed = parse_group(bytes);
  EXPECT_EQ(parsed.status, GroupStatus::intact);
  EXPECT_EQ(parsed.group.header.format, kOldestFormat);
}

TEST(Group, AnotherFormatIsToldFromDamage) {
  auto bytes = group_of(random_history(6, 5));
  store_le(bytes.data() + 4, kFormat + 1);
  repair_checksums(bytes);
  const ParsedGroup parsed = parse_group(bytes);
  EXPECT_EQ(parsed.status, GroupStatus::unknown_format);
  EXPECT_EQ(parsed.group.header.format, kFormat + 1);
  EXPECT_EQ(find_group(bytes, 0, 7), 0U);
}

TEST(FindGroup, FindsTheGroupBehindDamage) {
  auto bytes = group_of(random_history(7, 5), 7);
  const std::size_t second = bytes.size();
  const auto next = group_of(random_history(8, 5), 12);
  bytes.insert(bytes.end(), next.begin(), next.end());
  EXPECT_EQ(find_group(bytes, 0, 7), 0U);
  EXPECT_EQ(find_group(bytes, 1, 7), second);
  bytes[20] ^= std::byte{1};
  EXPECT_EQ(find_group(bytes, 0, 7), second);
  EXPECT_EQ(find_group(bytes, 0, 13), std::nullopt);  // a leftover of earlier use
  EXPECT_EQ(find_group(bytes, second + 1, 7), std::nullopt);
  EXPECT_EQ(find_group(prefix_of(bytes, bytes.size() - 1), 0, 7), std::nullopt);
  EXPECT_EQ(find_group({}, 0, 0), std::nullopt);
  EXPECT_EQ(find_group(bytes, bytes.size() + 1, 0), std::nullopt);
}

TEST(GroupCursor, RefusesWrongCounts) {
  const auto bytes = group_of(random_history(9, 5));
  for (const std::size_t field : {12U, 16U}) {
    auto changed = bytes;
    store_le(changed.data() + field, load_le<std::uint32_t>(changed.data() + field) + 1);
    repair_checksums(changed);
    const ParsedGroup parsed = parse_group(changed);
    ASSERT_EQ(parsed.status, GroupStatus::intact);
    GroupCursor at(parsed.group);
    while (at.next()) {
    }
    EXPECT_FALSE(at.ok());
    EXPECT_FALSE(at.next());
  }
}

// What timers decided stands before the event that came after them.
TEST(GroupCursor, ReadsActionsThatPrecedeTheirEvent) {
  RunningHash hash;
  GroupBuilder builder(hash);
  builder.add_action(core::Instant{Time{3}});
  builder.add_action(core::TaskReady{TaskNo{1}});
  builder.add_event({Time{5}, core::Cancel{TaskNo{1}}});
  const Writer bytes = builder.seal({.seq = 1, .epoch = 1, .behaviour = 1});
  const ParsedGroup parsed = parse_group(bytes.view());
  GroupCursor at(parsed.group);
  EXPECT_TRUE(at.next() && at.kind() == GroupCursor::Kind::action);
  EXPECT_TRUE(at.next() && at.kind() == GroupCursor::Kind::action);
  EXPECT_TRUE(at.next() && at.kind() == GroupCursor::Kind::event);
  EXPECT_FALSE(at.next());
  EXPECT_TRUE(at.ok());
}

// Right checksums over wrong bytes, as a faulty or hostile writer would make them.
TEST(GroupCursor, GivesNotesBackWhereTheyStood) {
  RunningHash hash;
  GroupBuilder builder(hash);
  const std::array<std::byte, 3> name = {std::byte{1}, std::byte{0}, std::byte{200}};
  const std::size_t first = builder.add_note(name);
  builder.add_event({.now = Time{5}, .body = core::Tick{}});
  const std::size_t second = builder.add_note({});
  const std::uint64_t before = hash.value();
  const Writer sealed = builder.seal({.seq = 7});
  EXPECT_EQ(hash.value(), before);

  const ParsedGroup parsed = parse_group(sealed.view());
  ASSERT_EQ(parsed.status, GroupStatus::intact);
  EXPECT_EQ(parsed.group.header.events, 1U);
  GroupCursor at(parsed.group);
  ASSERT_TRUE(at.next() && at.kind() == GroupCursor::Kind::note);
  EXPECT_TRUE(std::ranges::equal(at.note(), name));
  EXPECT_EQ(at.note_offset(), first);
  ASSERT_TRUE(at.next() && at.kind() == GroupCursor::Kind::event);
  ASSERT_TRUE(at.next() && at.kind() == GroupCursor::Kind::note);
  EXPECT_TRUE(at.note().empty());
  EXPECT_EQ(at.note_offset(), second);
  EXPECT_FALSE(at.next());
  EXPECT_TRUE(at.ok());
}

TEST(GroupCursor, NeverStepsOutsideAnyPayload) {
  Random random(10);
  const auto bytes = group_of(random_history(11, 5));
  for (int round = 0; round < 5'000; ++round) {
    auto changed = bytes;
    for (std::uint64_t hits = 1 + random.below(3); hits > 0; --hits) {
      changed[kGroupHeaderSize + random.below(changed.size() - kGroupHeaderSize)] =
          static_cast<std::byte>(random.next());
    }
    repair_checksums(changed);
    const ParsedGroup parsed = parse_group(changed);
    ASSERT_EQ(parsed.status, GroupStatus::intact);
    GroupCursor at(parsed.group);
    while (at.next()) {
      EXPECT_FALSE(at.encoded().empty());
    }
  }
}

}  // namespace
}  // namespace berth::journal::group_test
