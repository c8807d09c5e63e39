// Checks lanes, flows and the heaps of flows. See check.h.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/chunk_fifo.h"
#include "core/state/check.h"

namespace berth::core {
namespace {

using LaneKey = std::pair<std::int16_t, std::uint8_t>;  // priority, cost class
using SeenSlots = std::vector<std::uint32_t>;           // how often lanes keep each slot

std::uint8_t class_of(const State& state, const TaskRow& row) {
  return state.rule->lanes_by_cost ? cost_class(row) : std::uint8_t{0};
}

std::int64_t place_of(const State& state, const TaskRow& row) {
  if (!state.rule->lanes_by_run) return row.eligible.ns;
  return row.expected_run.ns > 0 ? row.expected_run.ns : kUnknownRun.ns;
}

bool comes_before(const State& state, const TaskRow& a, const TaskRow& b) {
  return std::pair(place_of(state, a), a.no) < std::pair(place_of(state, b), b.no);
}

// Whether nobody from the tenant up is paused or would be beyond a limit.
bool tenants_allow(const State& state, TenantId id, std::int64_t use) {
  for (; id; id = state.tenant(id).spec.parent) {
    const Tenant& tenant = state.tenant(id);
    const TenantSpec& spec = tenant.spec;
    const std::int64_t then = tenant.subtree_use.value + use;
    const bool over_max = spec.max_gpus && then > spec.max_gpus->value;
    const bool over_borrowed =
        spec.borrow_gpus && then > spec.guaranteed_gpus.value + spec.borrow_gpus->value;
    if (tenant.paused || over_max || over_borrowed) return false;
  }
  return true;
}

// Notes where a lane keeps a task; says so if it does not belong there.
void note_member(const State& state, std::uint32_t flow_id, const Lane& lane, std::uint32_t slot,
                 SeenSlots& seen, Findings& findings) {
  if (slot >= state.tasks.slots() || !state.tasks.is_live(slot)) {
    findings.say("a lane of flow ", flow_id, " keeps slot ", slot, ", which is free");
    return;
  }
  ++seen[slot];
  const TaskRow& row = state.tasks.row(slot);
  findings.same(row.state, TaskState::pending, "state of task ", row.no, " in a lane");
  findings.same(row.flow, flow_id, "flow of task ", row.no, " in a lane");
  findings.must(row.priority == lane.priority && class_of(state, row) == lane.cost_class, "task ",
                row.no, " of priority ", row.priority, " is in the lane of ", lane.priority,
                " and class ", lane.cost_class);
}

std::uint32_t check_fifo(const State& state, std::uint32_t flow_id, const Lane& lane,
                         SeenSlots& seen, Findings& findings) {
  std::uint32_t live = 0;
  std::uint32_t before = kNoSlot;
  bool is_front = true;
  for (ChunkPool::Cursor at(state.flows.pool(), lane.fifo); !at.done(); at.advance()) {
    const FifoRecord record = *at;
    const bool stale =
        record.slot >= state.tasks.slots() || state.tasks.row(record.slot).stamp != record.stamp;
    findings.must(!stale || !is_front, "a lane of flow ", flow_id, " begins with a tombstone");
    is_front = false;
    if (stale) continue;
    ++live;
    note_member(state, flow_id, lane, record.slot, seen, findings);
    findings.must(before == kNoSlot ||
                      comes_before(state, state.tasks.row(before), state.tasks.row(record.slot)),
                  "task ", state.tasks.row(record.slot).no, " stands too late in flow ", flow_id);
    before = record.slot;
  }
  if (before != kNoSlot) {
    const TaskRow& last = state.tasks.row(before);
    findings.must(
        std::pair(place_of(state, last), last.no) <= std::pair(lane.last_place, lane.last_no),
        "a lane of flow ", flow_id, " remembers task ", lane.last_no, " as its last, derived ",
        last.no, " or later");
  }
  return live;
}

void check_lanes(const State& state, std::uint32_t flow_id, SeenSlots& seen, Findings& findings) {
  const Flow& flow = state.flows.flow(flow_id);
  for (std::size_t i = 0; i < flow.lanes.size(); ++i) {
    const Lane& lane = flow.lanes[i];
    if (i > 0) {
      const Lane& above = flow.lanes[i - 1];
      findings.must(above.priority > lane.priority ||
                        (above.priority == lane.priority && above.cost_class < lane.cost_class),
                    "the lanes of flow ", flow_id, " are not sorted at ", i);
    }
    findings.same(lane.live, check_fifo(state, flow_id, lane, seen, findings),
                  "live records of lane ", i, " of flow ", flow_id);
    for (const ReturnedTask& returned : lane.returned) {
      note_member(state, flow_id, lane, returned.slot, seen, findings);
      const TaskRow& row = state.tasks.row(returned.slot);
      findings.must(row.no == returned.no && place_of(state, row) == returned.place, "task ",
                    returned.no, " stands in its lane at ", returned.place, ", its row says ",
                    place_of(state, row));
    }
  }
}

// Where it stands among its tenant's flows, and its tenant among all.
void check_rank(const State& state, std::uint32_t id, OrderKey exact, Findings& findings) {
  const PlacedWork& placed = state.placed;
  const Flow& flow = state.flows.flow(id);
  if (state.shape_table.shape(flow.shape).profile != mig::kNoProfile) return;
  const std::uint32_t at = placed.flow_positions.get(id);
  const std::uint32_t tenant_at = placed.tenant_positions.get(flow.tenant.value);
  findings.must(at != HeapPositions::kAbsent && tenant_at != HeapPositions::kAbsent, "flow ", id,
                " competes and has no rank");
  if (at == HeapPositions::kAbsent || tenant_at == HeapPositions::kAbsent) return;
  findings.must(placed.ranked.entries()[tenant_at].key <= exact, "the stored key ",
                placed.ranked.entries()[tenant_at].key, " of tenant ", flow.tenant,
                " is above that of its flow ", id, ", ", exact);
  if (state.rule->value_is_v) exact.value = 0;
  const OrderKey& kept = placed.of_tenant[flow.tenant.value].entries()[at].key;
  findings.must(kept <= exact, "flow ", id, " ranks in its tenant by ", kept, ", above ", exact);
}

void check_placed_flow(const State& state, std::uint32_t id, const DerivedFlow& derived,
                       Findings& findings) {
  const Flow& flow = state.flows.flow(id);
  const IndexedHeap<OrderKey>& heap = state.placed.shapes[flow.shape].flows;
  const std::uint32_t at = state.flow_positions.get(id);
  const bool in_heap = at < heap.size() && heap.entries()[at].handle == id;
  findings.same(in_heap, derived.startable, "whether flow ", id, " competes in its shape");
  if (!in_heap || !derived.startable) return;
  const OrderKey exact = state.rule->placed_key(state, state.queue(flow.queue), derived.key);
  findings.must(heap.entries()[at].key <= exact, "the stored key ", heap.entries()[at].key,
                " of flow ", id, " is above the exact one ", exact);
  check_rank(state, id, exact, findings);
}

void check_flow(const State& state, std::uint32_t id, const DerivedFlow& derived,
                Findings& findings) {
  const Flow& flow = state.flows.flow(id);
  const Queue& queue = state.queue(flow.queue);
  findings.same(state.flows.find(flow_name(flow)), id, "index of flow ", id);
  findings.same(flow.live, derived.live, "live tasks of flow ", id);
  findings.same(flow.head.slot, derived.head.slot, "slot of the head of flow ", id);
  if (derived.head.slot != kNoSlot) {
    const Head& head = flow.head;
    const Head& want = derived.head;
    findings.must(
        std::tie(head.no, head.eligible, head.expected_run, head.vram, head.priority, head.share,
                 head.gpus) == std::tie(want.no, want.eligible, want.expected_run, want.vram,
                                        want.priority, want.share, want.gpus),
        "flow ", id, " remembers other numbers of its head ", head.no, " than task ", want.no,
        " has");
  }
  const bool has_head = derived.head.slot != kNoSlot;
  const Time crosses = has_head && flow.tier > 0
                           ? derived.head.eligible + state.policy.tier_patience
                           : Time::never();
  // Its timer may be due and not have fired yet.
  const bool about_to_cross = state.timers.due_of(TimerKind::tier, id) == crosses;
  if (crosses > state.now || crosses == Time::never() || !about_to_cross) {
    findings.same(flow.crossed, crosses <= state.now && crosses != Time::never(), "whether flow ",
                  id, " has crossed tiers");
  }

  findings.same(flow.competes, derived.startable, "whether flow ", id, " says that it competes");
  if (flow.shape != kNoSlot) return check_placed_flow(state, id, derived, findings);
  const std::uint32_t at = state.flow_positions.get(id);
  const bool in_heap = at < queue.flows.size() && queue.flows.entries()[at].handle == id;
  findings.same(in_heap, derived.startable, "whether flow ", id, " competes in queue ", flow.queue);
  findings.must(in_heap || at == HeapPositions::kAbsent, "flow ", id, " has the position ", at,
                " and is not there");
  if (in_heap && derived.startable) {
    const OrderKey& stored = queue.flows.entries()[at].key;
    findings.must(stored <= derived.key, "the stored key ", stored, " of flow ", id,
                  " is above the exact one ", derived.key);
  }

  if (flow.competes) {
    const Sharing sharing = sharing_of(state, flow.tenant, flow.queue, flow.commands);
    findings.must(flow.sharing == sharing, "flow ", id, " shares its batches otherwise than said");
  }
  const std::uint32_t oldest_at = state.oldest_positions.get(id);
  const bool has_oldest =
      oldest_at < queue.oldest.size() && queue.oldest.entries()[oldest_at].handle == id;
  findings.same(has_oldest, derived.startable, "whether flow ", id,
                " is in the heap of oldest tasks");
  if (has_oldest && derived.startable) {
    findings.same(queue.oldest.entries()[oldest_at].key.eligible_ns, derived.oldest.ns,
                  "oldest task of flow ", id);
  }
}

// What queues, models and tenants count of the flows that compete.
void check_competition(const State& state, const std::vector<DerivedFlow>& flows,
                       Findings& findings) {
  struct Startable {
    std::uint32_t all = 0;
    std::uint32_t apart = 0;
  };
  std::vector<Startable> queues(state.queues.size());
  std::vector<std::uint32_t> backlog(state.models.size(), 0);
  std::vector<std::array<std::uint32_t, kTiers>> tenants(state.tenants.size());
  std::vector<OrderedSet> uses(state.tenants.size());
  for (std::uint32_t id = 0; id < flows.size(); ++id) {
    if (!state.flows.exists(id)) continue;
    const Flow& flow = state.flows.flow(id);
    const Tenant& tenant = state.tenant(flow.tenant);
    const Head& head = flows[id].head;
    for (TenantId at = flow.tenant; at && head.slot != kNoSlot; at = state.tenant(at).spec.parent) {
      const TenantSpec& spec = state.tenant(at).spec;
      if (!spec.max_gpus && !spec.borrow_gpus && spec.guaranteed_gpus.value == 0) continue;
      uses[at.value].insert(static_cast<std::uint64_t>(head.share * head.gpus) << 32 | id);
    }
    if (!flows[id].startable) continue;
    ++tenants[flow.tenant.value][flow.tier];
    if (flow.shape != kNoSlot) continue;
    queues[flow.queue.value].all += flows[id].live;
    const bool is_lone = flow.commands && !state.queue(flow.queue).spec.batch_commands;
    if (is_lone || tenant.spec.isolation != Isolation::none)
      queues[flow.queue.value].apart += flows[id].live;
    const ModelId model = state.queue(flow.queue).spec.model;
    if (model) backlog[model.value] += flows[id].live;
  }
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    findings.same(state.queues[i].startable, queues[i].all, "startable tasks of queue ", i);
    findings.same(state.queues[i].startable_apart, queues[i].apart, "startable tasks of queue ", i,
                  " that do not share with all");
  }
  for (std::uint32_t i = 0; i < state.models.size(); ++i)
    findings.same(state.models[i].backlog, backlog[i], "backlog of model ", i);
  for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
    const Tenant& tenant = state.tenants[i];
    findings.same(tenant.heads_by_use.size(), uses[i].size(), "heads by use of tenant ", i);
    uses[i].visit_from(0, [&](std::uint64_t key) {
      findings.must(tenant.heads_by_use.contains(key), "tenant ", i, " does not list flow ",
                    static_cast<std::uint32_t>(key), " by the use of its head");
      return true;
    });
    for (std::size_t tier = 0; tier < kTiers; ++tier) {
      findings.same(tenant.competing[tier], tenants[i][tier], "flows of tenant ", i,
                    " that compete in tier ", tier);
      const std::uint32_t at = state.competing_positions[tier].get(i);
      findings.same(at != HeapPositions::kAbsent, tenants[i][tier] > 0, "whether tenant ", i,
                    " stands among those that compete in tier ", tier);
      if (at >= state.competing[tier].size()) continue;
      findings.must(state.competing[tier].entries()[at].key.v_us <= tenant.v_us, "tenant ", i,
                    " competes in tier ", tier, " above its V of ", tenant.v_us);
    }
  }
  for (std::size_t tier = 0; tier < kTiers; ++tier) {
    check_heap(findings, state.competing[tier], state.competing_positions[tier],
               "tenants that compete");
  }
}

