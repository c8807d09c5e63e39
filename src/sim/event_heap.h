// EventHeap: what is still to happen, earliest first. Ties are broken by rank, then by the order of
// planning, so two runs never differ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.h"

namespace berth::sim {

template <class Item>
class EventHeap {
 public:
  struct Planned {
    Time at;
    std::uint32_t rank = 0;  // lower first, at the same instant
    std::uint64_t sequence = 0;
    Item item;
  };

  void add(Time at, std::uint32_t rank, Item item) {
    if (at == Time::never()) return;
    heap_.push_back({at, rank, sequence_++, std::move(item)});
    std::ranges::push_heap(heap_, later);
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Planned& top() const { return heap_.front(); }

  Planned pop() {
    std::ranges::pop_heap(heap_, later);
    Planned planned = std::move(heap_.back());
    heap_.pop_back();
    return planned;
  }

 private:
  static bool later(const Planned& a, const Planned& b) {
    return std::tuple(a.at, a.rank, a.sequence) > std::tuple(b.at, b.rank, b.sequence);
  }

  std::vector<Planned> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace berth::sim
