// OrderRule: what an order of service must say. Plain functions, chosen by the policy's name.
//
// The state keeps flows and queues sorted by these keys; the rules themselves live in core/policy
// and are assembled in policy/orders.cpp.
#pragma once

#include "base/ids.h"
#include "core/state/order_key.h"

namespace berth::core {

struct State;
struct Flow;
struct Queue;
struct Head;

struct OrderRule {
  // The key of a flow whose best head is `head`. May rise without notice as the tenant is charged,
  // never fall without notice.
  OrderKey (*flow_key)(const State& state, const Flow& flow, const Head& head);
  // The key of a queue, given that of its best flow.
  OrderKey (*queue_key)(const State& state, const Queue& queue, const OrderKey& leader);
  // The key of a flow of placed work among all that competes, given its own.
  OrderKey (*placed_key)(const State& state, const Queue& queue, const OrderKey& flow);
  // Whether ready work that can start goes before due work that needs its model loaded first.
  // `load_us`: what the load would be charged, in the unit of the tenants' counter.
  bool (*hot_first)(const OrderKey& hot, const OrderKey& cold, std::int64_t load_us);
  // The value of a flow's key is its tenant's V: a charge raises it by as much.
  bool value_is_v = false;
  // Inside a lane the shortest run goes first, not the oldest.
  bool lanes_by_run = false;
  // Heads compete per cost class, not only per priority.
  bool lanes_by_cost = false;
  // The queue key depends on how many tasks are startable or who was served last.
  bool key_follows_queue = false;
  // The flow key depends on the tenant's usage window, which can shrink with time.
  bool key_follows_usage = false;
};

}  // namespace berth::core
