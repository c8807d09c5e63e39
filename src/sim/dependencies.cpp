// See dependencies.h.
#include "sim/dependencies.h"

#include <algorithm>
#include <utility>

namespace berth::sim {
namespace {

enum class Mark : std::uint8_t { fresh, open, done };

struct Frame {
  std::uint32_t node;
  std::size_t next;  // position in its list
};

// Visits depth first from every node; `leave(node)` when all below it are done. Returns the path
// of open nodes when it meets an open one again, closed by that node; empty if there is no cycle.
template <class Leave>
std::vector<std::uint32_t> visit(const DependencyLists& depends_on, Leave leave) {
  std::vector<Mark> marks(depends_on.size(), Mark::fresh);
  std::vector<Frame> path;
  for (std::uint32_t root = 0; root < depends_on.size(); ++root) {
    if (marks[root] != Mark::fresh) continue;
    marks[root] = Mark::open;
    path.push_back({root, 0});
    while (!path.empty()) {
      Frame& top = path.back();
      if (top.next == depends_on[top.node].size()) {
        marks[top.node] = Mark::done;
        leave(top.node);
        path.pop_back();
        continue;
      }
      const std::uint32_t below = depends_on[top.node][top.next++];
      if (marks[below] == Mark::fresh) {
        marks[below] = Mark::open;
        path.push_back({below, 0});
      } else if (marks[below] == Mark::open) {
        std::vector<std::uint32_t> cycle;
        const auto first = std::ranges::find(path, below, &Frame::node);
        for (auto frame = first; frame != path.end(); ++frame)
          cycle.push_back(frame->node);
        return cycle;
      }
    }
  }
  return {};
}

}  // namespace

std::vector<std::uint32_t> find_cycle(const DependencyLists& depends_on) {
  std::vector<std::uint32_t> cycle = visit(depends_on, [](std::uint32_t) {});
  if (!cycle.empty()) std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  return cycle;
}

std::vector<std::uint32_t> dependency_depths(const DependencyLists& depends_on) {
  std::vector<std::uint32_t> depths(depends_on.size(), 0);
  visit(depends_on, [&](std::uint32_t node) {
    for (const std::uint32_t below : depends_on[node]) {
      depths[node] = std::max(depths[node], depths[below] + 1);
    }
  });
  return depths;
}

}  // namespace berth::sim
