// Snapshotter: makes the next snapshot from the last one and the journal behind it, on a thread of
// its own, from disk only. The engine never waits for it, and each snapshot proves that recovery
// works.
//
// That thread takes what processor time the others leave. Under a long burst they leave little:
// when twice as much has come as makes a snapshot due, a second thread makes one with the same
// right as the others, so that a restart stays short after any stop.
//
// Afterwards it removes what nobody needs: older snapshots, but not the newest one that the history
// has caught up with, and whole segments that lie before the oldest kept one, hold no spec of a
// live task, are in the history, and are past their retention. Where specs alone keep a segment,
// they are carried forward, so that it may go the next time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "store/identity.h"

namespace berth::service {

struct SnapshotterOptions {
  std::filesystem::path data;
  store::Identity identity = 0;
  // One is due after so many events, or so many bytes of the journal, whichever comes first: both
  // bound what a restart has to read again.
  std::uint64_t every_events = 1'000'000;
  std::uint64_t every_bytes = UINT64_MAX;
  std::size_t keep = 2;
  Duration journal_retention{0};
  Duration remember_ids{0};
  std::function<std::uint64_t()> oldest_needed_segment;
  // Specs that stand before this segment are to be written once more, further on.
  std::function<void(std::uint64_t segment)> carry_specs;
  std::function<std::uint64_t()> projected;  // ordinal up to which the history is complete
  std::function<Time()> clock;               // engine time
  std::function<void(const std::string&)> log;
};

class Snapshotter {
 public:
  // `last_seq`, `bytes_behind`: of the snapshot that recovery began with, and what it read behind.
  Snapshotter(SnapshotterOptions options, std::uint64_t last_seq, std::uint64_t bytes_behind);
  ~Snapshotter();

  void start();
  void stop();

  // The journal is durable up to this event, and longer by so many bytes.
  void durable(std::uint64_t next_seq, std::uint64_t bytes);

  std::uint64_t made() const { return count_.load(std::memory_order_relaxed); }
  std::uint64_t last_seq() const { return last_seq_.load(std::memory_order_relaxed); }

  // Makes one now, up to `next_seq`. Also what the thread does.
  Status make(std::uint64_t next_seq);
  // Removes what nobody needs any more.
  Status clean_up();

 private:
  // Makes one whenever `wants` says so.
  void run(bool (Snapshotter::*wants)() const);
  bool is_due() const;
  bool is_overdue() const;
  bool is_young(std::uint64_t seq) const;

  // A place in the journal: bytes count from the snapshot that recovery began with.
  struct Mark {
    std::uint64_t seq = 0;
    std::uint64_t bytes = 0;
  };
  // Whether so many times what makes a snapshot due stands behind the mark.
  bool is_far_behind(const Mark& mark, std::uint64_t times) const;

  const SnapshotterOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Mark durable_;
  Mark begun_;  // up to where the one begun last goes,
  Mark made_;   // and the newest that is made, or was tried
  bool stopping_ = false;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> last_seq_;
  std::mutex cleaning_;
  std::thread thread_;
  std::thread hasty_;
};

}  // namespace berth::service
