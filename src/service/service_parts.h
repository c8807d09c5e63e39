// Service::Parts: what the service is made of, and the loops of its threads. For service.cpp and
// service_store.cpp alone; service.h names the threads.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "service/clock.h"
#include "service/courier.h"
#include "service/disk_room.h"
#include "service/journal_pieces.h"
#include "service/learner.h"
#include "service/projector.h"
#include "service/release.h"
#include "service/replayer.h"
#include "service/rings.h"
#include "service/sequencer.h"
#include "service/service.h"
#include "service/snapshotter.h"
#include "store/folder_lock.h"
#include "store/journal.h"
#include "store/segment_reader.h"

namespace berth::service {

struct Service::Parts {
  Parts(ServiceOptions opts, store::FolderLock&& folder_lock, Recovered&& recovered,
        std::unique_ptr<store::JournalWriter> journal_writer,
        std::unique_ptr<store::HistoryWriter> history_writer,
        std::unique_ptr<store::HistoryReader> history_reader);

  // The engine thread.
  void sequence();
  bool has_room(std::size_t times) const;
  void take(Rings::Helping&& helping, Time now);
  void take_controls(std::vector<ControlCommand>& controls, Time now);
  void refuse_while_stalled(const std::vector<SubmitCommand>& submits) const;
  void run_timers(Time now);
  Duration until_wakeup() const;
  void look_at_the_wall(Time now);
  void begin_day(Time at);
  bool hand_over();
  Time now();

  // The snapshot thread.
  void carry_specs(std::uint64_t segment);

  // The store thread.
  void keep();
  store::GroupAt make_durable(Group& group);
  void tend_room();
  void tell_doubt(Waiting waiting) const;
  [[noreturn]] void end_unsynced(const Error& failed) const;
  void count_sync(std::chrono::steady_clock::duration took, std::size_t bytes);

  ServiceOptions options;
  store::FolderLock lock;
  store::SegmentReader segments;
  View view;
  Feed feed;
  Rings rings;
  Sequencer sequencer;
  Courier courier;
  std::unique_ptr<store::JournalWriter> journal;
  std::unique_ptr<store::HistoryReader> history;
  JournalPieces journal_pieces;
  Projector projector;
  Snapshotter snapshotter;
  Learner learner;
  DispatchLatency dispatch;
  Release release;
  DiskRoom room;
  bool told_short = false;
  Time last_now;
  Time day_ends = Time::never();
  const store::Identity identity;

  std::mutex handover_mutex;
  std::condition_variable handover;
  std::unique_ptr<Group> handed;  // at most one waits while one is being stored
  journal::Writer spare;          // memory of a group that has been released
  bool store_busy = false;
  bool no_more_groups = false;
  std::thread engine_thread;
  std::thread store_thread;
  bool running = false;

  std::atomic<std::uint64_t> groups{0}, synced_bytes{0}, events{0}, hash{0};
  std::atomic<std::uint64_t> sync_us_sum{0};
  std::atomic<std::int64_t> wakeup_ns{0};
  std::atomic<bool> out_of_patience{false};  // with a stalled journal
  std::array<std::atomic<std::uint64_t>, kSyncBucketsUs.size() + 1> sync_us{};
};

}  // namespace berth::service
