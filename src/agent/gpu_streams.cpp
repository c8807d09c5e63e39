// One queue per GPU; a step on several stands in each of theirs.
#include "agent/gpu_streams.h"

namespace berth::agent {

bool GpuStreams::clear(std::span<const std::uint32_t> gpus) const {
  for (const std::uint32_t gpu : gpus) {
    if (!waiting_[gpu].empty()) return false;
  }
  return true;
}

void GpuStreams::push(std::span<const std::uint32_t> gpus, Step step) {
  auto entry = std::make_shared<Entry>(Entry{{gpus.begin(), gpus.end()}, std::move(step)});
  for (const std::uint32_t gpu : entry->gpus) {
    waiting_[gpu].push_back(entry);
  }
  advance();
}

void GpuStreams::advance() {
  if (advancing_) return;
  advancing_ = true;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t gpu = 0; gpu < waiting_.size(); ++gpu) {
      moved |= advance_gpu(gpu);
    }
  }
  advancing_ = false;
}

bool GpuStreams::advance_gpu(std::uint32_t gpu) {
  if (waiting_[gpu].empty()) return false;
  const std::shared_ptr<Entry> entry = waiting_[gpu].front();
  if (!entry->first_everywhere(*this) || !entry->step()) return false;
  for (const std::uint32_t other : entry->gpus) {
    waiting_[other].pop_front();
  }
  return true;
}

bool GpuStreams::Entry::first_everywhere(const GpuStreams& streams) const {
  for (const std::uint32_t gpu : gpus) {
    if (streams.waiting_[gpu].front().get() != this) return false;
  }
  return true;
}

}  // namespace berth::agent
