// Every order of service, assembled in one place. See order_rule.h for what each entry means.
//
// fair (default)  who received least, per weight, goes first; inside a tenant by age and priority.
//                 Bounded drift between tenants; no one starves (DESIGN: order of decision).
// fifo            the oldest head goes first. Simple; one tenant can take everything.
// round_robin     queues take turns. Fair between queues, blind to tenants and to cost.
// cost_aware      weight / (recent usage + cost) + ageing. Cheap work of light users goes first;
//                 expensive work can wait as long as its ageing needs to outweigh the score.
// sticky          the model served last, then the queue with most ready. Fewest model switches;
//                 small queues wait for as long as larger ones have work.
//
// slowdown        least max(run, 10 s) × run × GPUs goes first: what waits least for what it is.
//                 The mean slowdown is lowest; large and long work can wait for as long as smaller
//                 work keeps coming.
//
// In every order tiers come first, and then what tenants and queues are guaranteed: work with which
// the tenant, or one above it, stays within its guarantee. Weights of the tree count in fair alone.
#include "core/policy/orders.h"

#include <algorithm>
#include <cmath>

#include "core/state/state.h"

namespace berth::core {
namespace {

// (tier, over the guarantee): what comes before anything an order weighs.
inline std::int64_t rank_of(const State& state, const Flow& flow, const Head& head) {
  const std::int64_t tier = (flow.crossed ? 0 : flow.tier) * 2;
  if (!may_be_guaranteed(state.tenant(flow.tenant))) return tier + 1;
  return is_guaranteed(state, flow.tenant, Milli{head.share * head.gpus}) ? tier : tier + 1;
}

std::int64_t queue_rank(const Queue& queue, const OrderKey& leader) {
  const bool below_minimum = queue.in_use < queue.spec.min_gpus;
  return below_minimum ? leader.rank & ~std::int64_t{1} : leader.rank;
}

OrderKey leaders_key(const State&, const Queue& queue, const OrderKey& leader) {
  return {queue_rank(queue, leader), leader.value, leader.head, leader.tie};
}

bool by_key(const OrderKey& hot, const OrderKey& cold, std::int64_t) { return hot < cold; }

// --- fair: (V, age and priority) ---

OrderKey fair_flow_key(const State& state, const Flow& flow, const Head& head) {
  return {rank_of(state, flow, head), state.tenant(flow.tenant).v_us, head_key(state, head),
          head.no.value};
}

// Hot work goes first until its tenant is ahead of the cold one's by the price of the load.
bool fair_hot_first(const OrderKey& hot, const OrderKey& cold, std::int64_t load_us) {
  if (hot.rank != cold.rank) return hot.rank < cold.rank;
  return hot.value <= saturating_add(cold.value, load_us);
}

// --- fifo: (age and priority) ---

OrderKey fifo_flow_key(const State& state, const Flow& flow, const Head& head) {
  return {rank_of(state, flow, head), 0, head_key(state, head), head.no.value};
}

// --- round_robin: (turn of the queue); inside a queue as fifo ---

OrderKey round_robin_queue_key(const State&, const Queue& queue, const OrderKey& leader) {
  return {queue_rank(queue, leader), queue.turn, leader.head, leader.tie};
}

// --- cost_aware: -(weight / (usage + cost) + aging_factor × seconds waited) ---
//
// Waiting adds the same to everyone per second, so the order between two tasks does not change with
// time and the key leaves `now` out: it is aging_factor × eligible − weight / (usage + cost). A
// task that declares no run time costs what its queue declares for a batch of one.

Duration declared_run(const Queue& queue, const Head& head) {
  if (head.expected_run.ns > 0) return head.expected_run;
  return queue.spec.batch_base + queue.spec.batch_per_task;
}

OrderKey cost_aware_flow_key(const State& state, const Flow& flow, const Head& head) {
  const Tenant& tenant = state.tenant(flow.tenant);
  const double usage_s = static_cast<double>(tenant.usage.sum_us) * 1e-6;
  const double cost_s = static_cast<double>(declared_run(state.queue(flow.queue), head).ns) * 1e-9 *
                        head.gpus * (static_cast<double>(head.share) * 1e-3);
  const double weight = static_cast<double>(tenant.spec.weight.value) * 1e-3;
  const double least = 1e-6;  // work that is said to cost nothing still has a finite score
  const double score = weight / (usage_s + cost_s < least ? least : usage_s + cost_s);
  // A score is at most weight / least = 1e9, in millionths 1e15: exact in a double.
  const auto score_millionths = static_cast<std::int64_t>(std::floor(score * 1e6));
  const std::int64_t age = scale(head_key(state, head), state.policy.aging_factor.value, 1'000'000);
  return {rank_of(state, flow, head), saturating_add(age, -score_millionths), head_key(state, head),
          head.no.value};
}

// --- sticky: (the current model's queue?, most ready) ---

OrderKey sticky_queue_key(const State& state, const Queue& queue, const OrderKey& leader) {
  const Queue* last = state.last_served ? &state.queue(state.last_served) : nullptr;
  const bool current =
      last != nullptr &&
      (last == &queue || (queue.spec.model && queue.spec.model == last->spec.model));
  const std::int64_t ready = queue.startable;
  return {queue_rank(queue, leader), current ? -(std::int64_t{1} << 32) - ready : -ready,
          leader.head, leader.tie};
}

bool hot_in_its_tier(const OrderKey& hot, const OrderKey& cold, std::int64_t) {
  return hot.rank <= cold.rank;
}

// --- slowdown: (max(run, 10 s) × run × GPUs) ---
//
// Weighted shortest processing time, each task's weight being one over its own run time: of all
// orders of one machine the one with the least mean slowdown. A task that does not say how long it
// runs counts as an hour.

OrderKey slowdown_flow_key(const State& state, const Flow& flow, const Head& head) {
  const Duration run = head.expected_run.ns > 0 ? head.expected_run : kUnknownRun;
  const Wide ms = run.ns / 1'000'000 + 1;
  const Wide floor_ms = std::max(run, seconds(10)).ns / 1'000'000;
  const Wide gpus = Wide{std::max<std::uint16_t>(head.gpus, 1)} * head.share;
  const Wide key = ms * floor_ms * gpus / 1'000;
  const Wide most = std::int64_t{1} << 62;
  return {rank_of(state, flow, head), static_cast<std::int64_t>(std::min(key, most)),
          head_key(state, head), head.no.value};
}

constexpr OrderRule kFair{.flow_key = fair_flow_key,
                          .queue_key = leaders_key,
                          .placed_key = leaders_key,
                          .hot_first = fair_hot_first,
                          .value_is_v = true};
constexpr OrderRule kFifo{.flow_key = fifo_flow_key,
                          .queue_key = leaders_key,
                          .placed_key = leaders_key,
                          .hot_first = by_key};
constexpr OrderRule kRoundRobin{.flow_key = fifo_flow_key,
                                .queue_key = round_robin_queue_key,
                                .placed_key = round_robin_queue_key,
                                .hot_first = by_key,
                                .key_follows_queue = true};
constexpr OrderRule kCostAware{.flow_key = cost_aware_flow_key,
                               .queue_key = leaders_key,
                               .placed_key = leaders_key,
                               .hot_first = by_key,
                               .lanes_by_cost = true,
                               .key_follows_usage = true};
constexpr OrderRule kSticky{.flow_key = fifo_flow_key,
                            .queue_key = sticky_queue_key,
                            .placed_key = leaders_key,
                            .hot_first = hot_in_its_tier,
                            .key_follows_queue = true};

constexpr OrderRule kSlowdown{.flow_key = slowdown_flow_key,
                              .queue_key = leaders_key,
                              .placed_key = leaders_key,
                              .hot_first = by_key,
                              .lanes_by_run = true};

}  // namespace

const OrderRule& rule_for(Order order) {
  switch (order) {
    case Order::fair:
      return kFair;
    case Order::fifo:
      return kFifo;
    case Order::round_robin:
      return kRoundRobin;
    case Order::cost_aware:
      return kCostAware;
    case Order::sticky:
      return kSticky;
    case Order::slowdown:
      return kSlowdown;
  }
  return kFair;
}

}  // namespace berth::core
