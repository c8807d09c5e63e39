// Every order of service, assembled in one place. See order_rule.h for what each entry means.
//
// fair (default)  who received least, per weight, goes first; inside a tenant by age and priority.
//                 Bounded drift between tenants; no one starves (DESIGN: order of decision).
// fifo            the oldest head goes first. Simple; one tenant can take everything.
// round_robin     queues take turns. Fair between queues, blind to tenants and to cost.
// cost_aware      weight / (recent usage + cost) + ageing. Cheap work of light users goes first;
//                 expensive work can wait as long as its ageing needs to outweigh the score.
// sticky          the queue served last, then the one with most ready. Fewest model switches;
//                 small queues wait until they are overdue.
#include "core/policy/orders.h"

#include <cmath>

#include "core/state/state.h"

namespace berth::core {
namespace {

std::int64_t tier_of(const Flow& flow) { return flow.crossed ? 0 : flow.tier; }

OrderKey plain_queue_key(const State&, const Queue&, const OrderKey& leader) { return leader; }

bool by_key(const OrderKey& hot, const OrderKey& cold, std::int64_t) { return hot < cold; }

// --- fair: (tier, over the guarantee, V, age and priority) ---

OrderKey fair_flow_key(const State& state, const Flow& flow, const Head& head) {
  const Tenant& tenant = state.tenant(flow.tenant);
  const bool over = tenant.in_use >= tenant.spec.guaranteed_gpus;
  return {tier_of(flow) * 2 + (over ? 1 : 0), tenant.v_us, head_key(state, head), head.no.value};
}

OrderKey fair_queue_key(const State&, const Queue& queue, const OrderKey& leader) {
  OrderKey key = leader;
  if (queue.in_use < queue.spec.min_gpus) key.rank &= ~std::int64_t{1};
  return key;
}

// Hot work goes first until its tenant is ahead of the cold one's by the price of the load.
bool fair_hot_first(const OrderKey& hot, const OrderKey& cold, std::int64_t load_us) {
  const std::int64_t hot_tier = hot.rank / 2;
  const std::int64_t cold_tier = cold.rank / 2;
  if (hot_tier != cold_tier) return hot_tier < cold_tier;
  return hot.value <= saturating_add(cold.value, load_us);
}

// --- fifo: (tier, age and priority) ---

OrderKey fifo_flow_key(const State& state, const Flow& flow, const Head& head) {
  return {tier_of(flow) * 2, 0, head_key(state, head), head.no.value};
}

// --- round_robin: (turn of the queue); inside a queue as fifo ---

OrderKey round_robin_queue_key(const State&, const Queue& queue, const OrderKey& leader) {
  return {0, queue.turn, leader.head, leader.tie};
}

// --- cost_aware: -(weight / (usage + cost) + aging_factor × seconds waited) ---
//
// Waiting adds the same to everyone per second, so the order between two tasks does not change with
// time and the key leaves `now` out: it is aging_factor × eligible − weight / (usage + cost).

OrderKey cost_aware_flow_key(const State& state, const Flow& flow, const Head& head) {
  const Tenant& tenant = state.tenant(flow.tenant);
  const double usage_s = static_cast<double>(tenant.usage.sum_us) * 1e-6;
  const double cost_s = static_cast<double>(head.expected_run.ns) * 1e-9 * head.gpus *
                        (static_cast<double>(head.share) * 1e-3);
  const double weight = static_cast<double>(tenant.spec.weight.value) * 1e-3;
  const double least = 1e-6;  // work that is said to cost nothing still has a finite score
  const double score = weight / (usage_s + cost_s < least ? least : usage_s + cost_s);
  // A score is at most weight / least = 1e9, in millionths 1e15: exact in a double.
  const auto score_millionths = static_cast<std::int64_t>(std::floor(score * 1e6));
  const std::int64_t age = scale(head_key(state, head), state.policy.aging_factor.value, 1'000'000);
  return {tier_of(flow) * 2, saturating_add(age, -score_millionths), head_key(state, head),
          head.no.value};
}

// --- sticky: (served last?, most ready) ---

OrderKey sticky_queue_key(const State& state, const Queue& queue, const OrderKey& leader) {
  const bool served_last = state.last_served && &state.queue(state.last_served) == &queue;
  return {served_last ? 0 : 1, -static_cast<std::int64_t>(queue.pending), leader.head, leader.tie};
}

bool always_hot(const OrderKey&, const OrderKey&, std::int64_t) { return true; }

constexpr OrderRule kFair{fair_flow_key, fair_queue_key, fair_hot_first, false, false, false};
constexpr OrderRule kFifo{fifo_flow_key, plain_queue_key, by_key, false, false, false};
constexpr OrderRule kRoundRobin{fifo_flow_key, round_robin_queue_key, by_key, false, true, false};
constexpr OrderRule kCostAware{cost_aware_flow_key, plain_queue_key, by_key, true, false, true};
constexpr OrderRule kSticky{fifo_flow_key, sticky_queue_key, always_hot, false, true, false};

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
  }
  return kFair;
}

}  // namespace berth::core
