// Tests of planning: the textbook cases, and the promises under random work.
#include "core/timeline/plan.h"

#include <algorithm>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace berth::core::plan_test {
namespace {

constexpr std::int64_t kPlenty = 1'000'000;
constexpr std::size_t kNoDepthLimit = SIZE_MAX;

Time at(std::int64_t s) { return Time{} + seconds(s); }

// The rule of plan.h in its plainest form: one pass over the order that `next` gives. `start` finds
// the very GPUs and starts the task, so that the pools hold it, or returns false. Returns false
// when the visits are used up first: called again, the pass goes on as if it had not been
// interrupted.
template <class Next, class Start>
bool plan_starts(Pools& pools, Time now, std::size_t depth, Next next, Start start,
                 std::vector<Reservation>& reservations, std::int64_t& visits) {
  while (visits > 0) {
    const std::optional<Pending> pending = next();
    if (!pending) return true;
    --visits;
    bool started = false;
    bool scattered = false;
    for (std::size_t way = 0; way < pending->ways.size() && !started; ++way) {
      if (!pools.fits(pending->ways[way], now, now, pending->run)) continue;
      started = start(*pending, way);
      scattered = !started;
    }
    if (started || reservations.size() >= depth) continue;
    timeline::reserve_earliest(pools, now, *pending, scattered, reservations, visits);
  }
  return false;
}

struct Work {
  std::int64_t run;
  std::vector<Parts> ways;
};

struct Outcome {
  std::vector<std::uint64_t> started;
  std::vector<std::size_t> ways;  // of each, the way that was taken
  std::vector<Reservation> reservations;
  bool operator==(const Outcome&) const = default;
};

// One pass over the work in its order, in slices of so many visits. The GPUs are found wherever
// the counts fit; `after_start` is told of each start.
template <class AfterStart>
Outcome pass(Pools& pools, const std::vector<Work>& work, std::size_t depth, std::int64_t slice,
             AfterStart after_start) {
  Outcome outcome;
  std::size_t position = 0;
  const auto next = [&]() -> std::optional<Pending> {
    if (position == work.size()) return std::nullopt;
    const Work& w = work[position];
    return Pending{position++, seconds(w.run), w.ways};
  };
  const auto start = [&](const Pending& pending, std::size_t way) {
    pools.start(pending.ways[way], at(0) + pending.run);
    outcome.started.push_back(pending.handle);
    outcome.ways.push_back(way);
    after_start(outcome);
    return true;
  };
  std::int64_t visits = slice;
  while (!plan_starts(pools, at(0), depth, next, start, outcome.reservations, visits)) {
    visits = slice;
  }
  return outcome;
}

Outcome pass(Pools& pools, const std::vector<Work>& work, std::size_t depth) {
  return pass(pools, work, depth, kPlenty, [](const Outcome&) {});
}

// 10 GPUs, 6 of them busy until 100 s. In order: 8 for 50 s; 4 for 100 s; 2 for 500 s; 3 for 60 s.
struct Textbook {
  Pools pools;
  PoolId all = pools.add();
  std::vector<Work> work{
      {50, {{{all, 8}}}}, {100, {{{all, 4}}}}, {500, {{{all, 2}}}}, {60, {{{all, 3}}}}};
  Textbook() {
    pools.resize(all, 10);
    pools.start(Parts{{all, 6}}, at(100));
  }
};

TEST(Plan, DepthZeroSkipsWhatDoesNotFit) {
  Textbook t;
  const Outcome outcome = pass(t.pools, t.work, 0);
  EXPECT_EQ(outcome.started, (std::vector<std::uint64_t>{1}));
  EXPECT_TRUE(outcome.reservations.empty());
}

TEST(Plan, DepthOneStartsWhatEndsInTimeOrUsesWhatIsLeftOver) {
  Textbook t;
  t.work[1].run = 101;  // one second too long to go first
  const Outcome outcome = pass(t.pools, t.work, 1);
  EXPECT_EQ(outcome.started, (std::vector<std::uint64_t>{2}))
      << "2 GPUs are left over beside the 8, however long; 3 more are not free";
  ASSERT_EQ(outcome.reservations.size(), 1U);
  EXPECT_EQ(outcome.reservations[0].handle, 0U);
  EXPECT_EQ(outcome.reservations[0].start, at(100));
}

TEST(Plan, WithoutALimitEveryoneHasAStart) {
  Textbook t;
  const Outcome outcome = pass(t.pools, t.work, kNoDepthLimit);
  EXPECT_EQ(outcome.started, (std::vector<std::uint64_t>{1}));
  ASSERT_EQ(outcome.reservations.size(), 3U);
  EXPECT_EQ(outcome.reservations[1].start, at(100)) << "beside the 8";
  EXPECT_EQ(outcome.reservations[2].start, at(150)) << "after the 8";
}

TEST(Plan, SaysWhetherReservationsAreInTheWay) {
  Textbook t;
  t.work[1].run = 101;
  const Outcome outcome = pass(t.pools, t.work, kNoDepthLimit);
  EXPECT_EQ(outcome.started, (std::vector<std::uint64_t>{2}));
  ASSERT_EQ(outcome.reservations.size(), 3U);
  EXPECT_EQ(outcome.reservations[1].handle, 1U);
  EXPECT_EQ(outcome.reservations[1].start, at(150));
  const Reservation* delayed =
      first_delayed(t.pools, outcome.reservations, Parts{{t.all, 1}}, at(0), seconds(150));
  ASSERT_NE(delayed, nullptr);
  EXPECT_EQ(delayed->handle, 0U);
  EXPECT_EQ(first_delayed(t.pools, outcome.reservations, Parts{{t.all, 1}}, at(0), seconds(100)),
            nullptr);
}

TEST(Plan, WhatIsLeftOverBesideAReservationDelaysNobody) {
  Textbook t;
  std::vector<Work> head{t.work[0]};
  const Outcome outcome = pass(t.pools, head, 1);
  ASSERT_EQ(outcome.reservations.size(), 1U);
  const auto delayed = [&](std::int64_t amount) {
    return first_delayed(t.pools, outcome.reservations, Parts{{t.all, amount}}, at(0),
                         seconds(500));
  };
  EXPECT_EQ(delayed(2), nullptr);
  EXPECT_EQ(delayed(3), &outcome.reservations[0]);
}

TEST(Plan, ScatteredWorkIsTriedAgainWhenSomethingEnds) {
  Textbook t;
  bool offered = false;
  std::vector<Reservation> reservations;
  std::int64_t visits = kPlenty;
  const std::vector<Parts> ways{{{t.all, 2}}};
  const bool complete = plan_starts(
      t.pools, at(0), 1,
      [&]() -> std::optional<Pending> {
        if (std::exchange(offered, true)) return std::nullopt;
        return Pending{7, seconds(5), ways};
      },
      [](const Pending&, std::size_t) { return false; }, reservations, visits);
  EXPECT_TRUE(complete);
  ASSERT_EQ(reservations.size(), 1U);
  EXPECT_EQ(reservations[0].start, at(100));
}

TEST(Plan, WhatHasNoRoomTakesNoReservation) {
  Textbook t;
  t.work.insert(t.work.begin(), {5, {{{t.all, 11}}}});
  const Outcome outcome = pass(t.pools, t.work, 1);
  ASSERT_EQ(outcome.reservations.size(), 1U);
  EXPECT_EQ(outcome.reservations[0].handle, 1U) << "the depth is left to the next";
}

TEST(Plan, LongWorkLeavesAReserve) {
  Pools pools;
  const PoolId all = pools.add();
  const PoolId cap = pools.add();
  pools.resize(all, 16);
  pools.resize(cap, 15);
  const LongWork rule{seconds(3600), cap};
  const auto work = [&](std::int64_t run, std::int64_t gpus) {
    Work w{run, {{{all, gpus}}}};
    cap_long_work(pools, rule, seconds(run), gpus, w.ways[0]);
    return w;
  };
  std::vector<Work> order{work(3601, 14), work(3601, 2), work(3600, 2)};
  const Outcome outcome = pass(pools, order, 0);
  EXPECT_EQ(outcome.started, (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(work(3601, 16).ways[0], (Parts{{all, 16}, {cap, 15}})) << "alone it may run";
}

// ---- Promises
// ------------------------------------------------------------------------------------

// A random cluster of racks and nodes with a cap beside it, things running, and work that waits.
struct World {
  Pools pools;
  std::vector<Work> work;
  struct Running {
    Parts parts;
    Time end;
  };
  std::vector<Running> running;

  explicit World(std::uint64_t seed) : random_(seed) {
    const PoolId all = pools.add();
    for (int rack = 0; rack < 3; ++rack) {
      const PoolId r = pools.add(all);
      for (int node = 0; node < 3; ++node)
        pools.resize(pools.add(r), 8);
    }
    const PoolId cap = pools.add();
    pools.resize(cap, 60);
    const auto domain = [this] { return PoolId{static_cast<std::uint32_t>(pick(0, 12))}; };
    for (int i = 0; i < 60; ++i) {
      const Running job{{{domain(), pick(1, 4)}}, at(pick(1, 60))};
      if (!pools.fits(job.parts, at(0), at(0), Duration::forever())) continue;
      pools.start(job.parts, job.end);
      running.push_back(job);
    }
    for (int i = 0; i < 60; ++i) {
      Work w{pick(1, 50), {}};
      const std::int64_t amount = pick(0, 3) == 0 ? pick(8, 40) : pick(1, 8);
      for (std::int64_t way = pick(1, 3); way > 0; --way) {
        w.ways.push_back({{domain(), amount}});
        cap_long_work(pools, {seconds(30), cap}, seconds(w.run), amount, w.ways.back());
      }
      work.push_back(w);
    }
  }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::vector<std::vector<Profile::Breakpoint>> content() const {
    std::vector<std::vector<Profile::Breakpoint>> all;
    for (std::uint32_t p = 0; p < pools.size(); ++p) {
      all.push_back(pools.profile(PoolId{p}).breakpoints());
    }
    return all;
  }

 private:
  std::mt19937_64 random_;
};

// Whether every pool keeps its promises at every second: what ran before, what was started and what
// is reserved never add up to more than there is. Counted from the lists alone.
bool promises_hold(const World& world, const Outcome& outcome) {
  constexpr std::int64_t kHorizon = 4000;
  const std::size_t pools = world.pools.size();
  std::vector<std::vector<std::int64_t>> change(pools, std::vector<std::int64_t>(kHorizon + 1));
  const auto add = [&](const Parts& parts, Time from, Time to) {
    for (const Part& part : world.pools.with_pools_above(parts)) {
      change[part.pool.value][static_cast<std::size_t>(from.ns / seconds(1).ns)] += part.amount;
      change[part.pool.value][static_cast<std::size_t>(to.ns / seconds(1).ns)] -= part.amount;
    }
  };
  for (const auto& job : world.running)
    add(job.parts, at(0), job.end);
  for (std::size_t i = 0; i < outcome.started.size(); ++i) {
    const Work& w = world.work[outcome.started[i]];
    add(w.ways[outcome.ways[i]], at(0), at(w.run));
  }
  for (const Reservation& r : outcome.reservations)
    add(r.parts, r.start, r.start + r.run);
  for (std::uint32_t pool = 0; pool < pools; ++pool) {
    std::int64_t load = 0;
    for (const std::int64_t c : change[pool]) {
      load += c;
      if (load > world.pools.capacity(PoolId{pool})) return false;
    }
  }
  return true;
}

class Promises : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Promises, NoStartDelaysAReservation) {
  for (const std::size_t depth : {std::size_t{1}, std::size_t{4}, kNoDepthLimit}) {
    World world(GetParam());
    const Outcome outcome =
        pass(world.pools, world.work, depth, kPlenty, [&world](const Outcome& so_far) {
          ASSERT_TRUE(promises_hold(world, so_far)) << "after " << so_far.started.size();
        });
    EXPECT_LE(outcome.reservations.size(), depth);
    EXPECT_FALSE(outcome.reservations.empty());
    EXPECT_TRUE(promises_hold(world, outcome));
  }
}

TEST_P(Promises, NobodyWaitsWhoCouldStartBesideTheReservations) {
  World world(GetParam());
  const Outcome outcome = pass(world.pools, world.work, 4);
  for (std::size_t i = 0; i < world.work.size(); ++i) {
    if (std::count(outcome.started.begin(), outcome.started.end(), i) > 0) continue;
    for (const Parts& way : world.work[i].ways) {
      EXPECT_FALSE(world.pools.fits(way, at(0), at(0), seconds(world.work[i].run)));
    }
  }
}

TEST_P(Promises, AGreaterDepthKeepsTheReservationsOfASmaller) {
  Outcome smaller;
  for (std::size_t depth = 0; depth < 8; ++depth) {
    World world(GetParam());
    const Outcome outcome = pass(world.pools, world.work, depth);
    const std::size_t common = smaller.reservations.size();
    ASSERT_GE(outcome.reservations.size(), common);
    EXPECT_TRUE(std::equal(smaller.reservations.begin(), smaller.reservations.end(),
                           outcome.reservations.begin()));
    smaller = outcome;
  }
}

TEST_P(Promises, HistoryAndSlicesDoNotMatter) {
  World world(GetParam());
  const Outcome whole = pass(world.pools, world.work, 16);
  World other(GetParam());
  // Everything that runs ends and starts again in another order.
  for (const auto& job : other.running)
    other.pools.finish(job.parts, job.end);
  std::reverse(other.running.begin(), other.running.end());
  for (const auto& job : other.running)
    other.pools.start(job.parts, job.end);
  const Outcome sliced = pass(other.pools, other.work, 16, 1, [](const Outcome&) {});
  EXPECT_EQ(sliced, whole);
  EXPECT_EQ(other.content(), world.content());
}

TEST_P(Promises, DroppingRestores) {
  World world(GetParam());
  // With no room for anything to start, the pass only reserves.
  const PoolId all{0};
  world.pools.start(Parts{{all, world.pools.profile(all).free()}}, at(1));
  const auto before = world.content();
  Outcome outcome = pass(world.pools, world.work, kNoDepthLimit);
  EXPECT_TRUE(outcome.started.empty());
  EXPECT_NE(world.content(), before);
  drop_reservations(world.pools, outcome.reservations);
  EXPECT_EQ(world.content(), before);
}

INSTANTIATE_TEST_SUITE_P(Plan, Promises, testing::Range<std::uint64_t>(0, 40));

}  // namespace
}  // namespace berth::core::plan_test
