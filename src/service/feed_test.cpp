// The feed's ring and its sleepers.
#include "service/feed.h"

#include <gtest/gtest.h>

namespace berth::service::feed_test {
namespace {

std::vector<TaskChange> changes_at(std::uint64_t first, std::uint64_t last) {
  std::vector<TaskChange> changes;
  for (std::uint64_t ordinal = first; ordinal <= last; ++ordinal)
    changes.push_back({.ordinal = ordinal});
  return changes;
}

TEST(Feed, GivesWhatComesBehindAndSaysWhenThatIsGone) {
  Feed feed(4);
  feed.begin_at(10);
  feed.add(changes_at(11, 13), 15);
  EXPECT_EQ(feed.read(11, 100).changes.size(), 2U);
  EXPECT_EQ(feed.read(11, 100).last, 15U);
  EXPECT_EQ(feed.read(10, 2).last, 12U);
  feed.add(changes_at(16, 18), 18);
  const Feed::Answer old = feed.read(11, 100);
  EXPECT_TRUE(old.too_old);
  EXPECT_EQ(old.oldest, 12U);
  EXPECT_EQ(feed.read(12, 100).changes.size(), 4U);
}

TEST(Feed, WakesOnNewsOnly) {
  Feed feed(4);
  int woken = 0;
  const std::uint64_t sleeper = feed.wake_on_news([&] { ++woken; });
  feed.add({}, 1);
  EXPECT_EQ(woken, 0);
  feed.add(changes_at(2, 2), 2);
  EXPECT_EQ(woken, 1);
  feed.forget(sleeper);
  feed.add(changes_at(3, 3), 3);
  EXPECT_EQ(woken, 1);
}

// A stream that ended meanwhile goes away inside the call that was to wake it.
TEST(Feed, ASleeperMayForgetItselfWhileItIsWoken) {
  Feed feed(4);
  std::uint64_t sleeper = 0;
  int woken = 0;
  sleeper = feed.wake_on_news([&] {
    ++woken;
    feed.forget(sleeper);
  });
  feed.add(changes_at(1, 1), 1);
  feed.add(changes_at(2, 2), 2);
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace berth::service::feed_test
