// IndexedHeap: a 4-ary min-heap of (key, handle) whose entries can be found, moved and removed.
//
// Where each handle stands is kept by the caller, in a `Positions` array shared by all heaps over
// the same handles (a handle is in at most one of them at a time). Keys must be totally ordered:
// the order of pops then depends on the content alone, never on the history of insertions.
// O(log n) per change, O(1) for top.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/paged_vector.h"

namespace berth {

class HeapPositions {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  std::uint32_t get(std::uint32_t handle) const {
    return handle < positions_.size() ? ~positions_[handle] : kAbsent;
  }
  // Makes room for the handle. A handle is added once and moved often: moves need not ask.
  void add(std::uint32_t handle) { positions_.grow_to(static_cast<std::size_t>(handle) + 1); }
  // The handle was added.
  void set(std::uint32_t handle, std::uint32_t position) { positions_[handle] = ~position; }

 private:
  PagedVector<std::uint32_t> positions_;  // complemented, so that fresh pages read as absent
};

template <class Key>
class IndexedHeap {
 public:
  struct Entry {
    Key key;
    std::uint32_t handle;
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const Entry& top() const {
    ASSERT(!entries_.empty());
    return entries_.front();
  }
  const std::vector<Entry>& entries() const { return entries_; }
  static constexpr std::size_t kArity = 4;

  // Inserts the handle or moves it to its new key.
  void put(HeapPositions& positions, std::uint32_t handle, const Key& key) {
    std::uint32_t at = positions.get(handle);
    if (at == HeapPositions::kAbsent) {
      at = static_cast<std::uint32_t>(entries_.size());
      positions.add(handle);
      entries_.push_back({key, handle});
      sift_up(positions, at);
      return;
    }
    ASSERT(at < entries_.size() && entries_[at].handle == handle);
    const bool earlier = key < entries_[at].key;
    entries_[at].key = key;
    if (earlier) {
      sift_up(positions, at);
    } else {
      sift_down(positions, at);
    }
  }

  // Removes the handle if it is here.
  void erase(HeapPositions& positions, std::uint32_t handle) {
    const std::uint32_t at = positions.get(handle);
    if (at == HeapPositions::kAbsent) return;
    ASSERT(at < entries_.size() && entries_[at].handle == handle);
    positions.set(handle, HeapPositions::kAbsent);
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    const bool earlier = last.key < entries_[at].key;
    entries_[at] = last;
    if (earlier) {
      sift_up(positions, at);
    } else {
      sift_down(positions, at);
    }
  }

  const Key& key_of(const HeapPositions& positions, std::uint32_t handle) const {
    const std::uint32_t at = positions.get(handle);
    ASSERT(at < entries_.size());
    return entries_[at].key;
  }

 private:
  void sift_up(HeapPositions& positions, std::uint32_t at) {
    const Entry moving = entries_[at];
    while (at > 0) {
      const auto parent = static_cast<std::uint32_t>((at - 1) / kArity);
      if (!(moving.key < entries_[parent].key)) break;
      entries_[at] = entries_[parent];
      positions.set(entries_[at].handle, at);
      at = parent;
    }
    entries_[at] = moving;
    positions.set(moving.handle, at);
  }

  void sift_down(HeapPositions& positions, std::uint32_t at) {
    const Entry moving = entries_[at];
    const std::size_t n = entries_.size();
    for (;;) {
      const std::size_t first = static_cast<std::size_t>(at) * kArity + 1;
      if (first >= n) break;
      std::size_t least = first;
      const std::size_t end = first + kArity < n ? first + kArity : n;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (entries_[child].key < entries_[least].key) least = child;
      }
      if (!(entries_[least].key < moving.key)) break;
      entries_[at] = entries_[least];
      positions.set(entries_[at].handle, at);
      at = static_cast<std::uint32_t>(least);
    }
    entries_[at] = moving;
    positions.set(moving.handle, at);
  }

  std::vector<Entry> entries_;
};

}  // namespace berth
