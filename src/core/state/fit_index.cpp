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

void keep_lower(std::optional<GpuId>& lowest, std::optional<std::uint32_t> other) {
  if (other && (!lowest || *other < lowest->value)) lowest = GpuId{*other};
}

}  // namespace

void FitIndex::insert_into(Group& group, GpuId gpu, Mib amount) {
  const bool inserted = group.gpus.insert(key_of(amount, gpu.value));
  ASSERT(inserted);
  if (keep_numbers_) group.by_number.insert(gpu.value, amount.value);
}

void FitIndex::erase_from(Group& group, GpuId gpu, Mib amount) {
  const bool erased = group.gpus.erase(key_of(amount, gpu.value));
  ASSERT(erased);
  if (keep_numbers_) group.by_number.erase(gpu.value);
}

void FitIndex::insert(GpuId gpu, const Entry& entry) {
  ASSERT(entry.amount.value >= 0 && entry.amount.value < (std::int64_t{1} << 31));
  if (entry.idle) return insert_into(idle_, gpu, entry.amount);
  auto it = std::lower_bound(shared_.begin(), shared_.end(), entry.load.value,
                             [](const Group& g, std::int64_t load) { return g.load < load; });
  if (it == shared_.end() || it->load != entry.load.value) {
    it = shared_.insert(it, Group{});
    it->load = entry.load.value;
  }
  insert_into(*it, gpu, entry.amount);
}

void FitIndex::erase(GpuId gpu, const Entry& entry) {
  if (entry.idle) return erase_from(idle_, gpu, entry.amount);
  const auto it = std::lower_bound(shared_.begin(), shared_.end(), entry.load.value,
                                   [](const Group& g, std::int64_t load) { return g.load < load; });
  ASSERT(it != shared_.end() && it->load == entry.load.value);
  erase_from(*it, gpu, entry.amount);
  if (it->gpus.empty()) shared_.erase(it);
}

std::optional<GpuId> FitIndex::find(Mib need, Milli share, Milli threshold, Packing packing) const {
  const std::int64_t load_max = threshold.value - share.value;
  if (packing == Packing::first_fit) {
    ASSERT(keep_numbers_);
    std::optional<GpuId> lowest;
    keep_lower(lowest, idle_.by_number.find(need.value));
    for (const Group& group : shared_) {
      if (group.load <= load_max) keep_lower(lowest, group.by_number.find(need.value));
    }
    return lowest;
  }
  if (packing == Packing::spread) {
    if (const auto gpu = largest_that_fits(idle_.gpus, need)) return gpu;
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
  return least_that_fits(idle_.gpus, need);
}

std::optional<Mib> FitIndex::most(Milli share, Milli threshold) const {
  std::optional<Mib> most;
  if (const auto key = idle_.gpus.last()) most = amount_of(*key);
  for (const Group& group : shared_) {
    if (group.load > threshold.value - share.value) break;
    const Mib amount = amount_of(*group.gpus.last());
    if (!most || amount > *most) most = amount;
  }
  return most;
}

std::size_t FitIndex::idle_with(Mib need) const { return idle_.gpus.count_from(key_of(need, 0)); }

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
  collect(idle_.gpus);
  return found;
}

}  // namespace berth::core