void check_lists(const State& state, Findings& findings) {
  std::map<TenantId, std::vector<std::uint32_t>> by_tenant;
  std::map<QueueId, std::vector<std::uint32_t>> by_queue;
  for (std::uint32_t id = 0; id < state.flows.size(); ++id) {
    if (state.flows.flow(id).lanes.empty()) continue;
    by_tenant[state.flows.flow(id).tenant].push_back(id);
    by_queue[state.flows.flow(id).queue].push_back(id);
  }
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    std::vector<std::uint32_t> listed = state.queues[i].members;
    std::sort(listed.begin(), listed.end());
    findings.must(listed == by_queue[QueueId{i}], "queue ", i, " lists ", listed.size(),
                  " flows, derived ", by_queue[QueueId{i}].size(), ", or others");
  }
  for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
    std::vector<std::uint32_t> listed = state.tenants[i].flows;
    std::sort(listed.begin(), listed.end());
    findings.must(listed == by_tenant[TenantId{i}], "tenant ", i, " lists ", listed.size(),
                  " flows, derived ", by_tenant[TenantId{i}].size(), ", or others");
  }
}

}  // namespace

std::vector<DerivedFlow> derive_flows(const State& state, const std::vector<std::uint32_t>& live) {
  std::vector<DerivedFlow> flows(state.flows.size());
  std::vector<std::map<LaneKey, std::uint32_t>> fronts(state.flows.size());
  for (const std::uint32_t slot : live) {
    const TaskRow& row = state.tasks.row(slot);
    if (row.state != TaskState::pending || row.flow >= flows.size()) continue;
    ++flows[row.flow].live;
    flows[row.flow].oldest = std::min(flows[row.flow].oldest, row.eligible);
    const auto [it, is_new] =
        fronts[row.flow].try_emplace({row.priority, class_of(state, row)}, slot);
    if (!is_new && comes_before(state, row, state.tasks.row(it->second))) it->second = slot;
  }
  for (std::uint32_t id = 0; id < flows.size(); ++id) {
    if (!state.flows.exists(id)) continue;
    DerivedFlow& derived = flows[id];
    const Flow& flow = state.flows.flow(id);
    for (const auto& [lane, slot] : fronts[id]) {
      const Head front = head_from(state.tasks.row(slot), slot);
      OrderKey key = state.rule->flow_key(state, flow, front);
      key.rank = 0;
      if (derived.head.slot != kNoSlot && derived.key < key) continue;
      derived.head = front;
      derived.key = key;
    }
    if (derived.head.slot == kNoSlot) continue;
    derived.key = state.rule->flow_key(state, flow, derived.head);
    const Queue& queue = state.queue(flow.queue);
    derived.startable =
        !queue.paused && tenants_allow(state, flow.tenant, derived.head.share * derived.head.gpus);
    if (flow.shape == kNoSlot || !queue.spec.max_gpus) continue;
    const std::int64_t queue_use = queue.in_use.value + derived.head.share * derived.head.gpus;
    derived.startable = derived.startable && queue_use <= queue.spec.max_gpus->value;
  }
  return flows;
}

