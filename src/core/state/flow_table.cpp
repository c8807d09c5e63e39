// See flow_table.h.
#include "core/state/flow_table.h"

#include "base/assert.h"

namespace berth::core {
namespace {

std::uint64_t index_key(const FlowTable::Name& name) {
  ASSERT(name.tier < 4 && name.queue.value < (1U << 30) && name.tenant.value < (1U << 31));
  return static_cast<std::uint64_t>(name.queue.value) << 34 |
         static_cast<std::uint64_t>(name.tenant.value) << 3 | (name.commands ? 4U : 0U) | name.tier;
}

}  // namespace

std::uint32_t FlowTable::find(const Name& name) const {
  const std::uint64_t key = index_key(name);
  if (name.shape == kNoSlot) return index_.find(key);
  const auto known = placed_.find({key, name.shape});
  return known == placed_.end() ? kNoSlot : known->second;
}

std::uint32_t FlowTable::find_or_create(const Name& name) {
  if (const std::uint32_t known = find(name); known != kNoSlot) return known;
  Flow fresh;
  fresh.shape = name.shape;
  fresh.tenant = name.tenant;
  fresh.queue = name.queue;
  fresh.tier = name.tier;
  fresh.commands = name.commands;
  std::uint32_t id = kNoSlot;
  if (spare_.empty()) {
    id = static_cast<std::uint32_t>(flows_.push_back(std::move(fresh)));
  } else {
    id = spare_.back();
    spare_.pop_back();
    flows_[id] = std::move(fresh);
  }
  if (name.shape == kNoSlot) {
    index_.insert(index_key(name), id);
  } else {
    placed_.emplace(std::pair{index_key(name), name.shape}, id);
  }
  return id;
}

void FlowTable::forget(std::uint32_t id) {
  Flow& flow = flows_[id];
  ASSERT(flow.shape != kNoSlot && flow.live == 0 && !flow.competes);
  placed_.erase({index_key(flow_name(flow)), flow.shape});
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
