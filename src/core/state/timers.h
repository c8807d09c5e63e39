// Timers: one heap per kind; the next one due is the least (due, kind, id).
//
// A timer belongs to a thing (a task's slot, a queue, …) and there is at most one per thing and
// kind. The id in the key is a number that outlives slots, so that simultaneous timers fire in an
// order that a restored state shares.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>

#include "base/indexed_heap.h"
#include "base/time.h"

namespace berth::core {

enum class TimerKind : std::uint8_t {
  fill,        // queue: its oldest task has waited max_batch_wait
  patience,    // queue: passed over for too long
  copy,        // queue: every copy of its model has been busy for as long as a load takes
  tier,        // flow: its head may cross tiers
  usage,       // tenant: a bucket of its usage window rolls
  preemption,  // of the engine: whether work should be stopped for other work is asked again
  keep_alive,  // gpu: a model has been idle for long (may come early; then it is set again)
  lease,       // lease: the run time charged so far is used up
  task,        // task: expires, or becomes eligible
};
inline constexpr std::size_t kTimerKinds = 9;

struct TimerKey {
  Time due;
  std::uint64_t id = 0;
  constexpr auto operator<=>(const TimerKey&) const = default;
};

struct DueTimer {
  Time due;
  TimerKind kind;
  std::uint32_t handle;
};

class Timers {
 public:
  void set(TimerKind kind, std::uint32_t handle, std::uint64_t id, Time due) {
    if (due == Time::never()) {
      clear(kind, handle);
    } else {
      heap(kind).put(positions(kind), handle, TimerKey{due, id});
    }
  }
  void clear(TimerKind kind, std::uint32_t handle) { heap(kind).erase(positions(kind), handle); }
  Time due_of(TimerKind kind, std::uint32_t handle) const {
    const auto& where = positions_[static_cast<std::size_t>(kind)];
    if (where.get(handle) == HeapPositions::kAbsent) return Time::never();
    return heaps_[static_cast<std::size_t>(kind)].key_of(where, handle).due;
  }

  // For checks.
  const IndexedHeap<TimerKey>& heap_of(TimerKind kind) const {
    return heaps_[static_cast<std::size_t>(kind)];
  }
  const HeapPositions& positions_of(TimerKind kind) const {
    return positions_[static_cast<std::size_t>(kind)];
  }

  // The next timer among kinds below `end`.
  std::optional<DueTimer> next(std::size_t end = kTimerKinds) const {
    std::optional<DueTimer> first;
    for (std::size_t kind = 0; kind < end; ++kind) {
      if (heaps_[kind].empty()) continue;
      const auto& top = heaps_[kind].top();
      if (!first || top.key.due < first->due) {
        first = DueTimer{top.key.due, static_cast<TimerKind>(kind), top.handle};
      }
    }
    return first;
  }

 private:
  IndexedHeap<TimerKey>& heap(TimerKind kind) { return heaps_[static_cast<std::size_t>(kind)]; }
  HeapPositions& positions(TimerKind kind) { return positions_[static_cast<std::size_t>(kind)]; }

  std::array<IndexedHeap<TimerKey>, kTimerKinds> heaps_;
  std::array<HeapPositions, kTimerKinds> positions_;
};

// Kinds below this one take effect by applying alone, in recovery too; what else they lead to (an
// idle model is evicted) is a decision, recorded as such.
inline constexpr std::size_t kQuietTimerKinds = static_cast<std::size_t>(TimerKind::lease);

}  // namespace berth::core
