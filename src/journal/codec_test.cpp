// Every event and action: there and back, cut anywhere, any bit flipped, and a few fixed bytes.
#include "journal/codec.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "journal/testing/random_values.h"

namespace berth::journal::codec_test {
namespace {

using testing::bytes_of;
using testing::encoded;
using testing::for_each_flip;
using testing::kActionTypes;
using testing::kEventTypes;
using testing::packed;
using testing::prefix_of;
using testing::Random;
using testing::random_action;
using testing::random_bytes;
using testing::random_event;
using testing::to_hex;

constexpr int kRounds = 50;

// Whatever is accepted must be the one encoding of what it decodes to.
void expect_canonical_or_refused(ByteView bytes) {
  if (const auto event = decode_event(bytes)) {
    EXPECT_EQ(to_hex(encoded(*event)), to_hex(bytes));
  }
  if (const auto action = decode_action(bytes)) {
    EXPECT_EQ(to_hex(encoded(*action)), to_hex(bytes));
  }
}

// ---- There and back -----------------------------------------------------------------------------

TEST(Codec, EventsComeBackEqual) {
  Random random(1);
  for (std::size_t type = 0; type < kEventTypes; ++type) {
    for (int round = 0; round < kRounds; ++round) {
      const core::Event event = random_event(random, type);
      ASSERT_EQ(event.body.index(), type);
      EXPECT_EQ(decode_event(encoded(event)), event) << "type " << type << " round " << round;
    }
  }
}

TEST(Codec, ActionsComeBackEqual) {
  Random random(2);
  for (std::size_t type = 0; type < kActionTypes; ++type) {
    for (int round = 0; round < kRounds; ++round) {
      const core::Action action = random_action(random, type);
      ASSERT_EQ(action.index(), type);
      EXPECT_EQ(decode_action(encoded(action)), action) << "type " << type << " round " << round;
    }
  }
}

TEST(Codec, MessagesFollowOneAnotherInAStream) {
  Random random(3);
  const core::Event event = random_event(random);
  const core::Action action = random_action(random);
  Writer out;
  encode_event(out, event);
  encode_action(out, action);
  Reader in(out.view());
  core::Event event_back;
  core::Action action_back;
  ASSERT_TRUE(decode_event(in, event_back));
  ASSERT_TRUE(decode_action(in, action_back));
  EXPECT_EQ(event_back, event);
  EXPECT_EQ(action_back, action);
  EXPECT_TRUE(in.at_end());
}

// ---- Bad data -----------------------------------------------------------------------------------

TEST(Codec, RefusesEveryTruncation) {
  Random random(4);
  for (std::size_t type = 0; type < kEventTypes; ++type) {
    const auto bytes = encoded(random_event(random, type));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      DecodeError error;
      EXPECT_FALSE(decode_event(prefix_of(bytes, size), &error));
      EXPECT_LE(error.offset, size);
    }
  }
  for (std::size_t type = 0; type < kActionTypes; ++type) {
    const auto bytes = encoded(random_action(random, type));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      DecodeError error;
      EXPECT_FALSE(decode_action(prefix_of(bytes, size), &error));
      EXPECT_LE(error.offset, size);
    }
  }
}

TEST(Codec, RefusesTrailingBytes) {
  Random random(5);
  auto bytes = encoded(random_event(random));
  const std::size_t end = bytes.size();
  bytes.push_back(std::byte{0});
  DecodeError error;
  EXPECT_FALSE(decode_event(bytes, &error));
  EXPECT_EQ(error.offset, end);
  EXPECT_EQ(std::string(error.expected), "the end of the message");
}

TEST(Codec, RefusesUnknownTagsAndTheOtherKind) {
  Random random(6);
  for (const int tag : {0, 127, 255}) {
    DecodeError error;
    EXPECT_FALSE(decode_event(bytes_of({tag, 0, 0, 0, 0, 0, 0, 0, 0}), &error));
    EXPECT_EQ(std::string(error.expected), "the tag of an event");
    EXPECT_FALSE(decode_action(bytes_of({tag, 0, 0, 0, 0, 0, 0, 0, 0}), &error));
    EXPECT_EQ(std::string(error.expected), "the tag of an action");
  }
  EXPECT_FALSE(decode_action(encoded(random_event(random))));
  EXPECT_FALSE(decode_event(encoded(random_action(random))));
}

