// Primitives over flows. See state.h.
#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "core/state/flow_cursor.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

constexpr std::uint32_t kTombstonesTolerated = 64;

// The front of a lane: the older of the FIFO's first record and the first returned task.
std::uint32_t front_of(const State& state, const Lane& lane) {
  if (lane.live == 0) return lane.returned.empty() ? kNoSlot : lane.returned.begin()->slot;
  const std::uint32_t slot = state.flows.pool().front(lane.fifo).slot;
  if (lane.returned.empty()) return slot;
  const TaskRow& row = state.tasks.row(slot);
  const ReturnedTask& returned = *lane.returned.begin();
  return returned < ReturnedTask{lane_place(state, row), row.no, slot} ? returned.slot : slot;
}

// Drops tombstones from the front and, when they outnumber the living, everywhere.
void tidy_lane(State& state, Lane& lane) {
  ChunkPool& pool = state.flows.pool();
  const auto is_stale = [&](const FifoRecord& record) {
    return state.tasks.row(record.slot).stamp != record.stamp;
  };
  while (lane.fifo.size > 0 && is_stale(pool.front(lane.fifo)))
    pool.pop_front(lane.fifo);
  if (lane.fifo.size <= 2 * lane.live + kTombstonesTolerated) return;
  for (std::uint32_t left = lane.fifo.size; left > 0; --left) {
    const FifoRecord record = pool.front(lane.fifo);
    pool.pop_front(lane.fifo);
    if (!is_stale(record)) pool.push_back(lane.fifo, record);
  }
}

// The best lane front by the rule, and the oldest of all lane fronts.
void find_head(const State& state, Flow& flow, Time& oldest) {
  flow.head = Head{};
  oldest = Time::never();
  OrderKey least;
  for (const Lane& lane : flow.lanes) {
    const std::uint32_t slot = front_of(state, lane);
    if (slot == kNoSlot) continue;
    const Head front = head_from(state.tasks.row(slot), slot);
    oldest = std::min(oldest, front.eligible);
    if (flow.lanes.size() > 1) {
      const OrderKey key = key_in_flow(state, flow, front);
      if (flow.head.slot != kNoSlot && least < key) continue;
      least = key;
    }
    flow.head = front;
  }
  if (!flow.by_age.empty()) oldest = flow.by_age.begin()->first;
}

// Whether its tenant may start the flow's head, and anyone anything in its queue.
bool may_start(const State& state, const Flow& flow) {
  if (flow.head.slot == kNoSlot || state.queue(flow.queue).paused) return false;
  const Milli use{flow.head.share * flow.head.gpus};
  const bool is_placed = flow.shape != kNoSlot;
  return tenant_allows(state, flow.tenant, use) &&
         (!is_placed || queue_allows(state.queue(flow.queue), use));
}

// What the flow adds to the counts of startable tasks, taken out or put in as it now says.
void count_startable(State& state, const Flow& flow, std::uint32_t change) {
  if (!flow.competes || flow.shape != kNoSlot) return;  // placed work fills no batches
  Queue& queue = state.queue(flow.queue);
  queue.startable += change;
  if (flow.sharing != Sharing::all) queue.startable_apart += change;
  if (queue.spec.model) state.model(queue.spec.model).backlog += change;
}

void count_competing(State& state, const Flow& flow, bool more) {
  Tenant& tenant = state.tenant(flow.tenant);
  std::uint32_t& flows = tenant.competing[flow.tier];
  const std::uint32_t id = flow.tenant.value;
  if (more && flows++ == 0) {
    state.competing[flow.tier].put(state.competing_positions[flow.tier], id, {tenant.v_us, id});
    note_activity(state, flow.tenant);
  } else if (!more && --flows == 0) {
    state.competing[flow.tier].erase(state.competing_positions[flow.tier], id);
    note_activity(state, flow.tenant);
  }
}

