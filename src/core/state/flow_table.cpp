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
  std::uint32_t id = kNoSlot;
  if (spare_.empty()) {
    id = static_cast<std::uint32_t>(flows_.push_back(std::move(fresh)));
  } else {
    id = spare_.back();
    spare_.pop_back();
    flows_[id] = std::move(fresh);
  }
  if (shape == kNoSlot) {
    index_.insert(key, id);
  } else {
    placed_.emplace(std::pair{key, shape}, id);
  }
  return id;
}

void FlowTable::forget(std::uint32_t id) {
  Flow& flow = flows_[id];
  ASSERT(flow.shape != kNoSlot && flow.live == 0 && !flow.competes);
  placed_.erase({index_key(flow.tier, flow.tenant, flow.queue), flow.shape});
  flow = Flow{};
  spare_.push_back(id);
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
