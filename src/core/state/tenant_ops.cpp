// Primitives over tenants: the tree they stand in, what they use, what they are charged. See
// state.h.
//
// Use and activity are kept up the chain of parents on every change, so a question about a tenant
// costs its depth, and one that stands alone pays nothing for the tree.
#include <algorithm>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

// A tenant's own tasks stand beside its children as one more member, of this weight.
constexpr std::int64_t kOwnWeight = 1000;

Duration usage_bucket(const State& state) {
  return Duration{
      std::max<std::int64_t>(1, state.policy.usage_window.ns / std::int64_t{kUsageBuckets})};
}

// --- the tree ---

// A member of this weight became active (or, below zero, ceased to be); where that makes its tenant
// active, the tenant is such a member in turn.
void count_member(State& state, TenantId id, std::int64_t weight) {
  visit_upwards(state, id, [&](Tenant& tenant) {
    const bool was_active = tenant.members > 0;
    tenant.members += weight;
    ASSERT(tenant.members >= 0);
    const bool is_active = tenant.members > 0;
    weight = is_active ? tenant.spec.weight.value : -tenant.spec.weight.value;
    return was_active != is_active;
  });
}

void add_use_above(State& state, TenantId id, Milli use) {
  visit_upwards(state, state.tenant(id).spec.parent, [&](Tenant& above) {
    above.subtree_use += use;
    return true;
  });
}

// Begins or ends to keep what only tenants with relatives have.
void note_relatives(State& state, TenantId id) {
  Tenant& tenant = state.tenant(id);
  const bool in_tree = tenant.spec.parent || !tenant.children.empty();
  if (tenant.in_tree == in_tree) return;
  tenant.in_tree = in_tree;
  tenant.works = false;
  tenant.members = 0;
  note_activity(state, id);
}

void add_flows(const State& state, TenantId id, std::vector<std::uint32_t>& flows) {
  const Tenant& tenant = state.tenant(id);
  for (const std::uint32_t flow : tenant.flows) {
    if (state.flows.flow(flow).live > 0) flows.push_back(flow);
  }
  for (const TenantId child : tenant.children)
    add_flows(state, child, flows);
}

std::vector<std::uint32_t> flows_below(const State& state, TenantId id) {
  std::vector<std::uint32_t> flows;
  add_flows(state, id, flows);
  return flows;
}

TenantId top_of(const State& state, TenantId id) {
  while (state.tenant(id).spec.parent)
    id = state.tenant(id).spec.parent;
  return id;
}

// Nothing of the tenant and of those below it is counted above it any more.
void leave_parent(State& state, TenantId id) {
  const Tenant& tenant = state.tenant(id);
  const TenantId parent = tenant.spec.parent;
  if (!parent) return;
  for (const std::uint32_t flow : flows_below(state, id)) {
    const std::uint64_t key = use_key(state.flows.flow(flow).head, flow);
    visit_upwards(state, parent, [&](Tenant& above) {
      above.heads_by_use.erase(key);
      return true;
    });
  }
  add_use_above(state, id, Milli{-tenant.subtree_use.value});
  if (tenant.members > 0) count_member(state, parent, -tenant.spec.weight.value);
  std::erase(state.tenant(parent).children, id);
  note_relatives(state, parent);
}

// The heads of its flows are listed above it when they are refreshed.
void join_parent(State& state, TenantId id) {
  const Tenant& tenant = state.tenant(id);
  const bool was_counted = tenant.members > 0;
  if (const TenantId parent = tenant.spec.parent) {
    std::vector<TenantId>& children = state.tenant(parent).children;
    children.insert(std::lower_bound(children.begin(), children.end(), id), id);
    note_relatives(state, parent);
    add_use_above(state, id, tenant.subtree_use);
    if (was_counted) count_member(state, parent, tenant.spec.weight.value);
  }
  note_relatives(state, id);
}

std::size_t levels_below(const State& state, TenantId id) {
  std::size_t levels = 0;
  for (const TenantId child : state.tenant(id).children)
    levels = std::max(levels, levels_below(state, child) + 1);
  return levels;
}

