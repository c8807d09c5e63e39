// Dependencies between things numbered 0..n-1: cycles, and an order in which each comes after all
// it depends on. Knows neither tasks nor steps. Linear; never recurses, whatever the input.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::sim {

using DependencyLists = std::vector<std::vector<std::uint32_t>>;

// The members of one cycle, in the order of depending, the smallest number first; empty if none.
std::vector<std::uint32_t> find_cycle(const DependencyLists& depends_on);

// The length of the longest chain below each: 0 depends on nothing. REQUIRES no cycle.
std::vector<std::uint32_t> dependency_depths(const DependencyLists& depends_on);

}  // namespace berth::sim