TEST(Codec, FlippedBitsAreRefusedOrGiveAnotherCanonicalMessage) {
  Random random(7);
  const auto check = [](ByteView bytes, std::size_t) { expect_canonical_or_refused(bytes); };
  for (std::size_t type = 0; type < kEventTypes; ++type) {
    for_each_flip(encoded(random_event(random, type)), check);
  }
  for (std::size_t type = 0; type < kActionTypes; ++type) {
    for_each_flip(encoded(random_action(random, type)), check);
  }
}

TEST(Codec, RandomBytesAreRefusedOrCanonical) {
  Random random(8);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = random_bytes(random, 1 + random.below(120));
    // Mostly zeros: so that flags, enums and counts are often acceptable.
    for (std::byte& b : bytes) {
      if (random.below(8) != 0) b = std::byte{0};
    }
    const std::uint64_t first = random.below(2) == 0 ? 1 : 128;
    bytes[0] = static_cast<std::byte>(first + random.below(30));
    expect_canonical_or_refused(bytes);
  }
}

// ---- Fixed bytes: a change here is a new format -------------------------------------------------

TEST(CodecGolden, Tick) {
  EXPECT_EQ(to_hex(encoded(core::Event{Time{0x0102030405060708}, core::Tick{}})),
            packed("12 0807060504030201"));
}

TEST(CodecGolden, Submit) {
  core::TaskSpec spec;
  spec.tenant = {1};
  spec.queue = {2};
  spec.tier = 3;
  spec.priority = -4;
  spec.gpus = 5;
  spec.share = {250};
  spec.vram = {4096};
  spec.cpu = {1500};
  spec.memory = {8};
  spec.kinds = 3;
  spec.expected_run = milliseconds(1);
  spec.checkpoint_interval = nanoseconds(11);
  spec.restart_cost = nanoseconds(12);
  spec.tokens = 6;
  spec.retry = {.max_attempts = 7, .on = 1, .backoff = nanoseconds(8)};
  spec.depends_on = {{core::Dependency::Kind::signal, 9}};
  EXPECT_EQ(to_hex(encoded(core::Event{Time{1}, core::Submit{TaskNo{10}, spec}})),
            packed("06 0100000000000000 "           // tag, now
                   "0a00000000000000 "              // task
                   "01000000 02000000 03 fcff "     // tenant, queue, tier, priority
                   "0500 0100 04 00 00 "            // gpus, groups, within, required, profile
                   "fa00000000000000 "              // share
                   "0010000000000000 "              // vram
                   "dc05000000000000 "              // cpu
                   "0800000000000000 "              // memory
                   "0300000000000000 "              // kinds
                   "40420f0000000000 "              // expected_run
                   "ffffffffffffff7f "              // tolerated_wait: for ever
                   "0b00000000000000 "              // checkpoint_interval
                   "0c00000000000000 "              // restart_cost
                   "0000000000000000 "              // not_before
                   "06000000 07 01 "                // tokens, max_attempts, on
                   "0800000000000000 ffffffff "     // backoff, group: none
                   "00 00 "                         // held, on_dependency_failure
                   "01000000 01 0900000000000000 "  // depends_on
                   "00 00000000"));                 // command, at_once
}

// What an older format does not have keeps its default.
TEST(CodecGolden, ASubmitOfTheFirstFormatIsRead) {
  const core::Event event{Time{1}, core::Submit{TaskNo{10}, {}}};
  const std::vector<std::byte> now = encoded(event);
  const std::size_t command_and_at_once = 5;
  const ByteView old = ByteView(now).first(now.size() - command_and_at_once);
  core::Event read;
  Reader first(old, 1);
  EXPECT_TRUE(decode_event(first, read));
  EXPECT_TRUE(first.at_end());
  EXPECT_EQ(read, event);
  Reader second(old, 2);
  EXPECT_FALSE(decode_event(second, read)) << "in its own format it is cut short";
}

