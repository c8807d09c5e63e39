// Tests of Profile: examples to read, and long random histories against a plain array of seconds.
#include "core/timeline/profile.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace berth::core::profile_test {
namespace {

constexpr std::int64_t kPlenty = 1'000'000;

Time at(std::int64_t s) { return Time{} + seconds(s); }

Time earliest(const Profile& profile, Time now, Duration run, std::int64_t amount) {
  std::int64_t visits = kPlenty;
  return profile.earliest(now, now, run, amount, visits);
}

TEST(Profile, FreesWhatRunsAtItsExpectedEnd) {
  Profile pool;
  pool.resize(8);
  pool.start(at(10), 5);
  pool.start(at(20), 3);
  EXPECT_EQ(pool.free(), 0);
  EXPECT_EQ(pool.level(at(0), at(9)), 0);
  EXPECT_EQ(pool.level(at(0), at(10)), 5);
  EXPECT_EQ(earliest(pool, at(0), seconds(1), 5), at(10));
  EXPECT_EQ(earliest(pool, at(0), Duration::forever(), 6), at(20));
  EXPECT_EQ(earliest(pool, at(0), seconds(1), 9), Time::never());
  EXPECT_EQ(pool.next_end(at(10)), at(20));
  EXPECT_EQ(pool.next_end(at(20)), Time::never());
}

TEST(Profile, FindsTheGapBeforeAReservation) {
  Profile pool;
  pool.resize(8);
  pool.start(at(10), 4);
  pool.reserve(at(10), seconds(30), 8);
  EXPECT_EQ(earliest(pool, at(0), seconds(10), 4), at(0));
  EXPECT_EQ(earliest(pool, at(0), seconds(11), 4), at(40));
  EXPECT_EQ(pool.lowest(at(0), at(0), at(10)), 4);
  EXPECT_EQ(pool.lowest(at(0), at(0), at(11)), 0);
  pool.drop(at(10), seconds(30), 8);
  EXPECT_EQ(earliest(pool, at(0), seconds(11), 4), at(0));
}

TEST(Profile, WhatIsLateIsNotFree) {
  Profile pool;
  pool.resize(4);
  pool.start(at(10), 4);
  EXPECT_EQ(pool.level(at(10), at(10)), 0);
  EXPECT_EQ(earliest(pool, at(12), seconds(1), 1), Time::never());
  pool.move_end(at(10), at(15), 4);
  EXPECT_EQ(earliest(pool, at(12), seconds(1), 1), at(15));
  pool.finish(at(15), 4);
  EXPECT_EQ(earliest(pool, at(12), seconds(1), 4), at(12));
}

TEST(Profile, AReservationThatCouldNotBeginHoldsOn) {
  Profile pool;
  pool.resize(4);
  pool.start(at(10), 3);
  pool.reserve(at(10), seconds(20), 4);
  EXPECT_EQ(pool.level(at(12), at(12)), -3) << "one is free, three are late, four are reserved";
  EXPECT_FALSE(pool.fits(at(12), at(12), seconds(1), 1));
}

TEST(Profile, WorkWithoutAnEndAndReservationsForEver) {
  Profile pool;
  pool.resize(4);
  pool.start(Time::never(), 1);
  EXPECT_TRUE(pool.breakpoints().empty());
  pool.reserve(at(50), Duration::forever(), 3);
  EXPECT_EQ(earliest(pool, at(0), seconds(50), 3), at(0));
  EXPECT_EQ(earliest(pool, at(0), seconds(51), 1), Time::never());
  pool.finish(Time::never(), 1);
  EXPECT_EQ(earliest(pool, at(0), Duration::forever(), 1), at(0));
}

TEST(Profile, EveryGapThatIsTooShortIsAVisit) {
  Profile pool;
  pool.resize(1);
  for (int gap = 0; gap < 100; ++gap)
    pool.reserve(at(10 * gap + 5), seconds(5), 1);
  std::int64_t visits = 99;
  EXPECT_EQ(pool.earliest(at(0), at(0), seconds(6), 1, visits), at(1000));
  EXPECT_EQ(visits, -1);
}

TEST(Profile, AShortFitAmongManyEndsTakesNoVisit) {
  Profile pool;
  pool.resize(40'001);
  for (int i = 0; i < 40'000; ++i)
    pool.start(at(10 + i), 1);
  std::int64_t visits = 1;
  EXPECT_EQ(pool.earliest(at(0), at(0), seconds(1), 1, visits), at(0));
  EXPECT_EQ(pool.earliest(at(0), at(0), Duration::forever(), 512, visits), at(10 + 510));
  EXPECT_EQ(visits, 1);
}

// The same facts kept naively: every lease and reservation in a list, the level of every second
// computed from all of them.
class Oracle {
 public:
  static constexpr std::int64_t kHorizon = 400;
  struct Span {
    std::int64_t from, to, amount;  // to < 0: for ever
  };
  std::int64_t capacity = 0;
  std::vector<Span> leases;  // `to` is the expected end
  std::vector<Span> reservations;

  std::int64_t level(std::int64_t now, std::int64_t t) const {
    std::int64_t level = capacity;
    for (const Span& lease : leases) {
      const bool gone = lease.to >= 0 && lease.to > now && lease.to <= t;
      if (!gone) level -= lease.amount;
    }
    for (const Span& r : reservations) {
      if (r.from <= t && (r.to < 0 || t < r.to)) level -= r.amount;
    }
    return level;
  }
  bool fits(std::int64_t now, std::int64_t from, std::int64_t run, std::int64_t amount) const {
    const std::int64_t to = run < 0 ? kHorizon : std::min(kHorizon, from + run);
    for (std::int64_t t = from; t < to; ++t) {
      if (level(now, t) < amount) return false;
    }
    return true;
  }
  Time earliest(std::int64_t now, std::int64_t run, std::int64_t amount) const {
    for (std::int64_t t = now; t < kHorizon; ++t) {
      if (fits(now, t, run, amount)) return at(t);
    }
    return Time::never();
  }
};

class Histories : public testing::TestWithParam<int> {};

TEST_P(Histories, AgreeWithAnArrayOfSeconds) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto time_of = [](std::int64_t s) { return s < 0 ? Time::never() : at(s); };
  const auto run_of = [](std::int64_t s) { return s < 0 ? Duration::forever() : seconds(s); };
  Profile profile;
  Oracle oracle;
  profile.resize(oracle.capacity = 32);
  std::int64_t now = 0;
  for (int step = 0; step < 400; ++step) {
    switch (pick(0, 6)) {
      case 0:
      case 1: {
        const std::int64_t end = pick(0, 9) == 0 ? -1 : now + pick(1, 60);
        oracle.leases.push_back({now, end, pick(1, 6)});
        profile.start(time_of(end), oracle.leases.back().amount);
        break;
      }
      case 2:
        if (!oracle.leases.empty()) {
          const auto i = pick(0, static_cast<std::int64_t>(oracle.leases.size()) - 1);
          profile.finish(time_of(oracle.leases[i].to), oracle.leases[i].amount);
          oracle.leases.erase(oracle.leases.begin() + i);
        }
        break;
      case 3: {
        const std::int64_t from = now + pick(0, 40);
        const std::int64_t run = pick(0, 9) == 0 ? -1 : pick(1, 40);
        oracle.reservations.push_back({from, run < 0 ? -1 : from + run, pick(1, 8)});
        profile.reserve(at(from), run_of(run), oracle.reservations.back().amount);
        break;
      }
      case 4:
        if (!oracle.reservations.empty()) {
          const auto i = pick(0, static_cast<std::int64_t>(oracle.reservations.size()) - 1);
          const Oracle::Span r = oracle.reservations[i];
          profile.drop(at(r.from), run_of(r.to < 0 ? -1 : r.to - r.from), r.amount);
          oracle.reservations.erase(oracle.reservations.begin() + i);
        }
        break;
      case 5:
        if (!oracle.leases.empty()) {
          Oracle::Span& lease = oracle.leases[random() % oracle.leases.size()];
          const std::int64_t to = now + pick(0, 50);
          profile.move_end(time_of(lease.to), at(to), lease.amount);
          lease.to = to;
        }
        break;
      default:
        now = std::min<std::int64_t>(now + pick(0, 3), 200);
    }
    for (int question = 0; question < 4; ++question) {
      const std::int64_t from = now + pick(0, 60);
      const std::int64_t run = pick(0, 5) == 0 ? -1 : pick(1, 50);
      const std::int64_t amount = pick(1, 16);
      ASSERT_EQ(profile.level(at(now), at(from)), oracle.level(now, from));
      ASSERT_EQ(profile.fits(at(now), at(from), run_of(run), amount),
                oracle.fits(now, from, run, amount));
      ASSERT_EQ(earliest(profile, at(now), run_of(run), amount), oracle.earliest(now, run, amount));
      std::int64_t lowest = INT64_MAX;
      const std::int64_t to = from + pick(1, 50);
      for (std::int64_t t = from; t < to; ++t)
        lowest = std::min(lowest, oracle.level(now, t));
      ASSERT_EQ(profile.lowest(at(now), at(from), at(to)), lowest);
    }
  }
  // Built anew from the same content, in another order, it has the same breakpoints.
  Profile anew;
  for (const Oracle::Span& r : oracle.reservations) {
    anew.reserve(at(r.from), run_of(r.to < 0 ? -1 : r.to - r.from), r.amount);
  }
  std::reverse(oracle.leases.begin(), oracle.leases.end());
  for (const Oracle::Span& lease : oracle.leases)
    anew.start(time_of(lease.to), lease.amount);
  anew.resize(oracle.capacity);
  EXPECT_EQ(anew.breakpoints(), profile.breakpoints());
  EXPECT_EQ(anew.free(), profile.free());
}

INSTANTIATE_TEST_SUITE_P(Profile, Histories, testing::Range(0, 40));

TEST(Profile, FreeFromCountsEndsAndNoReservations) {
  std::mt19937_64 random(11);
  Profile pool;
  pool.resize(8);
  std::vector<std::int64_t> ends;
  for (int i = 0; i < 30; ++i) {
    ends.push_back(static_cast<std::int64_t>(random() % 40));
    pool.start(at(ends.back()), 1);
  }
  pool.reserve(at(3), seconds(20), 5);
  std::sort(ends.begin(), ends.end());
  for (std::int64_t amount = -25; amount <= 10; ++amount) {
    const std::int64_t missing = amount - (8 - 30);
    const Time want = missing <= 0    ? Profile::kFreeNow
                      : missing <= 30 ? at(ends[static_cast<std::size_t>(missing - 1)])
                                      : Time::never();
    EXPECT_EQ(pool.free_from(amount), want) << amount;
  }
}

TEST(Profile, UndoRestores) {
  std::mt19937_64 random(7);
  Profile pool;
  pool.resize(64);
  for (int i = 0; i < 50; ++i)
    pool.start(at(static_cast<std::int64_t>(random() % 100)), 1);
  const auto before = pool.breakpoints();
  struct Taken {
    Time start;
    Duration run;
    std::int64_t amount;
  };
  std::vector<Taken> taken;
  for (int i = 0; i < 200; ++i) {
    taken.push_back({at(static_cast<std::int64_t>(random() % 100)),
                     seconds(static_cast<std::int64_t>(random() % 50)),
                     static_cast<std::int64_t>(random() % 9)});
    pool.reserve(taken.back().start, taken.back().run, taken.back().amount);
  }
  EXPECT_NE(pool.breakpoints(), before);
  std::shuffle(taken.begin(), taken.end(), random);
  for (const Taken& t : taken)
    pool.drop(t.start, t.run, t.amount);
  EXPECT_EQ(pool.breakpoints(), before);
}

}  // namespace
}  // namespace berth::core::profile_test
