// State: everything the core knows, as plain values, with the primitives that keep it consistent.
//
// Invariants (check_invariants derives each again):
//  1 a pending task is in exactly one lane (or side list) of its flow; any other task is in none
//  2 counters of tenants, queues, models and GPUs are the sums over tasks and leases
//  3 used VRAM never exceeds usable VRAM, and shares beyond one batch never the load threshold
//  4 the best flow of every queue that is not blocked has its exact key on top; below it, and in
//    blocked queues, stored keys are lower bounds
//  5 a queue is on the one bench that its readiness and the GPUs' state call for
//  6 a GPU is in the fit indexes exactly when it may take a batch, with its true amounts
//
// Only the primitives below write to it; stages read it and emit actions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/ids.h"
#include "base/indexed_heap.h"
#include "base/ordered_set.h"
#include "base/time.h"
#include "core/model/reason.h"
#include "core/model/specs.h"
#include "core/state/entities.h"
#include "core/state/fit_index.h"
#include "core/state/flow_table.h"
#include "core/state/need_index.h"
#include "core/state/order_rule.h"
#include "core/state/placed.h"
#include "core/state/shape_table.h"
#include "core/state/task_table.h"
#include "core/state/timers.h"

namespace berth::core {

struct Signal {
  bool resolved = false;
  std::vector<TaskNo> waiters;
};

// What a lease means to one tenant: charged GPU-microseconds and its part of the slices.
struct TenantShare {
  TenantId tenant;
  std::int64_t charge_us = 0;
  Milli use;
  std::int64_t v_rate = 0;
};

// A tenant's place among those that compete: by V, then by number.
struct TenantKey {
  std::int64_t v_us = 0;
  std::uint32_t tenant = 0;
  constexpr auto operator<=>(const TenantKey&) const = default;
};

// The live tasks of a group, by ascending number: the slots of both ends of their list.
// With a limit, at_once tasks of a group have their turn. A task keeps its turn until it ends or is
// held, between its attempts too. The others stand in line, in the order of their numbers; the want
// of a turn counts among their unresolved dependencies.
struct Group {
  std::uint32_t first = kNoSlot;
  std::uint32_t last = kNoSlot;
  std::uint32_t at_once = 0;  // as its first task says; 0: no limit
  std::uint32_t turns = 0;
  std::set<TaskNo> line;
};

struct State {
  Time now{0};
  PolicySpec policy;
  const OrderRule* rule = nullptr;

  TaskTable tasks;
  ShapeTable shape_table;
  PackingKnowledge packing;
  FlowTable flows;
  std::vector<Tenant> tenants;
  std::vector<Queue> queues;
  std::vector<Model> models;
  std::vector<Node> nodes;
  std::vector<Gpu> gpus;
  std::vector<Lease> leases;  // by slot; id none: free
  std::vector<std::uint32_t> free_leases;
  FlatMap64 lease_index;
  std::uint64_t next_lease = 0;
  std::uint64_t next_load = 0;
  RunningSum running;  // all leases

  std::map<GroupId, Group> groups;
  // Groups that are being cancelled: their tasks below a number. Each has such a task.
  std::map<GroupId, TaskNo> cancelling;
  std::map<SignalId, Signal> signals;
  // Waiting tasks about which something must be decided: ready (reason none), or doomed by a
  // dependency that did not complete. Taken in order of number, a bounded count per step.
  std::map<TaskNo, Reason> ripe;
  // Inside one workflow a task may wait for a later one that has no row yet.
  std::map<TaskNo, std::vector<TaskNo>> early_waiters;

  TaskNo first_today{0};  // the first number that could be given since the last day boundary
  std::array<std::int64_t, kTiers> v_last_pick{};  // by tier: V of the leader picked last
  std::int64_t next_turn = 0;
  QueueId last_served;

  bool starts_held = false;  // see HoldStarts

  // The submit being answered: the spec of task first + i is specs[i].
  TaskNo submitted_first;
  std::vector<TaskSpec> submitted;

