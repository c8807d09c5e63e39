// See tenant_tree.h.
#include "core/model/tenant_tree.h"

#include <algorithm>

namespace berth::core {

TreeFinding judge_tenant(std::span<const TenantId> parents, TenantId tenant) {
  TreeFinding finding;
  for (TenantId at = tenant; at; at = parents[at.value]) {
    const bool is_known = at.value < parents.size();
    const bool comes_again =
        std::find(finding.path.begin(), finding.path.end(), at) != finding.path.end();
    finding.path.push_back(at);
    if (!is_known) finding.flaw = TreeFlaw::unknown_parent;
    if (comes_again) finding.flaw = TreeFlaw::cycle;
    if (!is_known || comes_again) return finding;
  }
  if (finding.path.size() > kTenantLevels) finding.flaw = TreeFlaw::too_deep;
  return finding;
}

TreeFinding judge_tree(std::span<const TenantId> parents) {
  for (std::uint32_t i = 0; i < parents.size(); ++i) {
    TreeFinding finding = judge_tenant(parents, TenantId{i});
    if (finding.flaw != TreeFlaw::none) return finding;
  }
  return {};
}

}  // namespace berth::core