// Whether the tenant may stand below this parent.
bool may_join(const State& state, TenantId id, TenantId parent) {
  std::size_t levels = levels_below(state, id) + 1;
  for (TenantId above = parent; above; above = state.tenant(above).spec.parent) {
    if (!state.has(above) || above == id || ++levels > kTenantLevels) return false;
  }
  return true;
}

// --- what is used ---

// The flows whose heads stand on the other side of a bound of this much, now that use went from
// `less` to `more` or back.
void add_crossing(const Tenant& tenant, Milli bound, Milli less, Milli more,
                  std::vector<std::uint32_t>& flows) {
  const std::int64_t from = std::max<std::int64_t>(0, (bound - more).value + 1);
  const std::int64_t to = (bound - less).value;
  tenant.heads_by_use.visit_from(static_cast<std::uint64_t>(from) << 32, [&](std::uint64_t key) {
    if (static_cast<std::int64_t>(key >> 32) > to) return false;
    flows.push_back(static_cast<std::uint32_t>(key));
    return true;
  });
}

// The amount as it goes up the tree, each level dividing by the payer's part of its active members.
std::int64_t over_effective_weight(const State& state, const Tenant* at, std::int64_t amount_us) {
  // The member that pays is active by paying, whatever else it does.
  std::int64_t weight = kOwnWeight;
  bool is_counted = at->works;
  for (;;) {
    amount_us = scale(amount_us, at->members + (is_counted ? 0 : weight), weight);
    is_counted = at->members > 0;
    weight = at->spec.weight.value;
    if (!at->spec.parent) return scale(amount_us, 1000, weight);
    at = &state.tenant(at->spec.parent);
  }
}

}  // namespace

TenantId binding_tenant(const State& state, TenantId id, Milli use) {
  for (; id; id = state.tenant(id).spec.parent) {
    if (!allows(state.tenant(id), use)) return id;
  }
  return TenantId::none();
}

bool is_guaranteed(const State& state, TenantId id, Milli use) {
  for (; id; id = state.tenant(id).spec.parent) {
    const Tenant& tenant = state.tenant(id);
    const Milli guarantee = tenant.spec.guaranteed_gpus;
    if (guarantee.value > 0 && tenant.subtree_use + use <= guarantee) return true;
  }
  return false;
}

void put_spec(State& state, TenantId id, const TenantSpec& spec) {
  ASSERT(may_join(state, id, spec.parent));
  const TenantId parent = state.tenant(id).spec.parent;
  leave_parent(state, id);
  state.tenant(id).spec = spec;
  join_parent(state, id);
  if (parent == spec.parent) return refresh_subtree(state, id);
  // It took what it uses along, so what others may start is another on both sides.
  const TenantId left = parent ? top_of(state, parent) : id;
  const TenantId joined = top_of(state, id);
  std::vector<std::uint32_t> flows = flows_below(state, joined);
  if (left != joined && left != id) add_flows(state, left, flows);
  refresh_flows(state, flows);
}

void rebuild_tree(State& state) {
  for (Tenant& tenant : state.tenants) {
    tenant.children.clear();
    tenant.subtree_use = tenant.in_use;
    tenant.in_tree = tenant.works = false;
    tenant.members = 0;
  }
  for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
    const TenantId id{i};
    const TenantId parent = state.tenant(id).spec.parent;
    if (!parent) continue;
    state.tenant(parent).children.push_back(id);
    state.tenant(id).in_tree = state.tenant(parent).in_tree = true;
    add_use_above(state, id, state.tenant(id).in_use);
  }
  for (std::uint32_t i = 0; i < state.tenants.size(); ++i)
    note_activity(state, TenantId{i});
}

void note_activity(State& state, TenantId id) {
  Tenant& tenant = state.tenant(id);
  if (!tenant.in_tree) return;
  const bool competes = std::any_of(tenant.competing.begin(), tenant.competing.end(),
                                    [](std::uint32_t flows) { return flows > 0; });
  const bool works = competes || tenant.in_use.value > 0;
  if (tenant.works == works) return;
  tenant.works = works;
  count_member(state, id, works ? kOwnWeight : -kOwnWeight);
}

void refresh_tenant(State& state, TenantId tenant) {
  const std::vector<std::uint32_t>& flows = state.tenant(tenant).flows;
  for (const std::uint32_t flow : flows) {
    if (state.flows.flow(flow).live > 0) refresh_flow(state, flow);
  }
  for (const std::uint32_t flow : flows) {
    if (state.flows.flow(flow).live > 0) refresh_queue(state, state.flows.flow(flow).queue);
  }
}

