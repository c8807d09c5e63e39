// The tenants as a tree: whether what each says of its parent makes one, and in words why not.
//
// Readers of files and the sequencer refuse what has a flaw; the core asserts that it has none. It
// knows parents by number; names come from the caller.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/model/specs.h"

namespace berth::core {

enum class TreeFlaw : std::uint8_t { none, unknown_parent, cycle, too_deep };

struct TreeFinding {
  TreeFlaw flaw = TreeFlaw::none;
  // From the tenant upwards; a cycle ends with the first that comes again.
  std::vector<TenantId> path;
};

// The way up from the tenant. `parents` has each tenant's, none for those at the top.
TreeFinding judge_tenant(std::span<const TenantId> parents, TenantId tenant);
// The same for every tenant: the first with a flaw.
TreeFinding judge_tree(std::span<const TenantId> parents);

// For each tenant what it has itself and all below it have together. REQUIRES a tree.
template <class Amount>
std::vector<Amount> summed_upwards(const std::vector<TenantId>& parents,
                                   const std::vector<Amount>& own) {
  std::vector<Amount> sums(own.size());
  for (std::uint32_t i = 0; i < own.size(); ++i) {
    for (TenantId at{i}; at; at = parents[at.value])
      sums[at.value] += own[i];
  }
  return sums;
}

// What is wrong, as the end of a sentence about the tenant's parent.
template <class NameOf>
std::string sentence_of(const TreeFinding& finding, NameOf name_of) {
  std::string path;
  for (std::size_t i = 0; i < finding.path.size() && i <= kTenantLevels; ++i)
    path += (i == 0 ? "" : " -> ") + std::string(name_of(finding.path[i]));
  if (finding.path.size() > kTenantLevels + 1) path += " -> ...";
  switch (finding.flaw) {
    case TreeFlaw::none:
      break;
    case TreeFlaw::unknown_parent:
      return path + ": the last is not a tenant";
    case TreeFlaw::cycle:
      return path + ": a tenant cannot stand below itself";
    case TreeFlaw::too_deep:
      return path + ": " + std::to_string(finding.path.size()) + " levels, expected at most " +
             std::to_string(kTenantLevels);
  }
  return {};
}

}  // namespace berth::core
