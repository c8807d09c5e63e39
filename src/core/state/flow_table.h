// Flows: (tier, tenant, queue), the unit that competes for service, and the FIFOs inside it.
// Commands have a flow of their own, since they may share no batch; placed work has one for each
// shape, so that what fits nowhere keeps nobody waiting.
//
// A flow keeps its pending tasks in lanes. Inside a lane the order of arrival is the order of
// service, so only lane heads compete; a lane is one priority (and, for orders that weigh the cost
// of a task, one cost class). Tasks that come back to their old place after an infrastructure loss
// stand in a sorted list beside the lane's FIFO; which of the two a task is in never matters.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/chunk_fifo.h"
#include "base/flat_map.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/state/order_key.h"
#include "core/state/task_table.h"

namespace berth::core {

// A task that stands beside the FIFO of its lane.
struct ReturnedTask {
  std::int64_t place = 0;  // in the lane; see lane_place
  TaskNo no;
  std::uint32_t slot = kNoSlot;
  auto operator<=>(const ReturnedTask& other) const {
    return std::tie(place, no) <=> std::tie(other.place, other.no);
  }
  bool operator==(const ReturnedTask& other) const { return no == other.no; }
};

// Tasks by (place, number): those that come in order in the FIFO, the others beside it. The place
// is the instant they were eligible, or how long they run.
struct Lane {
  std::int16_t priority = 0;
  std::uint8_t cost_class = 0;
  Fifo fifo;                            // its front record is never a tombstone
  std::uint32_t live = 0;               // records of the FIFO that are not tombstones
  std::int64_t last_place = INT64_MIN;  // of the record pushed last
  TaskNo last_no;
  std::set<ReturnedTask> returned;
};

// What the order asks about a head, kept with the flow so that comparing flows touches no rows.
struct Head {
  std::uint32_t slot = kNoSlot;  // none: the flow is empty
  TaskNo no;
  Time eligible;
  Duration expected_run;
  std::uint32_t vram = 0;
  std::int16_t priority = 0;
  std::uint16_t share = 1000;
  std::uint16_t gpus = 1;
};

inline Head head_from(const TaskRow& row, std::uint32_t slot) {
  return {slot,     row.no,       row.eligible, row.expected_run,
          row.vram, row.priority, row.share,    row.gpus};
}

// With whom tasks of a flow may share a batch.
enum class Sharing : std::uint8_t {
  all,     // with any other of its queue that shares with all
  tenant,  // with those of its tenant
  none,    // each is a batch of its own
};

struct Flow {
  TenantId tenant;
  QueueId queue;
  std::uint8_t tier = 0;
  bool commands = false;           // its tasks run programs of their own; of placed work not told
  std::uint32_t shape = kNoSlot;   // of placed work: its number in the shape table
  bool crossed = false;            // its head waited past tier_patience: competes in tier 0
  bool competes = false;           // its tenant may start its head: it stands in the queue's heap
  Sharing sharing = Sharing::all;  // counted so while it competes
  std::uint32_t live = 0;
  Head head;                                 // brought up to date by refresh_flow
  std::vector<Lane> lanes;                   // by priority descending, then cost class
  std::set<std::pair<Time, TaskNo>> by_age;  // its tasks, where lanes are not in that order
  // Where it stands in the lists of its tenant and of its queue.
  std::uint32_t in_tenant = 0;
  std::uint32_t in_queue = 0;
};

class FlowTable {
 public:
  // What tells flows apart.
  struct Name {
    std::uint8_t tier = 0;
    TenantId tenant;
    QueueId queue;
    bool commands = false;
    std::uint32_t shape = kNoSlot;
  };
  // The flow's number; made on first use. Numbers of forgotten flows are used again.
  std::uint32_t find_or_create(const Name& name);
  // kNoSlot: does not exist.
  std::uint32_t find(const Name& name) const;

  // REQUIRES a flow of placed work without tasks.
  void forget(std::uint32_t id);
  bool exists(std::uint32_t id) const { return static_cast<bool>(flows_[id].tenant); }

  Flow& flow(std::uint32_t id) { return flows_[id]; }
  const Flow& flow(std::uint32_t id) const { return flows_[id]; }
  std::size_t size() const { return flows_.size(); }

  // The lane for this priority and cost class, made on first use.
  static Lane& lane_for(Flow& flow, std::int16_t priority, std::uint8_t cost_class);

  ChunkPool& pool() { return pool_; }
  const ChunkPool& pool() const { return pool_; }

 private:
  PagedVector<Flow, 256> flows_;
  std::vector<std::uint32_t> spare_;  // forgotten
  FlatMap64 index_;                   // queue << 34 | tenant << 3 | commands << 2 | tier
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> placed_;  // the same, shape
  ChunkPool pool_;
};

// The flow that the task belongs to while it is pending.
inline FlowTable::Name flow_name(const TaskRow& row) {
  const bool is_placed = row.shape != kNoSlot;
  return {row.tier, row.tenant, row.queue, row.command && !is_placed, row.shape};
}
inline FlowTable::Name flow_name(const Flow& flow) {
  return {flow.tier, flow.tenant, flow.queue, flow.commands, flow.shape};
}

}  // namespace berth::core