void refresh_subtree(State& state, TenantId tenant) {
  refresh_flows(state, flows_below(state, tenant));
}

void refresh_led(State& state, TenantId tenant) {
  std::uint32_t led = state.tenant(tenant).first_led;
  while (led != UINT32_MAX) {
    const std::uint32_t next = state.queues[led].led_next;
    refresh_queue_key(state, QueueId{led});
    led = next;
  }
}

void roll_usage(State& state, TenantId id) {
  UsageWindow& usage = state.tenant(id).usage;
  const std::int64_t epoch = state.now.ns / usage_bucket(state).ns;
  const std::int64_t passed = std::min<std::int64_t>(epoch - usage.epoch, kUsageBuckets);
  for (std::int64_t i = 1; i <= passed; ++i) {
    auto& bucket = usage.bucket_us[static_cast<std::size_t>(epoch - passed + i) % kUsageBuckets];
    usage.sum_us -= bucket;
    bucket = 0;
  }
  usage.epoch = std::max(epoch, usage.epoch);
}

void arm_usage_timer(State& state, TenantId id) {
  const UsageWindow& usage = state.tenant(id).usage;
  const Time rolls = Time{(usage.epoch + 1) * usage_bucket(state).ns};
  state.timers.set(TimerKind::usage, id.value, id.value, usage.sum_us > 0 ? rolls : Time::never());
}

std::int64_t over_weight(const State& state, TenantId id, std::int64_t amount_us) {
  const Tenant& tenant = state.tenant(id);
  if (tenant.in_tree) return over_effective_weight(state, &tenant, amount_us);
  return scale(amount_us, 1000, tenant.spec.weight.value);
}

void charge(State& state, TenantId id, std::int64_t amount_us) {
  Tenant& tenant = state.tenant(id);
  tenant.ledger.charged_us += amount_us;
  std::int64_t due = over_weight(state, id, amount_us);
  const std::int64_t paid = std::min(due, tenant.credit_us);
  tenant.credit_us -= paid;
  due -= paid;
  tenant.v_us = saturating_add(tenant.v_us, due);
  if (state.rule->key_follows_usage) {
    roll_usage(state, id);
    UsageWindow& usage = tenant.usage;
    usage.bucket_us[static_cast<std::size_t>(usage.epoch) % kUsageBuckets] += amount_us;
    usage.sum_us += amount_us;
    arm_usage_timer(state, id);
    // With usage the order between a flow's own lanes moves too.
    return refresh_tenant(state, id);
  }
  refresh_led(state, id);
  note_order(state);
}

void refund(State& state, TenantId id, std::int64_t amount_us, std::int64_t v_rate) {
  Tenant& tenant = state.tenant(id);
  tenant.ledger.refunded_us += amount_us;
  const std::int64_t credit =
      v_rate > 0 ? scale(amount_us, v_rate, kRateUnit) : over_weight(state, id, amount_us);
  tenant.credit_us = saturating_add(tenant.credit_us, credit);
}

void change_in_use(State& state, TenantId id, Milli change) {
  Tenant& own = state.tenant(id);
  own.in_use += change;
  ASSERT(own.in_use.value >= 0);
  if (!own.in_tree && !watches_use(own.spec)) {
    own.subtree_use += change;
    return;
  }
  note_activity(state, id);
  std::vector<std::uint32_t> flows;
  visit_upwards(state, id, [&](Tenant& tenant) {
    const Milli before = tenant.subtree_use;
    tenant.subtree_use += change;
    const auto [less, more] = std::minmax(before, tenant.subtree_use);
    if (const auto limit = limit_of(tenant.spec)) add_crossing(tenant, *limit, less, more, flows);
    const Milli guarantee = tenant.spec.guaranteed_gpus;
    if (guarantee.value > 0) add_crossing(tenant, guarantee, less, more, flows);
    return true;
  });
  if (flows.empty()) return;
  std::sort(flows.begin(), flows.end());
  flows.erase(std::unique(flows.begin(), flows.end()), flows.end());
  refresh_flows(state, flows);
}

}  // namespace berth::core
