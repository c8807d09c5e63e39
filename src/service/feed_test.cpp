// Sequence numbers, the feed's ring and its sleepers.
#include "service/feed.h"

#include <gtest/gtest.h>

#include "service/sequence_number.h"

namespace berth::service::feed_test {
namespace {

std::vector<TaskChange> changes_at(std::uint64_t first, std::uint64_t last) {
  std::vector<TaskChange> changes;
  for (std::uint64_t ordinal = first; ordinal <= last; ++ordinal)
    changes.push_back({.sequence = sequence_of(ordinal, 0)});
  return changes;
}

TEST(SequenceNumbers, ANumberOfAnOlderServerStandsBehindAllStepsOfItsMessage) {
  EXPECT_EQ(sequence_meant(29), sequence_behind(29));
  EXPECT_GT(sequence_meant(29), sequence_of(29, core::kBatchSizeMax - 1));
  EXPECT_LT(sequence_meant(29), sequence_of(30, 0));
  EXPECT_EQ(sequence_meant(sequence_of(29, 7)), sequence_of(29, 7));
  EXPECT_EQ(ordinal_of(sequence_of(29, 7)), 29U);
  EXPECT_EQ(ordinal_of(sequence_behind(29)), 29U);
}

TEST(Feed, GivesWhatComesBehindAndSaysWhenThatIsGone) {
  Feed feed(4);
  feed.begin_at(10);
  feed.add(changes_at(11, 13), 15);
  EXPECT_EQ(feed.read(sequence_of(11, 0), 100).changes.size(), 2U);
  EXPECT_EQ(feed.read(sequence_of(11, 0), 100).last, sequence_behind(15));
  EXPECT_EQ(feed.read(sequence_behind(10), 2).last, sequence_of(12, 0));
  feed.add(changes_at(16, 18), 18);
  const Feed::Answer old = feed.read(sequence_of(11, 0), 100);
  EXPECT_TRUE(old.too_old);
  EXPECT_EQ(old.oldest, sequence_of(12, 0));
  EXPECT_EQ(feed.read(sequence_of(12, 0), 100).changes.size(), 4U);
}

// A batch is one message; whoever breaks off inside resumes there.
TEST(Feed, StepsOfOneMessageAreReadOneByOne) {
  Feed feed(100);
  feed.begin_at(10);
  std::vector<TaskChange> batch;
  for (std::uint64_t step = 0; step < 7; ++step)
    batch.push_back({.sequence = sequence_of(11, step)});
  feed.add(std::move(batch), 11);
  std::size_t read = 0;
  for (std::uint64_t after = sequence_behind(10); after < feed.last(); ++read) {
    const Feed::Answer answer = feed.read(after, 1);
    ASSERT_EQ(answer.changes.size(), 1U);
    EXPECT_EQ(answer.changes[0].sequence, sequence_of(11, read));
    after = answer.last;
  }
  EXPECT_EQ(read, 7U);
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
