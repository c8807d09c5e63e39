// Profile: how much of one pool of interchangeable GPUs is free at each future instant.
//
// Three things make it up: what is free now, the expected ends of what runs, and reservations that
// begin and end later. Amounts are in one unit of the caller's choice (thousandths of a GPU).
//
// All of it stands in one tree of breakpoints ordered by time: a treap whose priorities are a hash
// of the time, each node with the sum and the lowest and highest running sum of its subtree. What
// runs only adds to the level as time goes on; only reservations make it fall. "When is the level
// at least x again?" and "when does it next fall below x?" are one descent each, so the earliest
// fit takes two descents for each gap that is too short, however many ends lie between: one for a
// single GPU among 40,000 running tasks. A sorted list of ends would be walked; a separate list of
// reservations would be walked once for every reservation made.
//
// Knows no tasks and no clock: the caller passes `now`. Invariants: the tree holds no breakpoint
// that changes nothing, so equal content has equal breakpoints whatever happened before; sums
// follow from the breakpoints.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace berth::core {

class Profile {
 public:
  struct Breakpoint {
    Time at;
    std::int64_t ends = 0;      // given back by what runs
    std::int64_t reserved = 0;  // by reservations: negative where they begin
    bool operator==(const Breakpoint&) const = default;
  };

  // What is free now, reservations aside.
  std::int64_t free() const { return free_; }

  // GPUs arrive (or leave, below zero).
  void resize(std::int64_t change) { free_ += change; }

  // Work starts now and is expected to end then. An end of Time::never() gives nothing back.
  void start(Time end, std::int64_t amount);
  // The work that was expected to end then has ended.
  void finish(Time end, std::int64_t amount);
  // Work is expected to end at another time. An end that has passed without finish() counts as
  // never coming until it is moved: what is late is not free.
  void move_end(Time from, Time to, std::int64_t amount);

  // Takes the amount over [start, start + run). A reservation that should have begun and has not
  // is held on to until its end.
  void reserve(Time start, Duration run, std::int64_t amount);
  // The exact reverse.
  void drop(Time start, Duration run, std::int64_t amount);

  // The level at an instant; it falls below 0 where late work overlaps a reservation.
  // REQUIRES at >= now, here and below for `from`.
  std::int64_t level(Time now, Time at) const;
  // The lowest level over [from, to). REQUIRES from < to.
  std::int64_t lowest(Time now, Time from, Time to) const;
  // Whether the amount is free all through [from, from + run).
  bool fits(Time now, Time from, Duration run, std::int64_t amount) const;
  // The first instant, not before `from`, at which it fits; never if there is none. Takes one of
  // `visits` for every gap that is too short, at most one for each reservation. They may fall below
  // zero: an answer is never cut short, the caller asks no more.
  Time earliest(Time now, Time from, Duration run, std::int64_t amount, std::int64_t& visits) const;
  // When the amount is free, reservations aside: kFreeNow, an expected end, or never. REQUIRES no
  // end that has passed.
  static constexpr Time kFreeNow{INT64_MIN};
  Time free_from(std::int64_t amount) const;
  // The first expected end after the instant; never if there is none.
  Time next_end(Time after) const;

  // In order of time; for checks and tests.
  std::vector<Breakpoint> breakpoints() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNil = UINT32_MAX;
  enum class Crossing { up_to, below };

  struct Node {  // a cache line
    Breakpoint point;
    Index left = kNil;
    Index right = kNil;
    std::int64_t sum = 0;       // of the subtree, ends and reservations
    std::int64_t sum_ends = 0;  // of the subtree, ends alone
    std::int64_t low = 0;       // the lowest running sum in the subtree, over one node or more
    std::int64_t high = 0;
  };

  void change(Time at, std::int64_t ends, std::int64_t reserved);
  Index changed(Index at, const Breakpoint& by);
  Index fresh(const Breakpoint& point);
  bool goes_above(Index a, Index b) const;
  Index merged(Index a, Index b);
  Index raised_left(Index at);
  Index raised_right(Index at);
  void refresh(Index at);

  std::int64_t now_level(Time now) const;
  std::int64_t sum_until(Time at) const;
  std::int64_t ends_until(Time at) const;
  std::int64_t lowest_sum(Index at, std::int64_t before, Time after, Time to) const;
  // The first breakpoint after an instant where the running sum is at least (or below) a target.
  template <Crossing kCrossing>
  Time cross(Index at, std::int64_t before, Time after, std::int64_t target) const;
  Time next_end(Index at, Time after) const;
  void list(Index at, std::vector<Breakpoint>& out) const;

  std::int64_t free_ = 0;
  Index root_ = kNil;
  Index spare_ = kNil;  // removed nodes, linked by `left`
  std::vector<Node> nodes_;
};

}  // namespace berth::core
