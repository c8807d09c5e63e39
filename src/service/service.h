// Service: the engine behind a door that many may use. It joins sequencer, store, release, view,
// courier and history, and owns their threads. No network here.
//
//   any thread      offer(command)                       bounded rings; control before submits
//   engine thread   sequencer: resolve, step, encode     into the open group
//   store thread    append, sync, then release: view, feed, replies, leases, acknowledgements
//   history thread  ended tasks into SQLite              may lag; the journal is the truth
//   snapshot thread snapshot + tail -> next snapshot     from disk only, never from the engine
//   learn thread    mix and nodes -> packing's table     offered as a command like any other
//
// Nothing observable precedes its sync. A failed sync ends the process.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "berth/v1/agent.pb.h"
#include "learn/self_play.h"
#include "service/commands.h"
#include "service/feed.h"
#include "service/latency.h"
#include "service/view.h"
#include "store/history.h"

namespace berth::service {

struct ServiceOptions {
  std::filesystem::path data;
  std::uint64_t segment_bytes = 64ULL << 20;
  std::uint64_t snapshot_every_events = 1'000'000;
  std::uint64_t snapshot_every_bytes = UINT64_MAX;
  std::size_t keep_snapshots = 2;
  Duration journal_retention = minutes(24 * 60);
  std::uint64_t reserve_bytes = 0;   // free on the data disk, or no new task is taken
  std::size_t submit_ring = 65'536;  // tasks that may wait for the sequencer
  std::size_t feed_capacity = 65'536;
  Duration remember_ids = minutes(24 * 60);
  Duration result_ttl = minutes(7 * 24 * 60);
  Duration history_retention = minutes(30 * 24 * 60);
  Duration table_every{0};  // how often packing's table is looked at; 0: never
  learn::SelfPlaySettings self_play;
  std::size_t max_tenants = 10'000;
  std::size_t max_signals = 10'000;  // of one tenant
  core::TenantSpec tenant_defaults;
  std::uint8_t tenant_default_tier = 0;
  bool tenant_default_commands = true;
  bool make_unknown_tenants = true;  // false: their submits are refused
  std::string version;
  // A planted fault: answers before the group is on disk. The fault tests must notice.
  bool answer_before_sync = false;
  // Advances evenly, also while the machine sleeps, and begins anywhere. Of an open service it is
  // engine time.
  std::function<Time()> clock;
  std::string boot;                              // names the boot whose clock it is; "": not known
  std::function<std::int64_t()> wall_clock;      // unix nanoseconds; may be set at any time
  Duration max_downtime = minutes(7 * 24 * 60);  // more counts as none
  std::function<Time(Time)> next_day;           // when the day of that wall time ends; empty: never
  std::function<void(const std::string&)> log;  // what someone should look at
  std::function<void(const std::string&)> inform;  // what is as it should be; empty: not told
};

// Counters for /metrics and `berth info`. Read without locks.
struct ServiceStats {
  std::uint64_t epoch = 0;
  std::uint64_t events = 0;  // sequenced since the first start
  std::uint64_t hash = 0;    // after them
  std::uint64_t groups = 0;  // since this start, as the following
  std::uint64_t synced_bytes = 0;
  std::uint64_t submits_refused_full = 0;
  std::uint64_t ring_tasks = 0;        // waiting for the sequencer now
  std::uint64_t history_lag = 0;       // ended tasks not in the history yet
  std::uint64_t history_failures = 0;  // writes that must be tried again
  std::uint64_t snapshots = 0;
  std::uint64_t snapshot_seq = 0;
  std::vector<std::uint64_t> sync_us_buckets;  // counts, bounds in kSyncBucketsUs
  std::uint64_t sync_us_sum = 0;
  std::vector<std::uint64_t> dispatch_buckets;  // tasks, bounds in kDispatchBoundsS
  double dispatch_sum_s = 0;
  std::int64_t next_wakeup_ns = 0;  // engine time; INT64_MAX: none
  std::int64_t now_ns = 0;
  std::int64_t wall_ahead_ns = 0;           // of the wall clock, against engine time
  std::uint64_t packing_table_version = 0;  // 0: none was ever learned
  std::int64_t packing_table_since_ns = 0;  // wall time
  std::uint64_t packing_plays = 0;          // begun since this start
  bool stalled = false;  // the journal cannot be written (a full disk); nothing is acknowledged
  bool short_of_room = false;  // on the data disk: no new task is taken
  std::uint64_t disk_free_bytes = 0;
  std::uint64_t disk_reserve_bytes = 0;
};
inline constexpr std::array<std::uint64_t, 10> kSyncBucketsUs = {
    50, 100, 250, 500, 1'000, 2'500, 5'000, 10'000, 50'000, 250'000};

class Service {
 public:
  // Recovers what stands in options.data (or begins there), without starting anything.
  static Result<std::unique_ptr<Service>> open(ServiceOptions options);
  ~Service();

  // Configuration at the start: what differs from what is known becomes events. `told` gets each
  // outcome when it is durable.
  void configure(std::vector<Control> wanted,
                 const std::function<void(const ControlOutcome&)>& told = {});

  // Starts the threads. From now on commands are taken.
  void start();
  // Takes no more commands (offer answers false), finishes what it has, writes a snapshot.
  void stop();

  // From now on packing's table is looked at so often; 0: never.
  void learn_every(Duration every);
  // Looks at packing's table now, on the caller's thread, and learns a new one if it is time for
  // that. Once it returns, the new one is in force.
  void learn_now();

  // False: the ring is full, nothing was taken; try again a little later.
  bool offer(SubmitCommand&& command);
  bool offer(ControlCommand&& command);

  // The agents' side. `to_agent` is called on the release thread and must not block.
  using ToAgent = std::function<void(v1::ServerMessage&&)>;
  std::uint64_t open_session(ToAgent to_agent);
  void agent_said(std::uint64_t session, v1::AgentMessage&& message);
  void close_session(std::uint64_t session);

  // Output of a task, from its agent. `sink` gets chunks on the agent's thread until one has `end`
  // or an error; false ends it. No more than `window` bytes come until `more_log` makes room.
  using LogSink = std::function<bool(const v1::LogData&)>;
  struct LogWish {
    TaskNo task;
    std::uint32_t attempt = 0;  // 0: the last
    bool follow = false;
    std::uint64_t window = 0;
  };
  std::uint64_t open_log(const LogWish& wish, LogSink sink);
  void more_log(std::uint64_t log, std::uint64_t bytes);
  void close_log(std::uint64_t log);

  // Reads. The history's reader is thread-safe.
  const View& view() const;
  Feed& feed();
  const store::HistoryReader& history() const;
  ServiceStats stats() const;
  // Task steps behind `after`, from the journal; for readers that fell behind the feed. Cards of
  // tasks that have ended come from the history.
  Result<Feed::Answer> read_journal(std::uint64_t after, std::size_t most);
  // A task's spec, from memory or from the journal.
  Result<std::string> spec_of(const TaskCard& card) const;
  // The task of a tenant with this id: live, remembered, or in the history. None: there is none.
  TaskNo find_task(TenantId tenant, std::string_view id) const;

  const ServiceOptions& options() const;

 private:
  struct Parts;
  explicit Service(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::service
