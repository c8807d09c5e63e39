// DiskRoom: what the store thread knows of the data disk, for those who take work in. Written by
// one thread, read by any, without locks.
//
// There is enough room while the journal has its spare segment and the reserve is free. Below that
// no new task is taken, so that cancels, results and administration still find room. Stalled: even
// those do not, and nothing is acknowledged.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "service/commands.h"

namespace berth::service {

// How little room there is.
struct ShortRoom {
  std::uint64_t free_bytes = 0;
  std::uint64_t reserve_bytes = 0;
  bool operator==(const ShortRoom&) const = default;
};

// What a submit is told that was not taken, or of which one cannot know.
SubmitOutcome outcome_without(const ShortRoom& room, SubmitOutcome::Kind kind);
// The same of any other command.
ControlOutcome outcome_without(const ShortRoom& room, ControlOutcome::Kind kind);

class DiskRoom {
 public:
  using Clock = std::chrono::steady_clock;
  // Between two looks at the disk.
  static constexpr std::chrono::milliseconds kEvery{200};
  // Who waits for a stalled journal is told so after this.
  static constexpr std::chrono::milliseconds kPatience{1000};

  DiskRoom(std::filesystem::path folder, std::uint64_t reserve_bytes)
      : folder_(std::move(folder)), reserve_(reserve_bytes) {}

  // The store thread. `segment`: that the journal writes; a new one took room. True: it was time to
  // look, and that was done.
  bool look(std::uint64_t segment, Clock::time_point now = Clock::now());
  void note_spare(bool has_spare) { has_spare_.store(has_spare, std::memory_order_relaxed); }
  void stall(Clock::time_point now = Clock::now());
  void go_on() { stalled_.store(false, std::memory_order_relaxed); }
  // The journal has been stalled for long enough to tell those who wait.
  bool is_out_of_patience(Clock::time_point now = Clock::now()) const;

  bool is_stalled() const { return stalled_.load(std::memory_order_relaxed); }
  std::uint64_t free_bytes() const { return free_.load(std::memory_order_relaxed); }
  std::uint64_t reserve_bytes() const { return reserve_; }
  // None: there is enough.
  std::optional<ShortRoom> shortage() const;

 private:
  const std::filesystem::path folder_;
  const std::uint64_t reserve_;
  std::optional<Clock::time_point> looked_;
  std::uint64_t segment_ = 0;
  Clock::time_point stalled_since_;
  std::atomic<std::uint64_t> free_{UINT64_MAX};
  std::atomic<bool> has_spare_{true};
  std::atomic<bool> stalled_{false};
};

}  // namespace berth::service