// Where service stands in this tier: V of the last pick, or less where someone who competes has
// received less still (the last pick may have been on a GPU that suits nobody else).
std::int64_t level_of(State& state, std::uint8_t tier) {
  auto& competing = state.competing[tier];
  while (!competing.empty()) {
    const std::uint32_t id = competing.top().handle;
    const std::int64_t exact = state.tenants[id].v_us;
    if (competing.top().key.v_us == exact) return std::min(exact, state.v_last_pick[tier]);
    competing.put(state.competing_positions[tier], id, {exact, id});
  }
  return state.v_last_pick[tier];
}

// A tenant that wakes does not cash in the time it asked for nothing.
void wake(State& state, const Flow& flow) {
  Tenant& tenant = state.tenant(flow.tenant);
  const std::int64_t level = level_of(state, flow.tier);
  if (level <= tenant.v_us) return;
  tenant.v_us = level;
  refresh_led(state, flow.tenant);  // it may compete in other tiers
  note_order(state);
}

// Where the flow stands, given its head: in the competition or out of it.
void seat(State& state, std::uint32_t id, Time oldest) {
  Flow& flow = state.flows.flow(id);
  Queue& queue = state.queue(flow.queue);
  const bool competes = may_start(state, flow);
  if (flow.competes != competes) count_competing(state, flow, competes);
  count_startable(state, flow, 0U - flow.live);
  flow.competes = competes;
  flow.sharing = sharing_of(state, flow.tenant, flow.queue, flow.commands);
  count_startable(state, flow, flow.live);
  if (flow.shape != kNoSlot) return seat_placed(state, id, competes);
  if (competes) {
    queue.oldest.put(state.oldest_positions, id, {oldest.ns, id});
    queue.flows.put(state.flow_positions, id, state.rule->flow_key(state, flow, flow.head));
  } else {
    queue.oldest.erase(state.oldest_positions, id);
    queue.flows.erase(state.flow_positions, id);
  }
}

// The instant at which the flow's head crosses into tier 0, and whether that has come.
void watch_tier(State& state, std::uint32_t id) {
  Flow& flow = state.flows.flow(id);
  if (flow.tier == 0) return;
  const bool has_head = flow.head.slot != kNoSlot;
  const Time crosses = has_head ? flow.head.eligible + state.policy.tier_patience : Time::never();
  flow.crossed = has_head && crosses <= state.now;
  state.timers.set(TimerKind::tier, id, tier_timer_id(flow),
                   flow.crossed ? Time::never() : crosses);
}

// Takes the flow's head out of the lists of its tenant and of those above it, or puts it there.
void unlist_head(State& state, const Flow& flow, std::uint32_t id) {
  if (flow.head.slot == kNoSlot) return;
  visit_upwards(state, flow.tenant, [&](Tenant& tenant) {
    tenant.heads_by_use.erase(use_key(flow.head, id));
    return true;
  });
}

void list_head(State& state, const Flow& flow, std::uint32_t id) {
  if (flow.head.slot == kNoSlot) return;
  visit_upwards(state, flow.tenant, [&](Tenant& tenant) {
    if (watches_use(tenant.spec)) tenant.heads_by_use.insert(use_key(flow.head, id));
    return true;
  });
}

// Finds the head anew; returns the eligible instant of the oldest task.
Time update_head(State& state, std::uint32_t id) {
  Flow& flow = state.flows.flow(id);
  unlist_head(state, flow, id);
  Time oldest = Time::never();
  find_head(state, flow, oldest);
  list_head(state, flow, id);
  watch_tier(state, id);
  return oldest;
}

// A new flow among those of its tenant and queue.
void list_flow(State& state, std::uint32_t id) {
  Flow& flow = state.flows.flow(id);
  std::vector<std::uint32_t>& of_tenant = state.tenant(flow.tenant).flows;
  std::vector<std::uint32_t>& of_queue = state.queue(flow.queue).members;
  flow.in_tenant = static_cast<std::uint32_t>(of_tenant.size());
  flow.in_queue = static_cast<std::uint32_t>(of_queue.size());
  of_tenant.push_back(id);
  of_queue.push_back(id);
  if (flow.shape == kNoSlot) return;
  state.shape_table.take(state.shape_table.shape(flow.shape));
  ++state.queue(flow.queue).placed_flows;
}

