// Guests: who is let in, and who must go for them.
#include "api/guests.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace berth::api::guests_test {
namespace {

using Stage = Guests::Stage;

class Hall : public ::testing::Test {
 protected:
  Hall() {
    guests_.set_limits({.all = 6, .per_address = 4, .greetings = 4, .greetings_per_address = 2});
  }
  // Its number; 0: it was not let in.
  std::uint64_t enter(const std::string& address, Stage stage = Stage::quiet) {
    const auto number = std::make_shared<std::uint64_t>(0);
    *number = guests_.enter(address, stage, [this, number] { sent_away_.push_back(*number); });
    return *number;
  }
  Guests guests_;
  std::vector<std::uint64_t> sent_away_;
};

TEST_F(Hall, AnAddressHasALimit) {
  for (int i = 0; i < 4; ++i)
    guests_.move(enter("a"), Stage::served);
  EXPECT_EQ(enter("a"), 0U);
  EXPECT_NE(enter("b"), 0U);
  EXPECT_TRUE(sent_away_.empty());
}

TEST_F(Hall, OfAFullAddressItsOwnMakesRoom) {
  const std::uint64_t b = enter("b");
  guests_.move(enter("a"), Stage::served);
  const std::uint64_t quiet = enter("a");
  enter("a");
  enter("a");
  EXPECT_NE(enter("a"), 0U);
  EXPECT_EQ(sent_away_, std::vector{quiet});
  EXPECT_NE(quiet, b);
  EXPECT_EQ(guests_.size(), 5U);
}

TEST_F(Hall, StreamsLeavePlacesForShortRequests) {
  std::vector<std::uint64_t> streams;
  for (const char* address : {"a", "a", "a", "b", "b"}) {
    streams.push_back(enter(address));
    EXPECT_FALSE(guests_.begin_stream(streams.back())) << address;
  }
  const std::uint64_t last = enter("c");
  const auto refused = guests_.begin_stream(last);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, "too_many_streams");
  EXPECT_EQ(refused->metadata.at("need"), "6");
  EXPECT_EQ(refused->metadata.at("have"), "5");
  EXPECT_NE(enter("d"), 0U) << "the one that may not stream is quiet, and makes room";
  EXPECT_EQ(sent_away_, std::vector{last});
  guests_.leave(streams.back());
  EXPECT_FALSE(guests_.begin_stream(enter("e")));
}

TEST_F(Hall, StreamsOfOneAddressLeaveItPlacesToo) {
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(guests_.begin_stream(enter("a")));
  const std::uint64_t fourth = enter("a");
  const auto refused = guests_.begin_stream(fourth);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message.find("address a"), std::string::npos) << refused->message;
  EXPECT_NE(enter("a"), 0U) << "a probe from there";
  EXPECT_EQ(sent_away_, std::vector{fourth});
}

TEST_F(Hall, WhoHasBeenQuietLongestInTheLargestCrowdMakesRoom) {
  const std::uint64_t first = enter("a");
  const std::uint64_t second = enter("a");
  enter("a");
  enter("a");
  enter("b");
  enter("b");
  guests_.move(first, Stage::served);
  guests_.move(first, Stage::quiet);  // it was asked something, so the second is the oldest now
  const std::uint64_t c = enter("c");
  EXPECT_NE(c, 0U);
  EXPECT_EQ(sent_away_, std::vector{second});
  EXPECT_EQ(guests_.size(), 6U);
  guests_.leave(second);  // its connection ends later
  EXPECT_EQ(guests_.size(), 6U);
  EXPECT_NE(enter("d"), 0U);
  EXPECT_EQ(sent_away_.size(), 2U);
  EXPECT_NE(sent_away_.back(), c);
}

TEST_F(Hall, WhoIsBeingAnsweredStays) {
  for (const char* address : {"a", "a", "a", "b", "b", "b"})
    guests_.move(enter(address), Stage::served);
  EXPECT_EQ(enter("c"), 0U);
  EXPECT_TRUE(sent_away_.empty());
}

TEST_F(Hall, HandshakesOfOneAddressReplaceOneAnother) {
  const std::uint64_t first = enter("a", Stage::greeting);
  enter("a", Stage::greeting);
  EXPECT_NE(enter("a", Stage::greeting), 0U);
  EXPECT_EQ(sent_away_, std::vector{first});
  EXPECT_EQ(guests_.size(), 2U);
}

TEST_F(Hall, HandshakesInAllHaveALimitToo) {
  guests_.set_limits({.all = 100, .per_address = 50, .greetings = 4, .greetings_per_address = 2});
  const std::uint64_t first = enter("a", Stage::greeting);
  enter("a", Stage::greeting);
  enter("b", Stage::greeting);
  const std::uint64_t done = enter("c", Stage::greeting);
  guests_.move(done, Stage::quiet);
  enter("d", Stage::greeting);
  EXPECT_TRUE(sent_away_.empty());
  EXPECT_NE(enter("e", Stage::greeting), 0U);
  EXPECT_EQ(sent_away_, std::vector{first});
}

TEST_F(Hall, HalfOpenConnectionsKeepNobodyOut) {
  for (int i = 0; i < 1000; ++i)
    enter(i % 2 == 0 ? "a" : "b", Stage::greeting);
  const std::uint64_t c = enter("c", Stage::greeting);
  guests_.move(c, Stage::quiet);
  for (int i = 0; i < 1000; ++i)
    enter(i % 2 == 0 ? "a" : "b", Stage::greeting);
  EXPECT_EQ(std::ranges::count(sent_away_, c), 0);
}

}  // namespace
}  // namespace berth::api::guests_test
