// What large bodies may hold together: a share for each sender, and one body always.
#include "api/body_room.h"

#include <gtest/gtest.h>

namespace berth::api::body_room_test {
namespace {

TEST(RoomForBodies, OneSenderTakesItsShareAndLeavesTheRest) {
  BodyRoom room;
  room.set_limits({.all = 1000, .per_sender = 250});
  EXPECT_FALSE(room.take("a", 100));
  EXPECT_FALSE(room.take("a", 150));
  const auto refused = room.take("a", 1);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::unavailable);
  EXPECT_EQ(refused->metadata.at("need"), "251");
  EXPECT_EQ(refused->metadata.at("have"), "250");
  EXPECT_TRUE(refused->retry_after);
  EXPECT_FALSE(room.take("b", 250)) << "others have their own";
  room.give_back("a", 100);
  EXPECT_FALSE(room.take("a", 100));
  EXPECT_EQ(room.bytes(), 500U);
}

TEST(RoomForBodies, AllTogetherHaveALimit) {
  BodyRoom room;
  room.set_limits({.all = 1000, .per_sender = 400});
  EXPECT_FALSE(room.take("a", 400));
  EXPECT_FALSE(room.take("b", 400));
  const auto refused = room.take("c", 201);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->metadata.at("have"), "1000");
  EXPECT_FALSE(room.take("c", 200));
}

TEST(RoomForBodies, OneBodyThatIsLargerThanTheLimitsIsReadAlone) {
  BodyRoom room;
  room.set_limits({.all = 1000, .per_sender = 250});
  EXPECT_FALSE(room.take("a", 5000));
  EXPECT_TRUE(room.take("a", 1));
  EXPECT_TRUE(room.take("b", 1));
  room.give_back("a", 5000);
  EXPECT_FALSE(room.take("b", 1));
  EXPECT_EQ(room.bytes(), 1U);
}

}  // namespace
}  // namespace berth::api::body_room_test
