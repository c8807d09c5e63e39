// The running hash: fixed values, sensitivity to order and to every bit, and its state.
#include "journal/running_hash.h"

#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "journal/testing/random_values.h"

namespace berth::journal::running_hash_test {
namespace {

using testing::encoded;
using testing::for_each_flip;
using testing::Random;
using testing::random_action;
using testing::random_bytes;

std::vector<core::Action> random_actions(std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<core::Action> actions;
  for (int i = 0; i < count; ++i) {
    actions.push_back(random_action(random));
  }
  return actions;
}

std::uint64_t hash_of(const std::vector<core::Action>& actions) {
  RunningHash hash;
  for (const core::Action& action : actions) {
    hash.add(action);
  }
  return hash.value();
}

// Stored journals and golden histories hold such numbers: they may not change.
TEST(RunningHash, FixedValues) {
  EXPECT_EQ(RunningHash().value(), 0x6a09e667f3bcc908U);
  EXPECT_EQ(hash_of({core::TaskAccepted{TaskNo{1}}}), 0x6d4b279c83f7ac20U);
  EXPECT_EQ(hash_of({core::TaskAccepted{TaskNo{1}}, core::TaskReady{TaskNo{2}}}),
            0xcff3cba7b0a22ebdU);
  core::BatchStarted batch;
  batch.lease = {1};
  batch.queue = {2};
  batch.gpus = {GpuId{3}};
  for (std::uint64_t i = 0; i < 8; ++i) {
    batch.tasks.push_back({TaskNo{i}, 1, 1000});
  }
  EXPECT_EQ(hash_of({batch}), 0xda82d0f125a5e83U);
  std::uint64_t all = 0;
  for (std::size_t size = 0; size <= 200; ++size) {
    Random random(size);
    all = all * 31 + hash_bytes(random_bytes(random, size));
  }
  EXPECT_EQ(all, 0x3952ef89c0773465U);
}

TEST(RunningHash, OrderCounts) {
  auto actions = random_actions(1, 20);
  const std::uint64_t before = hash_of(actions);
  for (std::size_t i = 0; i + 1 < actions.size(); ++i) {
    if (actions[i] == actions[i + 1]) continue;
    std::swap(actions[i], actions[i + 1]);
    EXPECT_NE(hash_of(actions), before);
    std::swap(actions[i], actions[i + 1]);
  }
  EXPECT_EQ(hash_of(actions), before);
}

TEST(RunningHash, PrefixesDiffer) {
  RunningHash hash;
  std::set<std::uint64_t> seen{hash.value()};
  for (const core::Action& action : random_actions(2, 1000)) {
    hash.add(action);
    EXPECT_TRUE(seen.insert(hash.value()).second);
  }
  EXPECT_EQ(hash.count(), 1000U);
}

TEST(RunningHash, AddBytesIsAddOfTheEncoding) {
  RunningHash by_action;
  RunningHash by_bytes;
  for (const core::Action& action : random_actions(3, 100)) {
    by_action.add(action);
    by_bytes.add_bytes(encoded(action));
  }
  EXPECT_EQ(by_action.state(), by_bytes.state());
}

TEST(RunningHash, StateCarriesItOn) {
  const auto actions = random_actions(4, 100);
  for (std::size_t cut = 0; cut <= actions.size(); cut += 10) {
    RunningHash first;
    for (std::size_t i = 0; i < cut; ++i) {
      first.add(actions[i]);
    }
    RunningHash second(first.state());
    RunningHash third;
    third.restore(first.state());
    for (std::size_t i = cut; i < actions.size(); ++i) {
      second.add(actions[i]);
      third.add(actions[i]);
    }
    EXPECT_EQ(second.value(), hash_of(actions));
    EXPECT_EQ(third.state(), second.state());
  }
}

// Each length takes another way through the function; each bit must matter on each of them.
TEST(HashBytes, EveryBitAndTheLengthCount) {
  Random random(5);
  for (std::size_t size = 0; size <= 150; ++size) {
    const auto bytes = random_bytes(random, size);
    std::set<std::uint64_t> seen{hash_bytes(bytes)};
    for_each_flip(bytes, [&](ByteView flipped, std::size_t bit) {
      EXPECT_TRUE(seen.insert(hash_bytes(flipped)).second) << size << " bytes, bit " << bit;
    });
  }
  std::set<std::uint64_t> zeros;
  for (std::size_t size = 0; size <= 300; ++size) {
    EXPECT_TRUE(zeros.insert(hash_bytes(std::vector<std::byte>(size))).second);
  }
}

}  // namespace
}  // namespace berth::journal::running_hash_test
