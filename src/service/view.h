// View: the released state, for readers on any thread. Nothing in it is ahead of the disk.
//
// Readers share the lock for the length of one function; the release thread takes it alone once per
// group. So a reader must be short: visit a bounded number of lines, copy, leave.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "service/board.h"

namespace berth::service {

// How a GPU is, as its agent measured it. -1: not known.
struct GpuReading {
  std::int64_t used_mb = -1;
  std::int32_t utilisation_percent = -1;
  std::int32_t temperature_c = -1;
  std::int32_t power_w = -1;
};

class View {
 public:
  // read(board): under the shared lock.
  template <class Read>
  auto read(Read&& read) const {
    const std::shared_lock lock(mutex_);
    return std::forward<Read>(read)(board_);
  }
  // change(board): alone. For the release thread.
  template <class Change>
  auto change(Change&& change) {
    const std::unique_lock lock(mutex_);
    return std::forward<Change>(change)(board_);
  }

  GpuReading reading(GpuId gpu) const;
  void set_reading(GpuId gpu, const GpuReading& reading);

  // Tasks that have ended and are not in the history yet.
  void remember_ended(const std::vector<TaskLine>& ended);
  void forget_ended(std::span<const TaskNo> tasks);
  std::optional<TaskLine> find_ended(TaskNo task) const;
  // The oldest segment of the journal with a spec that is still needed, of a live task or of one of
  // these. Looks at all of these.
  std::uint64_t oldest_needed_segment() const;
  // Cards of live tasks whose specs stand in the journal before this segment, `most` at most.
  std::vector<CardPtr> large_specs_before(std::uint64_t segment, std::size_t most) const;
  // Those with numbers below this one (0: all), the highest first.
  std::vector<TaskLine> ended_below(std::uint64_t below, std::size_t most) const;

 private:
  mutable std::shared_mutex mutex_;
  Board board_;
  mutable std::mutex readings_mutex_;
  std::map<GpuId, GpuReading> readings_;
  mutable std::mutex ended_mutex_;
  std::map<TaskNo, TaskLine> ended_;
};

}  // namespace berth::service
