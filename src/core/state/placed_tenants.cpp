// Placed work by tenant. Where an order goes by the tenants' V, a charge changes the keys of all of
// a tenant's flows at once, and by the same. So flows are kept in order inside their tenant, by
// keys without V, and tenants among each other by lower bounds of their best flows' keys: what a
// charge makes stale is one key, which is put right when it comes up. See placed.h.
#include "base/assert.h"
#include "core/state/placed_internal.h"

namespace berth::core {
namespace {

OrderKey without_v(const State& state, OrderKey key) {
  if (state.rule->value_is_v) key.value = 0;
  return key;
}

// Only work that lies on one node is found by what one cell has.
void change_need(State& state, std::uint32_t id, bool was_in, const std::optional<OrderKey>& key) {
  const Flow& flow = state.flows.flow(id);
  const Shape& shape = state.shape_table.shape(flow.shape);
  if (!lies_on_one_node(shape)) return;
  NeedyTenants& needy = state.placed.needy[blocked_class(shape)];
  WaitingTree& tree = needy.flows[flow.tenant];
  if (!key) {
    tree.erase(id, need_of(shape));
  } else if (was_in) {
    tree.set_key(id, need_of(shape), *key);
  } else {
    tree.insert(id, need_of(shape), *key);
  }
  rank_tenant(state, needy, flow.tenant);
  if (needy.flows.empty()) state.placed.needy.erase(blocked_class(shape));
}

}  // namespace

OrderKey with_v(const State& state, TenantId tenant, OrderKey key) {
  if (state.rule->value_is_v) key.value = state.tenant(tenant).v_us;
  return key;
}

void rank_flow(State& state, std::uint32_t id, const std::optional<OrderKey>& key) {
  PlacedWork& placed = state.placed;
  const TenantId tenant = state.flows.flow(id).tenant;
  if (placed.of_tenant.size() <= tenant.value) placed.of_tenant.resize(tenant.value + 1);
  IndexedHeap<OrderKey>& flows = placed.of_tenant[tenant.value];
  const std::uint32_t at = placed.flow_positions.get(id);
  const bool was_in = at != HeapPositions::kAbsent;
  if (!was_in && !key) return;
  std::optional<OrderKey> kept;
  if (key) kept = without_v(state, *key);
  if (was_in && kept && flows.entries()[at].key == *kept) return;
  if (kept) {
    flows.put(placed.flow_positions, id, *kept);
  } else {
    flows.erase(placed.flow_positions, id);
  }
  rank_tenant(state, tenant);
  change_need(state, id, was_in, kept);
}

void rank_tenant(State& state, TenantId tenant) {
  PlacedWork& placed = state.placed;
  const IndexedHeap<OrderKey>& flows = placed.of_tenant[tenant.value];
  if (flows.empty()) return placed.ranked.erase(placed.tenant_positions, tenant.value);
  placed.ranked.put(placed.tenant_positions, tenant.value, with_v(state, tenant, flows.top().key));
}

void rank_tenant(State& state, NeedyTenants& needy, TenantId tenant) {
  const auto flows = needy.flows.find(tenant);
  ASSERT(flows != needy.flows.end());
  const WaitingTree& tree = flows->second;
  if (tree.empty()) {
    needy.tenants.erase(needy.positions, tenant.value);
    needy.flows.erase(flows);
    return;
  }
  needy.tenants.put(needy.positions, tenant.value,
                    with_v(state, tenant, tree.node(tree.root()).least_key));
}

}  // namespace berth::core