  // Indexes.
  OrderedSet usable;     // usable_key of every GPU there is
  OrderedSet accepting;  // of those that are up and not draining
  OrderedSet holdable;   // of those accepting ones that are held for nobody
  FitIndex free_fit;     // by free VRAM
  FitIndex reclaim_fit;  // by free VRAM plus that of models no batch uses
  // By tier: tenants that compete there, by V; stored keys are lower bounds.
  std::array<IndexedHeap<TenantKey>, kTiers> competing;
  std::array<HeapPositions, kTiers> competing_positions;
  HeapPositions flow_positions;
  HeapPositions oldest_positions;
  HeapPositions turn_positions;
  HeapPositions bench_positions;
  IndexedHeap<OrderKey> turn;  // ready queues that have not been passed over
  IndexedHeap<OrderKey> hot;
  std::map<HeadShape, NeedIndex> shapes;
  std::map<HeadShape, NeedIndex> cold;
  PlacedWork placed;
  std::set<std::pair<Time, QueueId>> overdue;
  std::set<QueueId> declined;
  std::set<QueueId> holding;
  std::map<TaskNo, std::vector<GpuId>> kept;    // GPUs kept for placed tasks, ascending
  std::map<TaskNo, std::vector<GpuId>> claims;  // of these, those claimed: all of them, by rank
  Timers timers;
  // Memory to reuse; holds nothing between steps.
  std::vector<TenantShare> share_scratch;
  std::vector<std::uint32_t> flow_scratch;
  // Work was left by a count limit at this instant; it continues there.
  Time continue_at = Time::never();

  Tenant& tenant(TenantId id) { return tenants[id.value]; }
  const Tenant& tenant(TenantId id) const { return tenants[id.value]; }
  Queue& queue(QueueId id) { return queues[id.value]; }
  const Queue& queue(QueueId id) const { return queues[id.value]; }
  Model& model(ModelId id) { return models[id.value]; }
  const Model& model(ModelId id) const { return models[id.value]; }
  Node& node(NodeId id) { return nodes[id.value]; }
  const Node& node(NodeId id) const { return nodes[id.value]; }
  Gpu& gpu(GpuId id) { return gpus[id.value]; }
  const Gpu& gpu(GpuId id) const { return gpus[id.value]; }