void check_flows(const State& state, const Derived& derived, Findings& findings) {
  SeenSlots seen(state.tasks.slots());
  for (std::uint32_t id = 0; id < state.flows.size(); ++id) {
    if (!state.flows.exists(id)) continue;
    check_lanes(state, id, seen, findings);
    check_flow(state, id, derived.flows[id], findings);
  }
  for (const std::uint32_t slot : derived.live) {
    const TaskRow& row = state.tasks.row(slot);
    if (row.state != TaskState::pending) continue;
    findings.same(state.flows.find(flow_name(row)), row.flow, "flow of task ", row.no);
    findings.must(seen[slot] == 1, "task ", row.no, " is pending and stands in ", seen[slot],
                  " lanes");
  }
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const Queue& queue = state.queues[i];
    check_heap(findings, queue.flows, state.flow_positions, "flows of queue " + std::to_string(i));
    check_heap(findings, queue.oldest, state.oldest_positions,
               "oldest tasks of queue " + std::to_string(i));
    for (const auto& entry : queue.flows.entries()) {
      findings.same(state.flows.flow(entry.handle).queue, QueueId{i}, "queue of flow ",
                    entry.handle, " in the heap of queue ", i);
    }
    for (const auto& entry : queue.oldest.entries()) {
      findings.same(entry.key.flow, entry.handle, "flow named by the oldest of flow ",
                    entry.handle);
    }
  }
  check_lists(state, findings);
  check_competition(state, derived.flows, findings);
}

}  // namespace berth::core
