// Tests of start estimates.
#include "core/timeline/estimate.h"

#include <random>

#include <gtest/gtest.h>

namespace berth::core::estimate_test {
namespace {

Time at(std::int64_t s) { return Time{} + seconds(s); }

struct Work {
  std::int64_t run;
  std::vector<Parts> ways;
};

std::vector<StartEstimate> estimate(Pools& pools, Time now, const std::vector<Work>& work,
                                    std::int64_t visits = 1'000'000) {
  std::vector<Time> starts;
  std::size_t position = 0;
  const auto next = [&]() -> std::optional<Pending> {
    if (position == work.size()) return std::nullopt;
    const Work& w = work[position];
    return Pending{position++, seconds(w.run), w.ways};
  };
  const bool complete = likely_starts(pools, now, next, starts, visits);
  EXPECT_EQ(complete, starts.size() == work.size());
  std::vector<StartEstimate> estimates;
  for (const Time start : starts)
    estimates.push_back(estimate_around(now, start));
  return estimates;
}

TEST(Estimate, CountsTheWorkAhead) {
  Pools pools;
  const PoolId all = pools.add();
  pools.resize(all, 8);
  pools.start(Parts{{all, 8}}, at(100));
  const std::vector<Work> work{{60, {{{all, 8}}}}, {10, {{{all, 4}}}}, {5, {{{all, 9}}}}};
  const auto estimates = estimate(pools, at(40), work);
  ASSERT_EQ(estimates.size(), 3U);
  EXPECT_EQ(estimates[0], (StartEstimate{at(70), at(100), at(160)}));
  EXPECT_EQ(estimates[1], (StartEstimate{at(100), at(160), at(280)}));
  EXPECT_EQ(estimates[2].likely, Time::never()) << "more than there is";
  EXPECT_EQ(estimates[2].low, Time::never());
  EXPECT_EQ(estimates[2].high, Time::never());
}

TEST(Estimate, StopsWhenTheVisitsAreUsedUp) {
  Pools pools;
  const PoolId all = pools.add();
  pools.resize(all, 1);
  const std::vector<Work> work(10, Work{5, {{{all, 1}}}});
  const auto estimates = estimate(pools, at(0), work, 3);
  ASSERT_GE(estimates.size(), 2U);
  EXPECT_LT(estimates.size(), 10U);
  EXPECT_TRUE(pools.profile(all).breakpoints().empty()) << "nothing stays behind";
}

// The claim in the header: the ends of the spread are what a plan would say if everything that
// remains took that part or multiple of its time.
TEST(Estimate, TheSpreadIsWhatStretchedPlansSay) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::vector<StartEstimate> likely;
    for (const std::int64_t factor : {2, 1, 4}) {  // halves, as they are, doubled
      std::mt19937_64 random(seed);
      const auto pick = [&random](std::int64_t low, std::int64_t high) {
        return low +
               static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
      };
      Pools pools;
      const PoolId all = pools.add();
      const PoolId rack = pools.add(all);
      pools.resize(all, 8);
      pools.resize(rack, 8);
      const Time now = at(5);
      for (int i = 0; i < 8; ++i) {
        pools.start(Parts{{i % 2 == 0 ? all : rack, pick(1, 2)}},
                    now + seconds(factor * pick(1, 50)));
      }
      std::vector<Work> work;
      for (int i = 0; i < 20; ++i) {
        const std::int64_t run = factor * pick(1, 50);
        work.push_back({run, {{{pick(0, 1) == 0 ? all : rack, pick(1, 8)}}}});
      }
      const auto estimates = estimate(pools, now, work);
      if (factor == 2) {
        likely = estimates;
        continue;
      }
      for (std::size_t i = 0; i < estimates.size(); ++i) {
        EXPECT_EQ(estimates[i].likely, factor == 1 ? likely[i].low : likely[i].high);
      }
    }
  }
}

}  // namespace
}  // namespace berth::core::estimate_test
