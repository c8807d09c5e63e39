// See fit_index.h.
#include "core/state/fit_index.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::core {
namespace {

std::uint64_t key_of(Mib amount, std::uint32_t gpu) {
  return static_cast<std::uint64_t>(amount.value) << 32 | gpu;
}
GpuId gpu_of(std::uint64_t key) { return GpuId{static_cast<std::uint32_t>(key)}; }
Mib amount_of(std::uint64_t key) { return Mib{static_cast<std::int64_t>(key >> 32)}; }

std::optional<GpuId> least_that_fits(const OrderedSet& gpus, Mib need) {
  const auto key = gpus.lower_bound(key_of(need, 0));
  return key ? std::optional(gpu_of(*key)) : std::nullopt;
}

std::optional<GpuId> largest_that_fits(const OrderedSet& gpus, Mib need) {
  const auto key = gpus.last();
  return key && amount_of(*key) >= need ? std::optional(gpu_of(*key)) : std::nullopt;
}

void lowest_number(const OrderedSet& gpus, Mib need, std::optional<GpuId>& best) {
  gpus.visit_from(key_of(need, 0), [&](std::uint64_t key) {
    if (!best || gpu_of(key) < *best) best = gpu_of(key);
    return true;
  });
}

}  // namespace

void FitIndex::insert(GpuId gpu, const Entry& entry) {
  ASSERT(entry.amount.value >= 0 && entry.amount.value < (std::int64_t{1} << 31));
  OrderedSet* set = &idle_;
  if (!entry.idle) {
    auto it = std::lower_bound(shared_.begin(), shared_.end(), entry.load.value,
                               [](const Group& g, std::int64_t load) { return g.load < load; });
    if (it == shared_.end() || it->load != entry.load.value) {
      it = shared_.insert(it, Group{entry.load.value, {}});
    }
    set = &it->gpus;
  }
  const bool inserted = set->insert(key_of(entry.amount, gpu.value));
  ASSERT(inserted);
}

void FitIndex::erase(GpuId gpu, const Entry& entry) {
  if (entry.idle) {
    const bool erased = idle_.erase(key_of(entry.amount, gpu.value));
    ASSERT(erased);
    return;
  }
  const auto it = std::lower_bound(shared_.begin(), shared_.end(), entry.load.value,
                                   [](const Group& g, std::int64_t load) { return g.load < load; });
  ASSERT(it != shared_.end() && it->load == entry.load.value);
  const bool erased = it->gpus.erase(key_of(entry.amount, gpu.value));
  ASSERT(erased);
  if (it->gpus.empty()) shared_.erase(it);
}

std::optional<GpuId> FitIndex::find(Mib need, Milli share, Milli threshold, Packing packing) const {
  const std::int64_t load_max = threshold.value - share.value;
  if (packing == Packing::first_fit) {
    std::optional<GpuId> best;
    lowest_number(idle_, need, best);
    for (const Group& group : shared_) {
      if (group.load <= load_max) lowest_number(group.gpus, need, best);
    }
    return best;
  }
  if (packing == Packing::spread) {
    if (const auto gpu = largest_that_fits(idle_, need)) return gpu;
    for (const Group& group : shared_) {
      if (group.load > load_max) break;
      if (const auto gpu = largest_that_fits(group.gpus, need)) return gpu;
    }
    return std::nullopt;
  }
  for (std::size_t i = shared_.size(); i-- > 0;) {
    if (shared_[i].load > load_max) continue;
    if (const auto gpu = least_that_fits(shared_[i].gpus, need)) return gpu;
  }
  return least_that_fits(idle_, need);
}

std::optional<Mib> FitIndex::most(Milli share, Milli threshold) const {
  std::optional<Mib> most;
  if (const auto key = idle_.last()) most = amount_of(*key);
  for (const Group& group : shared_) {
    if (group.load > threshold.value - share.value) break;
    const Mib amount = amount_of(*group.gpus.last());
    if (!most || amount > *most) most = amount;
  }
  return most;
}

std::optional<Mib> FitIndex::most_for(std::size_t gpus) const {
  const auto key = idle_.nth_from_last(gpus);
  return key ? std::optional(amount_of(*key)) : std::nullopt;
}

std::vector<GpuId> FitIndex::take_idle(std::size_t gpus, Mib need) const {
  std::vector<GpuId> taken;
  taken.reserve(gpus);
  idle_.visit_from(key_of(need, 0), [&](std::uint64_t key) {
    taken.push_back(gpu_of(key));
    return taken.size() < gpus;
  });
  ASSERT(taken.size() == gpus);
  return taken;
}

std::size_t FitIndex::idle_with(Mib need) const { return idle_.count_from(key_of(need, 0)); }

std::vector<GpuId> FitIndex::candidates(Mib need, Milli share, Milli threshold,
                                        std::size_t limit) const {
  std::vector<GpuId> found;
  const auto collect = [&](const OrderedSet& gpus) {
    if (found.size() == limit) return;
    gpus.visit_from(key_of(need, 0), [&](std::uint64_t key) {
      found.push_back(gpu_of(key));
      return found.size() < limit;
    });
  };
  for (std::size_t i = shared_.size(); i-- > 0;) {
    if (shared_[i].load <= threshold.value - share.value) collect(shared_[i].gpus);
  }
  collect(idle_);
  return found;
}

}  // namespace berth::core
