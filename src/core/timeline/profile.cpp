// See profile.h.
#include "core/timeline/profile.h"

#include <algorithm>

#include "base/assert.h"
#include "base/scramble.h"

namespace berth::core {
namespace {

constexpr Time kAlways{INT64_MIN};  // before every breakpoint, as Time::never() is after each

std::uint64_t priority_of(Time at) { return scramble(static_cast<std::uint64_t>(at.ns)); }

}  // namespace

// ---- Changes
// -------------------------------------------------------------------------------------

void Profile::start(Time end, std::int64_t amount) {
  free_ -= amount;
  change(end, amount, 0);
}

void Profile::finish(Time end, std::int64_t amount) {
  free_ += amount;
  change(end, -amount, 0);
}

void Profile::move_end(Time from, Time to, std::int64_t amount) {
  change(from, -amount, 0);
  change(to, amount, 0);
}

void Profile::reserve(Time start, Duration run, std::int64_t amount) {
  change(start, 0, -amount);
  change(start + run, 0, amount);
}

void Profile::drop(Time start, Duration run, std::int64_t amount) { reserve(start, run, -amount); }

void Profile::change(Time at, std::int64_t ends, std::int64_t reserved) {
  if (at == Time::never()) return;
  root_ = changed(root_, {at, ends, reserved});
}

// The subtree after a change; a breakpoint is made when it is needed and goes when it changes
// nothing any more. Only a child that is another node than before can be out of order.
Profile::Index Profile::changed(Index at, const Breakpoint& by) {
  if (at == kNil) return by.ends == 0 && by.reserved == 0 ? kNil : fresh(by);
  if (by.at < nodes_[at].point.at) {
    const Index before = nodes_[at].left;
    const Index left = changed(before, by);
    if (left != before) {
      nodes_[at].left = left;
      if (left != kNil && goes_above(left, at)) return raised_left(at);
    }
  } else if (nodes_[at].point.at < by.at) {
    const Index before = nodes_[at].right;
    const Index right = changed(before, by);
    if (right != before) {
      nodes_[at].right = right;
      if (right != kNil && goes_above(right, at)) return raised_right(at);
    }
  } else {
    Breakpoint& point = nodes_[at].point;
    point.ends += by.ends;
    point.reserved += by.reserved;
    if (point.ends == 0 && point.reserved == 0) {
      const Index rest = merged(nodes_[at].left, nodes_[at].right);
      nodes_[at].left = spare_;
      spare_ = at;
      return rest;
    }
  }
  refresh(at);
  return at;
}

bool Profile::goes_above(Index a, Index b) const {
  return priority_of(nodes_[a].point.at) > priority_of(nodes_[b].point.at);
}

Profile::Index Profile::fresh(const Breakpoint& point) {
  Index at = spare_;
  if (at == kNil) {
    at = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    spare_ = nodes_[at].left;
  }
  nodes_[at] = {.point = point};
  refresh(at);
  return at;
}

// Joins two subtrees; everything in `a` is earlier than everything in `b`.
Profile::Index Profile::merged(Index a, Index b) {
  if (a == kNil) return b;
  if (b == kNil) return a;
  if (goes_above(a, b)) {
    nodes_[a].right = merged(nodes_[a].right, b);
    refresh(a);
    return a;
  }
  nodes_[b].left = merged(a, nodes_[b].left);
  refresh(b);
  return b;
}

Profile::Index Profile::raised_left(Index at) {
  const Index top = nodes_[at].left;
  nodes_[at].left = nodes_[top].right;
  nodes_[top].right = at;
  refresh(at);
  refresh(top);
  return top;
}

Profile::Index Profile::raised_right(Index at) {
  const Index top = nodes_[at].right;
  nodes_[at].right = nodes_[top].left;
  nodes_[top].left = at;
  refresh(at);
  refresh(top);
  return top;
}

void Profile::refresh(Index at) {
  Node& node = nodes_[at];
  std::int64_t running = node.point.ends + node.point.reserved;
  node.sum_ends = node.point.ends;
  if (node.left == kNil) {
    node.low = node.high = running;
  } else {
    const Node& left = nodes_[node.left];
    running += left.sum;
    node.sum_ends += left.sum_ends;
    node.low = std::min(left.low, running);
    node.high = std::max(left.high, running);
  }
  node.sum = running;
  if (node.right != kNil) {
    const Node& right = nodes_[node.right];
    node.sum += right.sum;
    node.sum_ends += right.sum_ends;
    node.low = std::min(node.low, running + right.low);
    node.high = std::max(node.high, running + right.high);
  }
}

// ---- Questions
// -----------------------------------------------------------------------------------

// The level is this plus the running sum: what is late is taken out of the sum again.
std::int64_t Profile::now_level(Time now) const { return free_ - ends_until(now); }

std::int64_t Profile::sum_until(Time until) const {
  std::int64_t sum = 0;
  for (Index at = root_; at != kNil;) {
    const Node& node = nodes_[at];
    if (until < node.point.at) {
      at = node.left;
    } else {
      sum += node.sum - (node.right == kNil ? 0 : nodes_[node.right].sum);
      at = node.right;
    }
  }
  return sum;
}

std::int64_t Profile::ends_until(Time until) const {
  std::int64_t sum = 0;
  for (Index at = root_; at != kNil;) {
    const Node& node = nodes_[at];
    if (until < node.point.at) {
      at = node.left;
    } else {
      sum += node.sum_ends - (node.right == kNil ? 0 : nodes_[node.right].sum_ends);
      at = node.right;
    }
  }
  return sum;
}

std::int64_t Profile::level(Time now, Time at) const {
  ASSERT(at >= now);
  return now_level(now) + sum_until(at);
}

std::int64_t Profile::lowest(Time now, Time from, Time to) const {
  ASSERT(now <= from && from < to);
  return now_level(now) + std::min(sum_until(from), lowest_sum(root_, 0, from, to));
}

// The lowest running sum at breakpoints of the subtree inside (after, to); `before` is the running
// sum in front of the subtree.
std::int64_t Profile::lowest_sum(Index at, std::int64_t before, Time after, Time to) const {
  if (at == kNil) return INT64_MAX;
  const Node& node = nodes_[at];
  if (after == kAlways && to == Time::never()) return before + node.low;
  const std::int64_t left_sum = node.left == kNil ? 0 : nodes_[node.left].sum;
  const std::int64_t here = before + left_sum + node.point.ends + node.point.reserved;
  if (node.point.at <= after) return lowest_sum(node.right, here, after, to);
  if (node.point.at >= to) return lowest_sum(node.left, before, after, to);
  return std::min({lowest_sum(node.left, before, after, Time::never()), here,
                   lowest_sum(node.right, here, kAlways, to)});
}

bool Profile::fits(Time now, Time from, Duration run, std::int64_t amount) const {
  ASSERT(from >= now);
  const std::int64_t target = amount - now_level(now);
  if (sum_until(from) < target) return false;
  return cross<Crossing::below>(root_, 0, from, target) >= from + run;
}

Time Profile::earliest(Time now, Time from, Duration run, std::int64_t amount,
                       std::int64_t& visits) const {
  ASSERT(from >= now);
  const std::int64_t target = amount - now_level(now);
  Time start = from;
  if (sum_until(start) < target) start = cross<Crossing::up_to>(root_, 0, start, target);
  while (start != Time::never()) {
    const Time fall = cross<Crossing::below>(root_, 0, start, target);
    if (fall >= start + run) return start;
    --visits;
    start = cross<Crossing::up_to>(root_, 0, fall, target);
  }
  return start;
}

template <Profile::Crossing kCrossing>
Time Profile::cross(Index at, std::int64_t before, Time after, std::int64_t target) const {
  if (at == kNil) return Time::never();
  const auto crosses = [target](std::int64_t sum) {
    return kCrossing == Crossing::up_to ? sum >= target : sum < target;
  };
  const Node& node = nodes_[at];
  if (!crosses(before + (kCrossing == Crossing::up_to ? node.high : node.low))) {
    return Time::never();
  }
  const std::int64_t left_sum = node.left == kNil ? 0 : nodes_[node.left].sum;
  const std::int64_t here = before + left_sum + node.point.ends + node.point.reserved;
  if (after < node.point.at) {
    const Time left = cross<kCrossing>(node.left, before, after, target);
    if (left != Time::never()) return left;
    if (crosses(here)) return node.point.at;
  }
  return cross<kCrossing>(node.right, here, after, target);
}

Time Profile::free_from(std::int64_t amount) const {
  std::int64_t missing = amount - free_;
  if (missing <= 0) return kFreeNow;
  Index at = root_;
  if (at == kNil || nodes_[at].sum_ends < missing) return Time::never();
  for (;;) {
    const Node& node = nodes_[at];
    const std::int64_t left = node.left == kNil ? 0 : nodes_[node.left].sum_ends;
    if (left >= missing) {
      at = node.left;
      continue;
    }
    missing -= left + node.point.ends;
    if (missing <= 0) return node.point.at;
    at = node.right;
  }
}

Time Profile::next_end(Time after) const { return next_end(root_, after); }

Time Profile::next_end(Index at, Time after) const {
  if (at == kNil || nodes_[at].sum_ends == 0) return Time::never();
  const Node& node = nodes_[at];
  if (after < node.point.at) {
    const Time left = next_end(node.left, after);
    if (left != Time::never()) return left;
    if (node.point.ends > 0) return node.point.at;
  }
  return next_end(node.right, after);
}

std::vector<Profile::Breakpoint> Profile::breakpoints() const {
  std::vector<Breakpoint> out;
  list(root_, out);
  return out;
}

void Profile::list(Index at, std::vector<Breakpoint>& out) const {
  if (at == kNil) return;
  list(nodes_[at].left, out);
  out.push_back(nodes_[at].point);
  list(nodes_[at].right, out);
}

}  // namespace berth::core