// The last of the list takes its place.
void unlist(State& state, std::vector<std::uint32_t>& list, std::uint32_t Flow::*place,
            std::uint32_t id) {
  const std::uint32_t at = state.flows.flow(id).*place;
  list[at] = list.back();
  state.flows.flow(list[at]).*place = at;
  list.pop_back();
}

}  // namespace

std::uint64_t tier_timer_id(const Flow& flow) {
  constexpr std::uint64_t kPlaced = std::uint64_t{1} << 63;
  if (flow.shape != kNoSlot)
    return flow.head.slot == kNoSlot ? kPlaced : kPlaced | flow.head.no.value;
  return static_cast<std::uint64_t>(flow.queue.value) << 34 |
         static_cast<std::uint64_t>(flow.tenant.value) << 3 | (flow.commands ? 4U : 0U) | flow.tier;
}

std::int64_t head_key(const State& state, const Head& head) {
  return saturating_add(head.eligible.ns, -head.priority * state.policy.age_step.ns);
}

OrderKey key_in_flow(const State& state, const Flow& flow, const Head& head) {
  OrderKey key = state.rule->flow_key(state, flow, head);
  key.rank = 0;
  return key;
}

std::uint64_t use_key(const Head& head, std::uint32_t flow) {
  return static_cast<std::uint64_t>(head.share) * head.gpus << 32 | flow;
}

std::uint8_t cost_class(const TaskRow& row) {
  const Wide us = Wide{row.expected_run.ns / 1000} * row.gpus * row.share / 1000;
  return static_cast<std::uint8_t>(
      std::bit_width(static_cast<std::uint64_t>(std::min<Wide>(us, UINT64_MAX))));
}

std::int64_t lane_place(const State& state, const TaskRow& row) {
  if (!state.rule->lanes_by_run) return row.eligible.ns;
  return row.expected_run.ns > 0 ? row.expected_run.ns : kUnknownRun.ns;
}

std::int64_t work_us(const TaskRow& row) {
  return std::min(row.expected_run, kWorkCounted).ns / 1000;
}

bool put_in_flow(State& state, std::uint32_t slot) {
  TaskRow& row = state.tasks.row(slot);
  ASSERT(row.state == TaskState::pending);
  // A flow of placed work may have been forgotten while the task ran.
  if (row.flow == kNoSlot || row.shape != kNoSlot) {
    row.flow = state.flows.find_or_create(flow_name(row));
    if (state.flows.flow(row.flow).lanes.empty()) list_flow(state, row.flow);
  }
  Flow& flow = state.flows.flow(row.flow);
  const std::uint8_t klass = state.rule->lanes_by_cost ? cost_class(row) : std::uint8_t{0};
  Lane& lane = FlowTable::lane_for(flow, row.priority, klass);
  const std::int64_t place = lane_place(state, row);
  const bool in_order =
      lane.fifo.size == 0 || std::tie(lane.last_place, lane.last_no) < std::tie(place, row.no);
  if (in_order) {
    state.flows.pool().push_back(lane.fifo, {slot, row.stamp});
    ++lane.live;
    lane.last_place = place;
    lane.last_no = row.no;
  } else {
    lane.returned.insert({place, row.no, slot});
  }
  ++flow.live;
  if (state.rule->lanes_by_run) flow.by_age.emplace(row.eligible, row.no);
  if (flow.shape != kNoSlot) note_order(state, flow.shape, placed_key_of(state, slot));
  count_startable(state, flow, 1);
  ++state.tenant(row.tenant).pending;
  Queue& queue = state.queue(row.queue);
  ++queue.pending;
  queue.pending_work_us += work_us(row);
  // In order behind nobody: it may still go before what came back earlier. And the shape of one
  // placed task stands elsewhere than that of several.
  const bool is_second = flow.live == 2 && flow.shape != kNoSlot;
  return !in_order || !lane.returned.empty() || flow.live == 1 || is_second ||
         flow.lanes.size() > 1 || state.rule->lanes_by_run;
}