TEST(CodecGolden, PutTenantWithAndWithoutLimits) {
  core::TenantSpec spec;
  EXPECT_EQ(
      to_hex(encoded(core::Event{Time{0}, core::PutTenant{TenantId{1}, spec}})),
      packed("02 0000000000000000 01000000 ffffffff "  // tag, now, tenant, parent: none
             "e803000000000000 00 00 "                 // weight, max_queue_size, token_bucket_size
             "6400000000000000 00 "                    // token_refill_rate, daily_token_limit
             "0000000000000000 00 00 00"));  // guaranteed_gpus, borrow_gpus, max_gpus, isolation
  spec.max_queue_size = 3;
  spec.max_gpus = Milli{4};
  spec.isolation = core::Isolation::batch;
  spec.parent = TenantId{7};
  spec.borrow_gpus = Milli{5};
  EXPECT_EQ(to_hex(encoded(core::Event{Time{0}, core::PutTenant{TenantId{1}, spec}})),
            packed("02 0000000000000000 01000000 07000000 e803000000000000 0103000000 "
                   "00 6400000000000000 00 0000000000000000 "
                   "010500000000000000 010400000000000000 01"));
}

TEST(CodecGolden, PutQueueAndPutGpuWithClassesOfWork) {
  core::QueueSpec queue;
  queue.work_class = WorkClassId{3};
  EXPECT_EQ(to_hex(encoded(core::Event{Time{0}, core::PutQueue{QueueId{1}, queue}})),
            packed("03 0000000000000000 01000000 ffffffff "  // tag, now, queue, model: none
                   "01000000 0000000000000000 00 00 03 "     // size, wait, adaptive, late, class
                   "00 0000000000000000 "                    // max_gpus, min_gpus
                   "0000000000000000 0000000000000000 "      // batch_base, batch_per_task
                   "00 00 00"));  // batch_commands, max_queue_size, max_task_gpus
  core::GpuSpec gpu;
  gpu.vram = Mib{4096};
  gpu.class_speeds = {{WorkClassId{3}, Milli{1400}}};
  EXPECT_EQ(to_hex(encoded(core::Event{Time{0}, core::PutGpu{GpuId{2}, gpu}})),
            packed("05 0000000000000000 02000000 "       // tag, now, gpu
                   "00000000 00000000 "                  // node, kind
                   "0010000000000000 e803000000000000 "  // vram, speed
                   "ffffffff 00 00 00 "                  // island: none, socket, switch, mig
                   "01000000 03 7805000000000000"));     // class_speeds
}

TEST(CodecGolden, BatchStarted) {
  core::BatchStarted x;
  x.lease = {1};
  x.queue = {2};
  x.model = ModelId::none();
  x.share = {500};
  x.vram = {1024};
  x.expected = nanoseconds(3);
  x.gpus = {GpuId{4}};
  x.cpu = {9};
  x.memory = {10};
  x.rate = 11;
  x.load_us = 12;
  x.tasks = {{TaskNo{5}, 1, 6, 13}, {TaskNo{7}, 2, -8, 14}};
  EXPECT_EQ(to_hex(encoded(core::Action{x})),
            packed("86 0100000000000000 02000000 ffffffff "  // tag, lease, queue, model
                   "f401000000000000 0004000000000000 "      // share, vram
                   "0300000000000000 01000000 04000000 "     // expected, gpus
                   "ffffffff 0900000000000000 "              // node: none, cpu
                   "0a00000000000000 0b00000000000000 "      // memory, rate
                   "0c00000000000000 00 "                    // load_us, instance: none
                   "02000000 "                               // tasks
                   "0500000000000000 01000000 0600000000000000 0d000000 "
                   "0700000000000000 02000000 f8ffffffffffffff 0e000000"));
}

TEST(CodecGolden, TaskRefused) {
  const core::Reason reason{core::ReasonCode::unknown_queue, 1, -1, 2, Time{3}};
  EXPECT_EQ(to_hex(encoded(core::Action{core::TaskRefused{TaskNo{4}, reason}})),
            packed("82 0400000000000000 35de9a51 "  // tag, task, FNV-1a of "unknown_queue"
                   "0100000000000000 ffffffffffffffff "
                   "0200000000000000 0300000000000000"));
}

// States are written as numbers: a name that moved would change the meaning of stored journals.
TEST(CodecGolden, StatesKeepTheirNumbers) {
  using enum core::TaskState;
  std::vector<core::TaskState> in_order = {waiting,   pending, starting,  running,
                                           completed, failed,  cancelled, expired};
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(in_order[i]), i);
  }
}

}  // namespace
}  // namespace berth::journal::codec_test
