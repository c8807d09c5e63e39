// What streams may hold together: promised when they open, given back when they close.
#include "api/streams.h"

#include <gtest/gtest.h>

namespace berth::api::streams_test {
namespace {

std::string reason_of(const std::variant<std::uint64_t, Problem>& opened) {
  const auto* problem = std::get_if<Problem>(&opened);
  return problem == nullptr ? "" : problem->reason;
}

TEST(StreamRoom, MemoryIsPromisedUntilItIsUsedUpAndThenRefusedWithNumbers) {
  Streams streams({.streams = 100, .bytes = 1000});
  const auto first = streams.open(600, [] {});
  ASSERT_EQ(reason_of(first), "");
  EXPECT_EQ(reason_of(streams.open(400, [] {})), "");
  EXPECT_EQ(streams.bytes(), 1000U);
  const auto refused = streams.open(1, [] {});
  ASSERT_EQ(reason_of(refused), "stream_memory");
  const auto& problem = std::get<Problem>(refused);
  EXPECT_EQ(problem.code, Code::resource_exhausted);
  EXPECT_EQ(problem.metadata.at("need"), "1001");
  EXPECT_EQ(problem.metadata.at("have"), "1000");
  EXPECT_EQ(reason_of(streams.open(0, [] {})), "") << "a stream of submits holds none of it";
  streams.close(std::get<std::uint64_t>(first));
  streams.close(std::get<std::uint64_t>(first));  // once only
  EXPECT_EQ(streams.bytes(), 400U);
  EXPECT_EQ(reason_of(streams.open(600, [] {})), "");
}

TEST(StreamRoom, TheCountIsALimitOfItsOwn) {
  Streams streams({.streams = 2, .bytes = 1000});
  EXPECT_EQ(reason_of(streams.open(1, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(1, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(1, [] {})), "too_many_streams");
  streams.stop();
  EXPECT_EQ(reason_of(streams.open(1, [] {})), "stopping");
}

}  // namespace
}  // namespace berth::api::streams_test
