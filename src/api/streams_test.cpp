// What streams may hold together, and those of one tenant: promised when they open, given back
// when they close.
#include "api/streams.h"

#include <gtest/gtest.h>

namespace berth::api::streams_test {
namespace {

const Listener kAdmin{.tenant = "ops", .sees_all = true};

std::string reason_of(const std::variant<std::uint64_t, Problem>& opened) {
  const auto* problem = std::get_if<Problem>(&opened);
  return problem == nullptr ? "" : problem->reason;
}

TEST(StreamRoom, MemoryIsPromisedUntilItIsUsedUpAndThenRefusedWithNumbers) {
  Streams streams({.streams = 100, .bytes = 1000});
  const auto first = streams.open(kAdmin, 600, [] {});
  ASSERT_EQ(reason_of(first), "");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 400, [] {})), "");
  EXPECT_EQ(streams.bytes(), 1000U);
  const auto refused = streams.open(kAdmin, 1, [] {});
  ASSERT_EQ(reason_of(refused), "stream_memory");
  const auto& problem = std::get<Problem>(refused);
  EXPECT_EQ(problem.code, Code::resource_exhausted);
  EXPECT_EQ(problem.metadata.at("need"), "1001");
  EXPECT_EQ(problem.metadata.at("have"), "1000");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 0, [] {})), "")
      << "a stream of submits holds none of it";
  streams.close(std::get<std::uint64_t>(first));
  streams.close(std::get<std::uint64_t>(first));  // once only
  EXPECT_EQ(streams.bytes(), 400U);
  EXPECT_EQ(reason_of(streams.open(kAdmin, 600, [] {})), "");
}

TEST(StreamRoom, TheCountIsALimitOfItsOwn) {
  Streams streams({.streams = 2, .bytes = 1000});
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "too_many_streams");
  streams.stop();
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "stopping");
}

TEST(StreamRoom, ATenantHasALimitOfItsOwn) {
  Streams streams({.streams = 100, .per_tenant = 2, .bytes = 1000});
  const Listener red{.tenant = "red", .sees_all = false};
  const Listener blue{.tenant = "blue", .sees_all = false};
  const auto first = streams.open(red, 1, [] {});
  ASSERT_EQ(reason_of(first), "");
  EXPECT_EQ(reason_of(streams.open(red, 0, [] {})), "") << "submits count as well";
  const auto refused = streams.open(red, 1, [] {});
  ASSERT_EQ(reason_of(refused), "too_many_streams");
  const auto& problem = std::get<Problem>(refused);
  EXPECT_EQ(problem.metadata.at("need"), "3");
  EXPECT_EQ(problem.metadata.at("have"), "2");
  EXPECT_EQ(problem.quota_subject, "tenant:red");
  EXPECT_NE(problem.message.find("limits.max_streams_per_tenant"), std::string::npos);
  EXPECT_EQ(reason_of(streams.open(blue, 1, [] {})), "");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "") << "admins are not bound by it";
  streams.close(std::get<std::uint64_t>(first));
  streams.close(std::get<std::uint64_t>(first));  // once only
  EXPECT_EQ(reason_of(streams.open(red, 1, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(red, 1, [] {})), "too_many_streams");
}

TEST(StreamRoom, TheLastEighthIsForThoseWhoSeeAll) {
  Streams streams({.streams = 16, .per_tenant = 1, .bytes = 1600});
  const auto tenant = [](int i) {
    return Listener{.tenant = "t" + std::to_string(i), .sees_all = false};
  };
  for (int i = 0; i < 14; ++i)
    EXPECT_EQ(reason_of(streams.open(tenant(i), 1, [] {})), "") << i;
  EXPECT_EQ(reason_of(streams.open(tenant(14), 1, [] {})), "too_many_streams");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "too_many_streams");
}

TEST(StreamRoom, SoIsTheLastEighthOfTheMemory) {
  Streams streams({.streams = 16, .per_tenant = 4, .bytes = 800});
  const Listener red{.tenant = "red", .sees_all = false};
  EXPECT_EQ(reason_of(streams.open(red, 700, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(red, 1, [] {})), "stream_memory");
  EXPECT_EQ(reason_of(streams.open(red, 0, [] {})), "") << "submits hold none of it";
  EXPECT_EQ(reason_of(streams.open(kAdmin, 100, [] {})), "");
  EXPECT_EQ(reason_of(streams.open(kAdmin, 1, [] {})), "stream_memory");
}

}  // namespace
}  // namespace berth::api::streams_test