  bool has(TenantId id) const { return id.value < tenants.size(); }
  bool has(QueueId id) const { return id.value < queues.size(); }
  bool has(ModelId id) const { return id.value < models.size(); }
  bool has(GpuId id) const { return id.value < gpus.size(); }
  bool has(NodeId id) const { return id.value < nodes.size(); }
};

// --- flows (state/flow_ops.cpp) ---------------------------------------------------------------

// Where the task stands inside its flow: exact ageing without a scan.
std::int64_t head_key(const State& state, const Head& head);
std::uint8_t cost_class(const TaskRow& row);
// Where the task stands inside its lane: by the instant it was eligible, or by how long it runs.
std::int64_t lane_place(const State& state, const TaskRow& row);
// What a task that does not say how long it runs is taken for, where that decides on its turn.
inline constexpr Duration kUnknownRun = minutes(60);
// What a flow's timer is called, whatever slot the flow has.
std::uint64_t tier_timer_id(const Flow& flow);
// With whom a task of this tenant and queue may share a batch.
inline Sharing sharing_of(const State& state, TenantId tenant, QueueId queue, bool command) {
  if (command && !state.queue(queue).spec.batch_commands) return Sharing::none;
  const bool is_isolated = state.tenant(tenant).spec.isolation != Isolation::none;
  return is_isolated ? Sharing::tenant : Sharing::all;
}
// What the task adds to the work of its queue: its run time as far as it is counted, so that the
// sum over all tasks that may live at once fits.
inline constexpr Duration kWorkCounted = minutes(10LL * 24 * 60);
std::int64_t work_us(const TaskRow& row);

// Puts a pending task among its flow's, at the end of its lane or at its old place, and refreshes
// what that changes.
void enter_flow(State& state, std::uint32_t slot);
// The bare insertion, without waking the tenant or refreshing. True: a head may have changed.
bool put_in_flow(State& state, std::uint32_t slot);
// Takes it out. The flow and the queue are not refreshed: several tasks may leave together.
void leave_flow(State& state, std::uint32_t slot);

// Brings the flow's head and its part in the competition up to date. A tenant that competes for
// nothing in this tier wakes by it: its V is lifted to where service stands there.
void refresh_flow(State& state, std::uint32_t flow);
// A flow of placed work is forgotten with its last pending task: there are as many as there are
// shapes, and those may go on being new ones. REQUIRES that it is up to date.
void forget_if_idle(State& state, std::uint32_t flow);
// As refresh_flow, for one that is only being indexed again: nobody wakes.
void restore_flow(State& state, std::uint32_t flow);
// A hint that the next batch of this queue will be built soon: fetches its flows' first tasks.
void prefetch_heads(const State& state, QueueId queue);
// Refreshes flows of any tenants, and their queues. What it leads to does not depend on the order.
void refresh_flows(State& state, const std::vector<std::uint32_t>& flows);
// The key of a task that could be the flow's head, among its own: their sizes decide on whether
// they are within a guarantee, not on who of them is first.
OrderKey key_in_flow(const State& state, const Flow& flow, const Head& head);
std::uint64_t use_key(const Head& head, std::uint32_t flow);

// --- tenants (state/tenant_ops.cpp) -----------------------------------------------------------

// Calls visit(tenant) for the tenant and for each one above it, while that returns true.
template <class Visit>
void visit_upwards(State& state, TenantId id, Visit visit) {
  while (id && visit(state.tenant(id)))
    id = state.tenant(id).spec.parent;
}
// The first, of the tenant and those above it, that may not start this much more: it is paused, or
// would be beyond its limit. None: all may.
TenantId binding_tenant(const State& state, TenantId tenant, Milli use);
// Whether one tenant may, whatever is said above it.
inline bool allows(const Tenant& tenant, Milli use) {
  return !tenant.paused && !is_over_limit(tenant.spec, tenant.subtree_use + use);
}
inline bool tenant_allows(const State& state, TenantId id, Milli use) {
  const Tenant& tenant = state.tenant(id);
  return tenant.in_tree ? !binding_tenant(state, id, use) : allows(tenant, use);
}
// Whether with this much more the tenant, or one above it, would be within what it is guaranteed.
bool is_guaranteed(const State& state, TenantId tenant, Milli use);
// Whether that can be at all: the order asks all the time, and of most tenants it cannot.
inline bool may_be_guaranteed(const Tenant& tenant) {
  return tenant.in_tree || tenant.spec.guaranteed_gpus.value > 0;
}
// Whether what it uses decides on who may start or who goes first.
inline bool watches_use(const TenantSpec& spec) {
  return limit_of(spec) || spec.guaranteed_gpus.value > 0;
}
// A tenant's new spec, and what that changes. REQUIRES a parent that exists and makes no cycle.
void put_spec(State& state, TenantId tenant, const TenantSpec& spec);
// What the tree says of each tenant, from the specs and what they use. REQUIRES that no flow
// competes.
void rebuild_tree(State& state);
// Its own tasks may have become active, or ceased to be.
void note_activity(State& state, TenantId tenant);

// For changes that touch all of a tenant's own flows: usage.
void refresh_tenant(State& state, TenantId tenant);
// The same for all below it, too: pause, limits, guarantee, weight.
void refresh_subtree(State& state, TenantId tenant);
// The queues whose best flow is the tenant's, after its V rose: only there can that change who is
// best.
void refresh_led(State& state, TenantId tenant);
// What an amount adds to the tenant's V: the amount over its effective weight, which is its weight
// at the top, and below that its parent's times its own part of the parent's active members.
std::int64_t over_weight(const State& state, TenantId tenant, std::int64_t amount_us);
// The unit of LeaseTask::v_rate.
inline constexpr std::int64_t kRateUnit = 1'000'000;
// Charges the tenant's counter and refreshes the queues it leads.
void charge(State& state, TenantId tenant, std::int64_t amount_us);
// Gives back what was charged at this rate.
void refund(State& state, TenantId tenant, std::int64_t amount_us, std::int64_t v_rate);
// Refreshes those flows whose head this lets start, keeps from it, or gives another rank.
void change_in_use(State& state, TenantId tenant, Milli change);
// Drops the buckets of the usage window that have become too old.
void roll_usage(State& state, TenantId tenant);
void arm_usage_timer(State& state, TenantId tenant);

// --- queues (state/queue_ops.cpp) -------------------------------------------------------------

// Brings leader, readiness, key and bench up to date after anything the queue depends on moved.
void refresh_queue(State& state, QueueId queue);
// The same when all that moved is that tenants were charged: keys may only have risen.
void refresh_queue_key(State& state, QueueId queue);
// The queues of a model, after its residences changed.
void refresh_queues_of(State& state, ModelId model);
// Who had a better key than what started was passed over. `served`: the queue it was of, none for
// placed work.
void note_passed_over(State& state, const OrderKey& key, QueueId served);
// The queue was served or emptied: it is due no more.
void clear_due(State& state, QueueId queue);
// Gives it another model, or none.
void set_model(State& state, QueueId queue, ModelId model);
// A gang has been admitted (1) or has ended (-1).
void count_gang(State& state, QueueId queue, int sign);
// Its copies are no longer what it waits for: it was served, emptied, or a load has begun.
void clear_copy(State& state, QueueId queue);
// Room has appeared: the best of the queues whose load was declined may ask again, and the best of
// those whose load failed.
void wake_declined(State& state);
// Whether a batch may start depends on who leads: then it must always be known.
bool readiness_follows_leader(const Queue& queue);
// How many tasks may share the leader's batch, and how many of them it would take. REQUIRE a
// leader.
std::uint32_t fellows_of_leader(const State& state, QueueId queue);
std::uint32_t next_batch_size(const State& state, QueueId queue);
// The oldest pending task's eligible instant; never when the queue is empty.
Time oldest_eligible(const State& state, QueueId queue);

// Whether the queue may use this much more.
bool queue_allows(const Queue& queue, Milli use);

// --- placed work (state/placed_ops.cpp) -------------------------------------------------------

// What the task asks for.
Shape shape_of(const State& state, const TaskRow& row);
// Puts a flow of placed work into the competition of its shape, or takes it out.
void seat_placed(State& state, std::uint32_t flow, bool competes);
// A pending task of this shape came, went or stands elsewhere in the order; or anybody may.
void note_order(State& state, std::uint32_t shape, const OrderKey& key);
void note_order(State& state);
// What the node or its GPUs have free may have changed.
void note_node(State& state, NodeId node);
// From now on cells are kept; before, placed work costs nothing.
void keep_cells(State& state);
// Makes the index true, and finds what could start next (state.placed.next). Decides nothing.
void settle_placed(State& state);
// The same, and the reservations too, which otherwise are made when something asks for them.
void settle_reservations(State& state);
// The shape as the gang search knows it: kinds are cell kinds with enough VRAM. No kinds: none has.
Shape shape_for_tree(const State& state, const Shape& shape);

// A placed task was submitted: the mix of shapes is learned from it.
void learn_shape(State& state, const Shape& shape);
void put_packing_table(State& state, std::uint64_t version, const std::vector<std::uint8_t>& bytes);
// Tells the index what is known.
void instruct_packing(State& state);

// The same as the gang search is asked, one after the other: a gang that asks for CPUs or memory
// lies on one kind of cell, for cells of one node have those in common. Empty: it can lie nowhere.
std::vector<Shape> shapes_for_tree(const State& state, const Shape& shape);

// --- the plan of placed work (state/placed_plan.cpp) ------------------------------------------

// When the lease is counted on to have ended: a grace after its expected end; one that is late, a
// grace after what it was last charged for is used up. It is charged again before that passes.
Time planned_end(const Lease& lease);
// Leases that start, end, or are expected to end at another time. Free while no plan is kept.
void plan_start(State& state, const Lease& lease);
void plan_finish(State& state, const Lease& lease);
void plan_finish(State& state, const Lease& lease, GpuId lost);
void plan_move_end(State& state, const Lease& lease, Time before);
// The key of a pending placed task among all that competes.
OrderKey placed_key_of(const State& state, std::uint32_t slot);
// The reservation that the queue's next batch would delay if it started on this GPU now; null:
// none.
const Reservation* delayed_by_batch(const State& state, QueueId queue, GpuId gpu);
// Of a pending placed task that is long work: long_work_short, if the GPUs that are for long work
// have no room for it now. None: they have.
Reason long_work_lack(const State& state, const TaskRow& row, const Shape& shape);

// --- preemption (state/claim_ops.cpp) ---------------------------------------------------------

// The task claims the GPUs, and its CPUs and memory beside them. REQUIRES GPUs held for nobody.
void claim_gpus(State& state, TaskNo task, const std::vector<GpuId>& gpus);
// The same for GPUs that are kept for it already, and no others; what it uses is not counted.
void enter_claim(State& state, TaskNo task, const std::vector<GpuId>& gpus);
// It claims them no more; they stay kept from batches. Nothing happens without a claim.
void drop_claim(State& state, TaskNo task);
bool is_claimed(const State& state, const Gpu& gpu);
// Claims of GPUs there, or of GPUs that are too small now: the hardware or the policy is another.
void drop_claims_on(State& state, NodeId node);
void drop_unfit_claims(State& state);
// A claim stands while the task may start.
bool claim_stands(const State& state, TaskNo task);
// Whether all that the task has claimed is free.
bool is_claim_free(const State& state, TaskNo task, const std::vector<GpuId>& gpus);
inline constexpr Duration kPreemptionStep = seconds(1);
// Counts, from the tables, what makes ranks differ.
void count_ranks(State& state);
// When the placed task will probably start; never: that cannot be foreseen. REQUIRES settled
// reservations. Changes indexes only.
Time likely_start(State& state, std::uint32_t slot, std::uint64_t ahead_in_flow);
// The first tasks of placed work in order, of each flow one. REQUIRES that none of them can start.
std::vector<TaskNo> first_waiting(State& state, std::size_t count);
// Whether it is the time to plan, and a plan could come out otherwise than the last one.
bool is_time_to_preempt(const State& state);
// Whether none was found for exactly these, and nothing else has changed.
bool is_known_without_plan(const State& state, const std::vector<TaskNo>& waiting);
// There is none for these; unless something changes, not before this instant.
void note_no_plan(State& state, std::vector<TaskNo> waiting, Time again);
// While placed work waits and ranks differ, it is asked again at the next whole step at which a
// plan could come out otherwise.
void arm_preemption(State& state);
// --- GPUs in MIG mode (state/mig_ops.cpp) -----------------------------------------------------

// Whether instances may start there: it is up, accepts work, and has nothing left of another mode.
bool takes_instances(const State& state, const Gpu& gpu);
// Brings its entry among those that take instances up to date, or takes it out.
void index_mig(State& state, GpuId gpu);
void leave_mig_index(State& state, GpuId gpu);
// What the node has of CPUs and memory, or whether it is up, may have changed for the better.
void note_mig_node(State& state, NodeId node);
// The slices of an instance are taken from the GPU, or given back. REQUIRE that they are free, or
// its.
void take_instance(State& state, GpuId gpu, const MigInstance& instance);
void give_instance(State& state, GpuId gpu, const MigInstance& instance);
// What the shape's profile means on such GPUs; null: they have none of it, or one of less VRAM than
// the shape asks for.
const mig::SlotClass* slot_for(mig::Geometry geometry, const Shape& shape);
// Whether an instance for the shape could start on the GPU now, with its CPUs and memory.
bool fits_instance(const State& state, GpuId gpu, const Shape& shape);

// --- GPUs (state/gpu_ops.cpp) -----------------------------------------------------------------

// An index that answers what the policy's packing asks.
FitIndex empty_fit_index(const State& state);
Mib free_vram(const Gpu& gpu);
Mib reclaimable_vram(const Gpu& gpu);
Milli load_of(const Gpu& gpu);
// Whether a batch of this share may start beside what runs.
bool compute_allows(const State& state, const Gpu& gpu, Milli share);
// Whether it is in no MIG mode and has no instance left from one.
bool takes_batches(const Gpu& gpu);
// Whether it accepts batches at all and is held for nobody, however busy it is.
bool is_open(const Gpu& gpu);
// Gives it another spec; join_node and set_usable follow.
void set_gpu_spec(State& state, GpuId gpu, const GpuSpec& spec);
// Brings the GPU's entries in the fit indexes up to date.
void index_gpu(State& state, GpuId gpu);
// The same, and the queues of its models.
void refresh_gpu(State& state, GpuId gpu);
Residence* find_residence(Gpu& gpu, ModelId model);
const Residence* find_residence(const Gpu& gpu, ModelId model);
Residence& add_residence(State& state, GpuId gpu, ModelId model, LoadId load, bool loading);
// The load is done.
void note_resident(State& state, GpuId gpu, ModelId model);
// REQUIRES that no batch uses it, unless the GPU is down.
void remove_residence(State& state, GpuId gpu, ModelId model);
// None: the model did not fail to load there.
const LoadPause* find_pause(const Gpu& gpu, ModelId model);
// The load failed: it is tried there again after a pause that doubles, from one second to five
// minutes.
void pause_loads(State& state, GpuId gpu, ModelId model);
// It loaded, or the GPU is another now.
void end_pause(State& state, GpuId gpu, ModelId model);
void end_pauses(State& state, GpuId gpu);
// An idle model is looked at every whole keep-alive after it fell idle, at most once a second, and
// evicted when no work waits for it then. Other looks, which may come early, change nothing.
Duration keep_alive_step(const Model& model);
void arm_keep_alive(State& state, GpuId gpu);
// The node's row, made with all below it when it is first named.
Node& node_for(State& state, NodeId node);
// The GPU joins its node, or leaves it. Call around a change of its spec.
void join_node(State& state, GpuId gpu);
void leave_node(State& state, GpuId gpu);
// GPUs sort by usable VRAM, then by number.
inline std::uint64_t usable_key(Mib usable, GpuId gpu) {
  return static_cast<std::uint64_t>(usable.value) << 32 | gpu.value;
}
inline std::uint64_t usable_key(const State& state, GpuId gpu) {
  return usable_key(state.gpu(gpu).usable, gpu);
}
// The part of a GPU's VRAM that the policy lets be promised.
Mib usable_part(const State& state, Mib vram);
// Sets how much of the GPU may be promised. Indexes it; does not refresh.
void set_usable(State& state, GpuId gpu, Mib usable);
// Up or lost, draining or not. Indexes it; does not refresh.
void set_gpu_flags(State& state, GpuId gpu, bool up, bool draining);
// Held for a queue, or kept for a placed task.
inline bool is_held(const Gpu& gpu) { return gpu.held_for || gpu.kept_for; }
void hold_gpu(State& state, GpuId gpu, QueueId queue);
void release_hold(State& state, GpuId gpu);
void keep_gpu(State& state, GpuId gpu, TaskNo task);
void release_keep(State& state, GpuId gpu);
// All that is kept for the task.
void release_keeps(State& state, TaskNo task);

// --- estimates (state/estimate.cpp) -----------------------------------------------------------

// The mean of the run times that what is pending declares.
Duration mean_run(const Queue& queue);
// How fast the GPU is at the queue's work.
inline Milli speed_on(const State& state, const Queue& queue, GpuId gpu) {
  return speed_for(state.gpu(gpu).spec, queue.spec.work_class);
}
// Whether tasks of the queue that say how long they run are believed.
bool is_run_believed(const Queue& queue, Duration run);
// How long a batch of n tasks of this queue takes on a GPU of this speed: what its tasks declare
// (`longest` is the longest expected run among them) where they are believed, else what was
// learned, else what the queue declares.
Duration predict_batch(const Queue& queue, std::int64_t n, Duration longest, Milli speed);
Duration predict_load(const Model& model, KindId kind);
// The same before the GPU is known: the longest that was learned on any kind.
Duration predict_load(const Model& model);
// Charged GPU-microseconds per 1000 of run time: dominant of VRAM and compute × speed × GPUs. The
// speed is the GPU's general one, whatever the class of the work: a second on it has one price.
std::int64_t charge_rate(const State& state, const std::vector<GpuId>& gpus, Milli share, Mib vram);
// Work that is predicted for the model while it would be kept alive: backlog and arrivals of its
// queues, each with its own batch times (the first 64 of them).
Duration predicted_work(const State& state, ModelId model);
// How many of these GPUs each node carries, by ascending node. Without GPUs: the node, once.
struct NodeCount {
  NodeId node;
  std::int64_t gpus = 0;
};
std::vector<NodeCount> count_by_node(const State& state, const std::vector<GpuId>& gpus,
                                     NodeId node);
// What a node gives of a lease's CPUs or memory when it carries m of its n GPUs: its part, rounded
// up.
std::int64_t node_part(std::int64_t whole, std::int64_t m, std::int64_t n);
// The lease takes its CPUs and memory from its nodes (sign 1) or gives them back (-1), for the GPUs
// it has now.
void use_nodes(State& state, const Lease& lease, int sign);

// --- leases and tasks (state/task_ops.cpp) ----------------------------------------------------

std::uint32_t find_lease(const State& state, LeaseId id);  // kNoSlot: none
// Adds the lease to what its queue and the cluster have running, or takes it out (sign −1).
void count_running(State& state, const Lease& lease, int sign);
// How long what is running is expected to go on, summed over its leases.
Duration running_work(const State& state, const RunningSum& running);
// When a lease is charged more: a long one when what it paid for is used up, one that runs late
// only after a grace, since most late batches end soon and are then set right anyway.
inline constexpr Duration kChargeGrace = seconds(1);
Time next_charge_at(const Lease& lease);
// The task counts among those that have not started (1), or no longer does (-1).
inline void count_queued(State& state, const TaskRow& row, int change) {
  state.tenant(row.tenant).queued += static_cast<std::uint32_t>(change);
  state.queue(row.queue).queued += static_cast<std::uint32_t>(change);
}
// Sets the task's timer to the next instant at which it expires or becomes eligible. A ripe task,
// ready or doomed, only expires: about the rest a decision is under way.
void arm_task_timer(State& state, std::uint32_t slot);
// A waiting task whose dependencies are resolved: ripe now, or at its instant. One that is ripe
// already, doomed perhaps, stays as it is.
void note_unblocked(State& state, std::uint32_t slot);
// A new group takes the limit; one that is there keeps its own.
void join_group(State& state, std::uint32_t slot, GroupId group, std::uint32_t at_once);
// A restored task that says its group, its limit and whether it has its turn.
void rejoin_group(State& state, std::uint32_t slot);
void leave_group(State& state, std::uint32_t slot);
// In a group with a limit the task gets its turn, or stands in line; else nothing happens.
void ask_for_turn(State& state, std::uint32_t slot);
// The task has no turn and stands in no line; the first in line gets what it had.
void give_up_turn(State& state, std::uint32_t slot);
// All that is in the group now shall be cancelled.
void begin_cancel(State& state, GroupId group);

// Builds every index anew from the tables: after a restore or a change of policy. What is derived
// (flows, heaps, benches, fit indexes, timers, counters of pending work) is thrown away first.
void rebuild_indexes(State& state);
// The links between tasks (groups, dependants, waiters of signals) from what each task says.
// REQUIRES freshly restored rows.
void rebuild_links(State& state);

// One sentence per disagreement between the indexes and the tables. Empty: all is well.
std::vector<std::string> check_state(const State& state);

}  // namespace berth::core
