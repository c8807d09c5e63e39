// Checks the tree of tenants: who stands below whom, what they use together, who is active; and
// the ledger, as far as a state without its history can tell. See check.h.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/state/check.h"

namespace berth::core {
namespace {

struct Branch {
  std::int64_t use = 0;
  std::int64_t owed_us = 0;  // what leases that still run have charged it
  bool works = false;
  std::int64_t members = 0;
  std::vector<TenantId> children;
};

// The tenants below this one, and it.
void add_subtree(const std::vector<Branch>& branches, TenantId id, std::vector<TenantId>& below) {
  below.push_back(id);
  for (const TenantId child : branches[id.value].children)
    add_subtree(branches, child, below);
}

bool has_work(const std::vector<Branch>& branches, TenantId id) {
  std::vector<TenantId> below;
  add_subtree(branches, id, below);
  return std::any_of(below.begin(), below.end(),
                     [&](TenantId tenant) { return branches[tenant.value].works; });
}

std::vector<Branch> derive(const State& state, const Derived& derived) {
  std::vector<Branch> branches(state.tenants.size());
  std::vector<std::int64_t> own(state.tenants.size(), 0);
  for (const Lease& lease : state.leases) {
    if (!lease.id) continue;
    for (const LeaseTask& task : lease.tasks) {
      own[task.tenant.value] += task.use.value;
      branches[task.tenant.value].owed_us += task.charged_us;
    }
  }
  for (const auto& [task, gpus] : state.claims) {
    const std::uint32_t slot = state.tasks.slot_of(task);
    if (slot == kNoSlot) continue;
    const TaskRow& row = state.tasks.row(slot);
    own[row.tenant.value] += std::int64_t{row.share} * row.gpus;
  }
  for (std::uint32_t i = 0; i < branches.size(); ++i) {
    if (own[i] > 0) branches[i].works = true;
    if (const TenantId parent = state.tenants[i].spec.parent)
      branches[parent.value].children.push_back(TenantId{i});
  }
  for (std::uint32_t flow = 0; flow < derived.flows.size(); ++flow) {
    if (derived.flows[flow].startable) branches[state.flows.flow(flow).tenant.value].works = true;
  }
  for (std::uint32_t i = 0; i < branches.size(); ++i) {
    std::vector<TenantId> below;
    add_subtree(branches, TenantId{i}, below);
    for (const TenantId tenant : below)
      branches[i].use += own[tenant.value];
    if (branches[i].works) branches[i].members += 1000;  // as a child of weight 1
    for (const TenantId child : branches[i].children) {
      if (has_work(branches, child)) branches[i].members += state.tenant(child).spec.weight.value;
    }
  }
  return branches;
}

}  // namespace

void check_tenants(const State& state, const Derived& derived, Findings& findings) {
  const std::vector<Branch> branches = derive(state, derived);
  for (std::uint32_t i = 0; i < branches.size(); ++i) {
    const Tenant& tenant = state.tenants[i];
    const Branch& branch = branches[i];
    const bool in_tree = tenant.spec.parent || !branch.children.empty();
    findings.must(tenant.children == branch.children, "tenant ", i, " has ", tenant.children.size(),
                  " children, derived ", branch.children.size(), ", or others");
    findings.same(tenant.in_tree, in_tree, "whether tenant ", i, " stands in a tree");
    findings.same(tenant.subtree_use.value, branch.use, "use of tenant ", i, " and all below it");
    findings.same(tenant.works, in_tree && branch.works, "whether tenant ", i, " is active itself");
    findings.same(tenant.members, in_tree ? branch.members : 0, "active members of tenant ", i);
    findings.must(tenant.ledger.refunded_us >= 0 && tenant.ledger.net_us() >= branch.owed_us,
                  "tenant ", i, " was charged ", tenant.ledger.charged_us, " us and refunded ",
                  tenant.ledger.refunded_us, ", and its leases hold ", branch.owed_us);
  }
}

}  // namespace berth::core
