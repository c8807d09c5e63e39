// Strong ids: one type per noun of the glossary, so that a GPU can never be passed as a queue.
//
// Tenants, queues, models, GPUs, nodes, racks, islands, GPU kinds, classes of work and groups are
// small dense numbers that the edge interns from names; the core sees only the numbers. Tasks and
// leases are numbered for ever and never reused.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace berth {

template <class Tag, class Rep>
struct Id {
  using rep = Rep;
  static constexpr Rep kNoneValue = std::numeric_limits<Rep>::max();

  Rep value = kNoneValue;

  constexpr auto operator<=>(const Id&) const = default;
  constexpr explicit operator bool() const { return value != kNoneValue; }
  static constexpr Id none() { return Id{}; }
};

using TaskNo = Id<struct TaskTag, std::uint64_t>;
using LeaseId = Id<struct LeaseTag, std::uint64_t>;
using LoadId = Id<struct LoadTag, std::uint64_t>;
using SignalId = Id<struct SignalTag, std::uint64_t>;
using TenantId = Id<struct TenantTag, std::uint32_t>;
using QueueId = Id<struct QueueTag, std::uint32_t>;
using ModelId = Id<struct ModelTag, std::uint32_t>;
using GpuId = Id<struct GpuTag, std::uint32_t>;
using NodeId = Id<struct NodeTag, std::uint32_t>;
using RackId = Id<struct RackTag, std::uint32_t>;
using IslandId = Id<struct IslandTag, std::uint32_t>;
using KindId = Id<struct KindTag, std::uint32_t>;
using WorkClassId = Id<struct WorkClassTag, std::uint8_t>;
using GroupId = Id<struct GroupTag, std::uint32_t>;

}  // namespace berth
