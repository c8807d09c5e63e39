// See flow_table.h.
#include "core/state/flow_table.h"

#include "base/assert.h"

namespace berth::core {
namespace {

std::uint64_t index_key(std::uint8_t tier, TenantId tenant, QueueId queue) {
  ASSERT(tier < 4 && queue.value < (1U << 30));
  return static_cast<std::uint64_t>(queue.value) << 34 |
         static_cast<std::uint64_t>(tenant.value) << 2 | tier;
}

}  // namespace

std::uint32_t FlowTable::find(std::uint8_t tier, TenantId tenant, QueueId queue,
                              std::uint32_t shape) const {
  const std::uint64_t key = index_key(tier, tenant, queue);
  if (shape == kNoSlot) return index_.find(key);
  const auto known = placed_.find({key, shape});
  return known == placed_.end() ? kNoSlot : known->second;
}

std::uint32_t FlowTable::find_or_create(std::uint8_t tier, TenantId tenant, QueueId queue,
                                        std::uint32_t shape) {
  if (const std::uint32_t known = find(tier, tenant, queue, shape); known != kNoSlot) return known;
  const std::uint64_t key = index_key(tier, tenant, queue);
  Flow fresh;
  fresh.shape = shape;
  fresh.tenant = tenant;
  fresh.queue = queue;
  fresh.tier = tier;
  const auto id = static_cast<std::uint32_t>(flows_.push_back(std::move(fresh)));
  if (shape == kNoSlot) {
    index_.insert(key, id);
  } else {
    placed_.emplace(std::pair{key, shape}, id);
  }
  return id;
}

Lane& FlowTable::lane_for(Flow& flow, std::int16_t priority, std::uint8_t cost_class) {
  auto it = flow.lanes.begin();
  while (it != flow.lanes.end() &&
         (it->priority > priority || (it->priority == priority && it->cost_class < cost_class))) {
    ++it;
  }
  if (it == flow.lanes.end() || it->priority != priority || it->cost_class != cost_class) {
    it = flow.lanes.insert(it, Lane{});
    it->priority = priority;
    it->cost_class = cost_class;
  }
  return *it;
}

}  // namespace berth::core
