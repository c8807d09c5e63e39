// GpuStreams: what concerns one GPU is carried out in the order of its messages.
//
// Leases and loads begin at once unless something waits before them on one of their GPUs; an
// eviction waits until the model is free, and holds up what is behind it. Knows no messages, only
// steps. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace berth::agent {

class GpuStreams {
 public:
  // Returns true when it is carried out; false: not yet, ask again at the next advance().
  using Step = std::function<bool()>;

  explicit GpuStreams(std::size_t gpus) : waiting_(gpus) {}

  // Nothing waits on these GPUs: a step on them may begin without being queued.
  bool clear(std::span<const std::uint32_t> gpus) const;

  // Carries out `step` when it is the first on each of its GPUs; now, if it can.
  void push(std::span<const std::uint32_t> gpus, Step step);

  // Something has ended; carries out what may go on.
  void advance();

 private:
  struct Entry {
    std::vector<std::uint32_t> gpus;
    Step step;
    bool first_everywhere(const GpuStreams& streams) const;
  };

  bool advance_gpu(std::uint32_t gpu);

  std::vector<std::deque<std::shared_ptr<Entry>>> waiting_;
  bool advancing_ = false;  // a step that ends something calls advance() itself
};

}  // namespace berth::agent
