// See unfinished.h.
#include "sim/unfinished.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

namespace berth::sim {
namespace {

// In tasks walked past; an explanation costs about as much as a hundred of them.
constexpr std::uint64_t kMostWalked = 2'000'000;
constexpr std::uint64_t kExplanation = 100;

// Steps of this length, round and round through n places, meet each once, and the first few are
// already spread over all.
std::size_t even_stride(std::size_t n) {
  std::size_t stride = n * 5 / 8 + 1;
  while (std::gcd(stride, n) != 1)
    ++stride;
  return stride;
}

// The name and the sentence of what stands nearest to the task's start.
std::pair<std::string_view, std::string_view> nearest_obstacle(const core::Explanation& why) {
  if (!why.binding.empty()) {
    const core::ReasonInfo& info = core::info_of(why.binding.front().code);
    return {info.name, info.sentence};
  }
  if (why.state == core::TaskState::pending) return {"next", "would have started next"};
  return {core::name_of(why.state), "had started when the run ended"};
}

void count(Unfinished& unfinished, TaskNo task, const core::Explanation& why) {
  const auto [name, sentence] = nearest_obstacle(why);
  ++unfinished.asked;
  const auto row = std::ranges::find(unfinished.reasons, name, &UnfinishedReason::name);
  if (row == unfinished.reasons.end()) {
    unfinished.reasons.push_back({std::string(name), std::string(sentence), 1, task.value});
  } else {
    ++row->tasks;
    row->example = std::min(row->example, task.value);
  }
}

}  // namespace

Unfinished explain_unfinished(const core::Engine& engine, std::span<const TaskNo> live) {
  Unfinished unfinished;
  if (live.empty()) return unfinished;
  const std::size_t stride = even_stride(live.size());
  std::size_t place = 0;
  std::uint64_t walked = 0;
  for (std::size_t i = 0; i < live.size() && walked < kMostWalked; ++i) {
    const TaskNo task = live[place];
    place = (place + stride) % live.size();
    const std::optional<core::Explanation> why = engine.explain(task);
    if (!why) continue;
    walked += kExplanation + why->ahead_in_flow;
    count(unfinished, task, *why);
  }
  std::ranges::sort(unfinished.reasons, [](const UnfinishedReason& a, const UnfinishedReason& b) {
    return std::pair(b.tasks, a.example) < std::pair(a.tasks, b.example);
  });
  return unfinished;
}

}  // namespace berth::sim
