// FitIndex: GPUs by how much of something they have left, apart by how busy they are.
//
// Answers "which GPU should take a batch that needs m MiB and a share s" and "how much could one
// batch of share s find at most". Idle GPUs form one set; busy ones that may still take a batch
// form one set per load (loads are thousandths, so there are at most as many sets as the threshold
// allows, in practice a handful). The amount is free VRAM or reclaimable VRAM, as the owner likes.
//
// Preference. best_fit: the busiest GPU that has room, there the one with least left over; an idle
// GPU only when none shares. first_fit: the lowest number. spread: an idle GPU first, then the
// least loaded, there the one with most left. Ties go to the lowest number (to the highest for
// spread).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/first_fit.h"
#include "base/ids.h"
#include "base/ordered_set.h"
#include "base/units.h"
#include "core/model/specs.h"

namespace berth::core {

class FitIndex {
 public:
  // Packing first_fit asks by number too; only then is that kept. REQUIRES an empty index.
  void keep_numbers(bool keep) { keep_numbers_ = keep; }

  // How a GPU stands in the index; the owner keeps it to be able to take the GPU out again.
  struct Entry {
    Mib amount;
    bool idle = true;
    Milli load;
    bool operator==(const Entry&) const = default;
  };

  void insert(GpuId gpu, const Entry& entry);
  void erase(GpuId gpu, const Entry& entry);

  bool empty() const { return idle_.gpus.empty() && shared_.empty(); }

  // The limit on load + share for joining a busy GPU; an idle GPU takes any share.
  std::optional<GpuId> find(Mib need, Milli share, Milli threshold, Packing packing) const;

  // The largest need that find would satisfy for this share; none: no GPU takes such a share now.
  std::optional<Mib> most(Milli share, Milli threshold) const;

  std::size_t idle_with(Mib need) const;

  // Up to `limit` GPUs that satisfy the need, in order of preference best_fit.
  std::vector<GpuId> candidates(Mib need, Milli share, Milli threshold, std::size_t limit) const;

  // Calls visit(gpu, entry) for every GPU here; for checks.
  template <class Visit>
  void visit(Visit visit) const {
    const auto each = [&](const OrderedSet& gpus, bool idle, std::int64_t load) {
      gpus.visit_from(0, [&](std::uint64_t key) {
        visit(GpuId{static_cast<std::uint32_t>(key)},
              Entry{Mib{static_cast<std::int64_t>(key >> 32)}, idle, Milli{load}});
        return true;
      });
    };
    each(idle_.gpus, true, 0);
    for (const Group& group : shared_)
      each(group.gpus, false, group.load);
  }

 private:
  struct Group {
    std::int64_t load = 0;
    OrderedSet gpus;     // amount << 32 | gpu
    FirstFit by_number;  // the same GPUs, when numbers are kept
  };

  void insert_into(Group& group, GpuId gpu, Mib amount);
  void erase_from(Group& group, GpuId gpu, Mib amount);

  bool keep_numbers_ = false;
  Group idle_;
  std::vector<Group> shared_;  // by load, ascending; empty groups are dropped
};

}  // namespace berth::core
