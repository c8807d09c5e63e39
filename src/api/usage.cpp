// See usage.h.
#include "api/usage.h"

#include <map>
#include <tuple>
#include <utility>

namespace berth::api {
namespace {

struct Newer {
  using Place = std::tuple<std::string, std::string, std::string>;  // day, tenant, queue
  bool operator()(const Place& a, const Place& b) const {
    const auto& [day_a, tenant_a, queue_a] = a;
    const auto& [day_b, tenant_b, queue_b] = b;
    return std::tie(day_b, tenant_a, queue_a) < std::tie(day_a, tenant_b, queue_b);
  }
};

}  // namespace

std::vector<v1::UsageLine> usage_with_below(const std::vector<store::UsageLine>& rows,
                                            const ParentOf& parent_of) {
  std::map<Newer::Place, v1::UsageLine, Newer> lines;
  for (const store::UsageLine& row : rows) {
    v1::UsageLine& own = lines[{row.day, row.tenant, row.queue}];
    own.set_tasks(row.tasks);
    own.set_completed(row.completed);
    own.set_gpu_ms(row.gpu_ms);
    own.set_wait_ms(row.wait_ms);
    for (std::string at = row.tenant; !at.empty(); at = parent_of(at)) {
      v1::UsageLine& line = lines[{row.day, at, row.queue}];
      line.set_subtree_tasks(line.subtree_tasks() + row.tasks);
      line.set_subtree_completed(line.subtree_completed() + row.completed);
      line.set_subtree_gpu_ms(line.subtree_gpu_ms() + row.gpu_ms);
    }
  }
  std::vector<v1::UsageLine> list;
  for (auto& [place, line] : lines) {
    line.set_day(std::get<0>(place));
    line.set_user_id(std::get<1>(place));
    line.set_task_type(std::get<2>(place));
    list.push_back(std::move(line));
  }
  return list;
}

}  // namespace berth::api