void enter_flow(State& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks.row(slot);
  Queue& queue = state.queue(row.queue);
  if (queue.pending == 0) queue.turn = state.next_turn++;

  // Behind others in the only lane it changes no head; otherwise the flow competes anew.
  if (put_in_flow(state, slot)) {
    refresh_flow(state, row.flow);
    if (row.shape != kNoSlot) return;
    const Flow& flow = state.flows.flow(row.flow);
    const OrderKey key = state.rule->flow_key(state, flow, flow.head);
    const bool leads = state.rule->queue_key(state, queue, key) < queue.key;
    // Led by another, a queue below its minimum may have a lesser key: all ranks are one to it.
    const bool led = queue.leader_flow == row.flow && queue.leader_slot != flow.head.slot;
    if (!queue.blocked || leads || led) return refresh_queue(state, row.queue);
  }
  if (row.shape != kNoSlot) return;
  const bool was_left_alone = queue.blocked && readiness_follows_leader(queue);
  if (queue.startable >= queue.wake_at || state.rule->key_follows_queue || was_left_alone) {
    refresh_queue(state, row.queue);
  }
}

void leave_flow(State& state, std::uint32_t slot) {
  TaskRow& row = state.tasks.row(slot);
  Flow& flow = state.flows.flow(row.flow);
  const std::uint8_t klass = state.rule->lanes_by_cost ? cost_class(row) : std::uint8_t{0};
  Lane& lane = FlowTable::lane_for(flow, row.priority, klass);
  if (lane.returned.erase({lane_place(state, row), row.no, slot}) == 0) {
    ASSERT(lane.live > 0);
    --lane.live;
    ++row.stamp;
    tidy_lane(state, lane);
  }
  --flow.live;
  if (state.rule->lanes_by_run) flow.by_age.erase({row.eligible, row.no});
  if (flow.shape != kNoSlot) note_order(state, flow.shape, placed_key_of(state, slot));
  count_startable(state, flow, UINT32_MAX);
  --state.tenant(row.tenant).pending;
  Queue& queue = state.queue(row.queue);
  if (--queue.pending == 0) queue.tightest_wait = Duration::forever();
  queue.pending_work_us -= work_us(row);
}

void refresh_flow(State& state, std::uint32_t id) {
  const Time oldest = update_head(state, id);
  const Flow& flow = state.flows.flow(id);
  const bool wakes = state.tenant(flow.tenant).competing[flow.tier] == 0 && may_start(state, flow);
  if (wakes) wake(state, flow);
  seat(state, id, oldest);
}

void forget_if_idle(State& state, std::uint32_t id) {
  const Flow& flow = state.flows.flow(id);
  if (flow.shape == kNoSlot || flow.live > 0) return;
  unlist(state, state.tenant(flow.tenant).flows, &Flow::in_tenant, id);
  unlist(state, state.queue(flow.queue).members, &Flow::in_queue, id);
  --state.queue(flow.queue).placed_flows;
  state.shape_table.drop(flow.shape);
  state.flows.forget(id);
}

void refresh_flows(State& state, const std::vector<std::uint32_t>& flows) {
  // Those that no longer compete go first: who wakes is lifted to where the others stand.
  for (const std::uint32_t id : flows) {
    const Time oldest = update_head(state, id);
    if (!may_start(state, state.flows.flow(id))) seat(state, id, oldest);
  }
  for (const std::uint32_t id : flows) {
    if (may_start(state, state.flows.flow(id))) refresh_flow(state, id);
  }
  for (const std::uint32_t id : flows)
    refresh_queue(state, state.flows.flow(id).queue);
}

void restore_flow(State& state, std::uint32_t id) { seat(state, id, update_head(state, id)); }

void prefetch_heads(const State& state, QueueId queue) {
  constexpr std::size_t kFlowsFetched = 8;
  constexpr int kTasksFetched = 4;
  std::size_t left = kFlowsFetched;
  for (const auto& entry : state.queue(queue).flows.entries()) {
    if (left-- == 0) break;
    for (const Lane& lane : state.flows.flow(entry.handle).lanes) {
      ChunkPool::Cursor cursor(state.flows.pool(), lane.fifo);
      for (int i = 0; i < kTasksFetched && !cursor.done(); ++i, cursor.advance()) {
        __builtin_prefetch(&state.tasks.row((*cursor).slot), 1);
      }
    }
  }
}

}  // namespace berth::core
