// Tests of Pools: examples to read, and random forests against lists that are counted anew.
#include "core/timeline/pools.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace berth::core::pools_test {
namespace {

Time at(std::int64_t s) { return Time{} + seconds(s); }

// A cluster of two racks with 8 GPUs each.
struct Cluster {
  Pools pools;
  PoolId all = pools.add();
  PoolId left = pools.add(all);
  PoolId right = pools.add(all);
  Cluster() {
    pools.resize(left, 8);
    pools.resize(right, 8);
  }
  Time earliest(const Parts& parts, Duration run) const {
    std::int64_t visits = 0;
    return pools.earliest(parts, at(0), at(0), run, visits);
  }
};

TEST(Pools, WhatIsTakenInARackIsTakenAbove) {
  Cluster c;
  EXPECT_EQ(c.pools.capacity(c.all), 16);
  c.pools.start(Parts{{c.left, 6}}, at(10));
  EXPECT_EQ(c.pools.profile(c.all).free(), 10);
  EXPECT_EQ(c.pools.profile(c.left).free(), 2);
  EXPECT_EQ(c.pools.profile(c.right).free(), 8);
  EXPECT_EQ(c.earliest({{c.left, 4}}, seconds(1)), at(10));
  EXPECT_EQ(c.earliest({{c.right, 4}}, seconds(1)), at(0));
  EXPECT_EQ(c.earliest({{c.all, 11}}, seconds(1)), at(10));
}

TEST(Pools, AReservationForAnywhereHoldsBackWorkInARack) {
  Cluster c;
  c.pools.start(Parts{{c.left, 8}}, at(10));
  c.pools.reserve(Parts{{c.all, 16}}, at(10), seconds(100));
  EXPECT_TRUE(c.pools.fits(Parts{{c.right, 8}}, at(0), at(0), seconds(10)));
  EXPECT_FALSE(c.pools.fits(Parts{{c.right, 1}}, at(0), at(0), seconds(11)))
      << "the rack is empty, but the cluster is promised";
  EXPECT_EQ(c.earliest({{c.right, 1}}, seconds(11)), at(110));
}

TEST(Pools, AReservationInARackLeavesTheOthersAlone) {
  Cluster c;
  c.pools.start(Parts{{c.left, 4}}, at(10));
  c.pools.reserve(Parts{{c.left, 8}}, at(10), seconds(100));
  EXPECT_FALSE(c.pools.fits(Parts{{c.left, 1}}, at(0), at(0), seconds(20)));
  EXPECT_TRUE(c.pools.fits(Parts{{c.right, 8}}, at(0), at(0), seconds(20)));
  EXPECT_TRUE(c.pools.fits(Parts{{c.all, 8}}, at(0), at(0), seconds(20)));
  EXPECT_FALSE(c.pools.fits(Parts{{c.all, 9}}, at(0), at(0), seconds(20)));
}

TEST(Pools, PartsOfOneTaskAreAddedUp) {
  Cluster c;
  const PoolId node = c.pools.add(c.left);
  c.pools.resize(node, 4);  // the rack has 12 now
  const Parts gang{{c.left, 10}, {node, 4}, {c.right, 2}};
  EXPECT_EQ(c.pools.with_pools_above(gang),
            (Parts{{c.all, 16}, {c.left, 14}, {c.right, 2}, {node, 4}}));
  EXPECT_FALSE(c.pools.fits(gang, at(0), at(0), seconds(1))) << "each part fits, the rack does not";
}

TEST(Pools, TheFirstOfSeveralDomains) {
  Cluster c;
  c.pools.start(Parts{{c.left, 8}}, at(30));
  c.pools.start(Parts{{c.right, 8}}, at(20));
  std::int64_t visits = 0;
  const std::vector<Parts> ways{{{c.left, 8}}, {{c.right, 8}}};
  const Choice choice = earliest_way(c.pools, ways, at(0), at(0), seconds(5), visits);
  EXPECT_EQ(choice.way, 1U);
  EXPECT_EQ(choice.start, at(20));
  const std::vector<Parts> alike{{{c.left, 4}}, {{c.right, 5}}, {{c.right, 4}}};
  EXPECT_EQ(earliest_way(c.pools, alike, at(0), at(0), seconds(5), visits).way, 1U);
  const std::vector<Parts> too_large{{{c.left, 9}}};
  EXPECT_EQ(earliest_way(c.pools, too_large, at(0), at(0), seconds(5), visits).start,
            Time::never());
}

// A pool's level counted anew from everything that was named for it and for pools below it.
struct Naive {
  struct Taken {
    Parts parts;
    std::int64_t from, to;
  };
  std::vector<std::uint32_t> parent;  // UINT32_MAX: none
  std::vector<std::int64_t> own;
  std::vector<Taken> taken;

  bool holds(std::uint32_t pool, std::uint32_t below) const {
    while (below != pool && below != UINT32_MAX)
      below = parent[below];
    return below == pool;
  }
  std::int64_t level(std::uint32_t pool, std::int64_t t) const {
    std::int64_t level = 0;
    for (std::uint32_t p = 0; p < own.size(); ++p)
      level += holds(pool, p) ? own[p] : 0;
    for (const Taken& take : taken) {
      if (t < take.from || t >= take.to) continue;
      for (const Part& part : take.parts)
        level -= holds(pool, part.pool.value) ? part.amount : 0;
    }
    return level;
  }
  bool fits(const Parts& parts, std::int64_t from, std::int64_t run) {
    taken.push_back({parts, from, from + run});
    bool fits = true;
    for (std::uint32_t pool = 0; pool < own.size() && fits; ++pool) {
      const bool touched = std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
        return holds(pool, part.pool.value);
      });
      for (std::int64_t t = from; touched && t < from + run && fits; ++t) {
        fits = level(pool, t) >= 0;
      }
    }
    taken.pop_back();
    return fits;
  }
};

class Forests : public testing::TestWithParam<int> {};

TEST_P(Forests, AgreeWithCountingAnew) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()) + 100);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Pools pools;
  Naive naive;
  for (std::uint32_t p = 0; p < 8; ++p) {
    const bool root = p == 0 || pick(0, 4) == 0;
    const auto parent = root ? UINT32_MAX : static_cast<std::uint32_t>(pick(0, p - 1));
    naive.parent.push_back(parent);
    naive.own.push_back(pick(0, 8));
    pools.resize(pools.add(PoolId{parent}), naive.own.back());
  }
  const auto some_parts = [&] {
    Parts parts;
    for (std::int64_t n = pick(1, 3); n > 0; --n) {
      parts.push_back({PoolId{static_cast<std::uint32_t>(pick(0, 7))}, pick(1, 4)});
    }
    return parts;
  };
  for (int step = 0; step < 40; ++step) {
    const Parts parts = some_parts();
    const std::int64_t run = pick(1, 15);
    std::int64_t from = 0;
    while (from < 200 && !naive.fits(parts, from, run))
      ++from;
    std::int64_t visits = 0;
    const Time start = pools.earliest(parts, at(0), at(0), seconds(run), visits);
    ASSERT_EQ(start, from < 200 ? at(from) : Time::never());
    ASSERT_EQ(pools.fits(parts, at(0), at(0), seconds(run)), from == 0);
    if (from == 200) continue;
    if (from == 0) {
      pools.start(parts, at(run));
    } else {
      pools.reserve(parts, start, seconds(run));
    }
    naive.taken.push_back({parts, from, from + run});
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, Forests, testing::Range(0, 30));

}  // namespace
}  // namespace berth::core::pools_test
