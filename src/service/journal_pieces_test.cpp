// Many readers of the same part of the journal, and one that takes little at a time, cost one
// reading.
#include "service/journal_pieces.h"

#include <gtest/gtest.h>

#include "service/sequence_number.h"

namespace berth::service::journal_pieces_test {
namespace {

// A journal of 50,000 messages, each with one step.
class CountedJournal {
 public:
  Result<Feed::Answer> read(std::uint64_t after, std::size_t most) {
    ++readings;
    Feed::Answer answer{.last = after};
    for (std::uint64_t ordinal = ordinal_of(after) + 1; ordinal <= 50'000; ++ordinal) {
      if (answer.changes.size() == most) return answer;
      answer.changes.push_back({.sequence = sequence_of(ordinal, 0)});
      answer.last = sequence_behind(ordinal);
    }
    return answer;
  }
  int readings = 0;
};

TEST(JournalPieces, OneReaderGetsEachStepOnceInFewReadings) {
  CountedJournal journal;
  JournalPieces pieces([&](auto after, auto most) { return journal.read(after, most); });
  std::uint64_t next = 1;
  for (std::uint64_t after = sequence_behind(0); after < sequence_behind(50'000);) {
    const Result<Feed::Answer> answer = pieces.read(after, 256);
    ASSERT_TRUE(answer.ok());
    ASSERT_GT(answer->last, after);
    ASSERT_LE(answer->changes.size(), 256U);
    for (const TaskChange& change : answer->changes)
      EXPECT_EQ(change.sequence, sequence_of(next++, 0));
    after = answer->last;
  }
  EXPECT_EQ(next, 50'001U);
  EXPECT_EQ(journal.readings, 3);
}

TEST(JournalPieces, ManyReadersOfOnePartShareAReading) {
  CountedJournal journal;
  JournalPieces pieces([&](auto after, auto most) { return journal.read(after, most); });
  for (std::uint64_t reader = 0; reader < 400; ++reader)
    EXPECT_EQ(pieces.read(sequence_behind(reader), 100)->changes.size(), 100U);
  EXPECT_EQ(journal.readings, 1);
}

TEST(JournalPieces, WhatIsGoneIsSaidAndNotKept) {
  int readings = 0;
  JournalPieces pieces([&](std::uint64_t, std::size_t) -> Result<Feed::Answer> {
    ++readings;
    return Feed::Answer{.too_old = true, .oldest = sequence_behind(7)};
  });
  for (int i = 0; i < 2; ++i) {
    const Result<Feed::Answer> answer = pieces.read(sequence_behind(1), 10);
    EXPECT_TRUE(answer->too_old);
    EXPECT_EQ(answer->oldest, sequence_behind(7));
  }
  EXPECT_EQ(readings, 2);
}

}  // namespace
}  // namespace berth::service::journal_pieces_test
