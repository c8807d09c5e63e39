// Board: what is known of every live task, lease, GPU and model, for people to read. A plain value
// without locks; the view guards one at the last released event.
//
// It follows from the notes, events and actions of the journal, applied in order; it decides
// nothing and the core never reads it. Tasks that have ended leave it: they are handed out once,
// for the history and the streams.
//
// The core decides the end of a task that it has asked to stop at once; its processes may live
// through their grace. Such a task stays here, in its state and with its end decided, until its
// agent says that it is over or its lease is closed: what is told to have ended has ended.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/action.h"
#include "core/event.h"
#include "core/model/price.h"
#include "core/model/task_states.h"
#include "service/bills.h"
#include "service/keys.h"
#include "service/names.h"
#include "service/notes.h"
#include "service/pending_line.h"
#include "service/task_card.h"
#include "store/ended_task.h"

namespace berth::service {

struct AttemptLine {
  std::uint32_t number = 0;
  LeaseId lease;
  std::vector<GpuId> gpus;
  Time started = Time::never();
  Time ended = Time::never();
  std::int64_t charge_us = 0;  // by now
  std::string result;          // a serialized berth.v1.TaskResult; "": none yet
};

// How a task ends when its processes have.
struct DecidedEnd {
  core::TaskState state = core::TaskState::cancelled;  // terminal
  core::Reason reason;
};
// What is said of it until then.
core::Reason reason_until(const DecidedEnd& end, TaskNo task);

struct TaskLine {
  CardPtr card;
  core::TaskState state = core::TaskState::pending;
  core::Reason reason;  // the last that was recorded: a deferral's, the end's
  std::optional<DecidedEnd> end;
  Time eligible;
  Time ended = Time::never();
  std::vector<AttemptLine> attempts;
};

struct LeaseLine {
  QueueId queue;
  ModelId model;
  Milli share;
  Mib vram;
  std::vector<GpuId> gpus;
  NodeId node;                // where it runs without a GPU; else none
  std::vector<TaskNo> tasks;  // whose attempts have not ended
  Time granted;
  Time started = Time::never();
  Duration expected;
  Time ended = Time::never();  // by the agent's clock; known for the event that ends it
};

struct ResidentLine {
  LoadId load;
  bool loading = false;
  Time since;
  Mib weights{0};
};

struct Ends {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t expired = 0;
};
struct QueueLine {
  std::uint64_t waiting = 0;
  std::uint64_t pending = 0;
  std::uint64_t running = 0;  // and starting
  std::uint64_t batches = 0;
  Ends ends;
};
struct TenantLine {
  std::uint64_t waiting = 0;
  std::uint64_t pending = 0;
  std::uint64_t running = 0;
  Ends ends;
};
struct ModelLine {
  std::uint64_t loads = 0;
  std::uint64_t load_failures = 0;
  std::uint64_t evictions = 0;
  Duration load_time{0};  // of all loads together
};
struct GpuLine {
  Mib promised{0};  // to leases and weights
  Milli load{0};
  std::vector<LeaseId> leases;
  std::map<ModelId, ResidentLine> models;
};

// A task's step to another state, for streams.
struct TaskChange {
  std::uint64_t sequence = 0;  // sequence_number.h
  Time at;
  CardPtr card;
  core::TaskState state = core::TaskState::pending;
  core::Reason reason;
  std::uint32_t attempt = 0;
  std::vector<GpuId> gpus;
};

// What has ended, for the history.
struct Ended {
  std::vector<TaskLine> tasks;
  // Of tasks that ended before: by a request, say, while the batch ran on.
  std::vector<store::SettledCharge> settled;
  bool empty() const { return tasks.empty() && settled.empty(); }
};
void append(Ended& to, Ended&& more);

// How a task begins, and how it goes on when it was put back.
core::TaskState first_state(const TaskCard& card);
core::TaskState state_after(const core::TaskDeferred& deferred, Time now);

// Live tasks by number. Pages come and go with the tasks in them, so a few old tasks cost little.
class TaskTable {
 public:
  static constexpr std::uint64_t kPage = 256;

  TaskLine* find(TaskNo task);
  const TaskLine* find(TaskNo task) const;
  TaskLine& add(TaskNo task);
  void remove(TaskNo task);
  std::size_t size() const { return size_; }

  // Calls visit(line) for tasks from this number on, upwards, until it returns false.
  template <class Visit>
  void each_from(TaskNo first, Visit&& visit) const {
    for (auto at = pages_.lower_bound(first.value / kPage); at != pages_.end(); ++at) {
      const std::uint64_t base = at->first * kPage;
      for (std::uint64_t i = first.value > base ? first.value - base : 0; i < kPage; ++i) {
        const TaskLine* line = at->second->lines[i].get();
        if (line != nullptr && !visit(*line)) return;
      }
    }
  }

 private:
  struct Page {
    std::array<std::unique_ptr<TaskLine>, kPage> lines;
    std::size_t used = 0;
  };
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::size_t size_ = 0;
};

// Why a task ended, for people: the core knows a deadline only as a longest wait.
core::Reason reason_of_end(const core::TaskFinished& finished, const TaskCard& card, Time now);

class Board {
 public:
  explicit Board(Duration remember_ids = minutes(24 * 60)) : remember_ids_(remember_ids) {}

  // What a group changed, for those who pass it on. The caller clears it.
  struct Changes {
    std::vector<TaskChange> tasks;
    Ended ended;
    std::vector<Time> started;  // of each task that got a lease: since when it could start
  };

  // `now`: the event's, or the last Instant's. `ordinal`: of the message in the journal, events and
  // actions counted together from 1.
  struct At {
    Time now;
    std::uint64_t ordinal = 0;
  };

  void apply(const Note& note);
  void apply(const core::Event& event, std::uint64_t ordinal, Changes& changes);
  void apply(const core::Action& action, const At& at, Changes& changes);

  const Names& names() const { return names_; }
  const Keys& keys() const { return keys_; }
  const TaskTable& tasks() const { return tasks_; }
  const std::map<LeaseId, LeaseLine>& leases() const { return leases_; }
  // By number; as long as the names' lists.
  const std::vector<QueueLine>& queues() const { return queues_; }
  const std::vector<TenantLine>& tenants() const { return tenants_; }
  // What each tenant was charged and given back: the core's ledger, as released.
  const std::vector<core::LedgerLine>& ledger() const { return ledger_; }
  const std::vector<ModelLine>& models() const { return models_; }
  const std::vector<GpuLine>& gpus() const { return gpus_; }
  // Since when the queue's pending task could start that has waited longest; none: none is pending.
  std::optional<Time> oldest_pending(QueueId queue) const;

  // The task of a tenant with this id, its own or "t-NUMBER", live or remembered. None: there is
  // none; of a number that is not live, whose it was is for the history to say.
  TaskNo find(TenantId tenant, std::string_view id, Time now) const;

  // Live tasks with large specs, by segment of the journal: these segments must stay.
  std::uint64_t oldest_needed_segment() const;

 private:
  friend class BoardCodec;

  void carry(const SpecCarried& carried);
  void redescribe(const CardPtr& card);
  void let_go(const store::BytesAt& spec);
  void accept(TaskNo task, const At& at, Changes& changes);
  void start(const core::BatchStarted& batch, const At& at, Changes& changes);
  void defer(const core::TaskDeferred& deferred, bool is_stopping, const At& at, Changes& changes);
  // One that was asked to stop just before it: it ends with its processes.
  void decide_end(const core::TaskFinished& finished, const At& at, Changes& changes);
  void finish(const core::TaskFinished& finished, const At& at, Changes& changes);
  void finish_decided(TaskNo task, LeaseId lease, const At& at, Changes& changes);
  void step(TaskLine& line, core::TaskState to, const core::Reason& reason, const At& at,
            Changes& changes);
  static void tell(const TaskLine& line, const At& at, Changes& changes);
  void count(const TaskLine& line, core::TaskState state, std::int64_t by);
  void enter(const TaskLine& line);                // into its state
  void leave(TaskLine& line, core::TaskState to);  // its state, for another
  // Returns when it ended; `now` where none was open.
  Time end_attempt(TaskLine& line, Time now);
  void begin(const core::LeaseStarted& started, const At& at, Changes& changes);
  void free_slice(LeaseId id, const LeaseLine& lease, GpuId gpu);
  void close(LeaseId id, const At& at, Changes& changes);
  void settle(const core::Action& action, Changes& changes);
  // From a snapshot: the line and what follows from it.
  void put_back(TaskLine&& line);
  void put_back(LeaseId id, LeaseLine&& lease);
  void unload(GpuId gpu, ModelId model, LoadId load);
  void lose_models(GpuId gpu);

  Duration remember_ids_;
  Names names_;
  TaskTable tasks_;
  std::map<LeaseId, LeaseLine> leases_;
  std::vector<QueueLine> queues_;
  std::vector<PendingLine> pending_;  // by queue
  std::vector<TenantLine> tenants_;
  std::vector<core::LedgerLine> ledger_;  // by tenant
  Bills bills_;
  std::vector<ModelLine> models_;
  std::vector<GpuLine> gpus_;
  Keys keys_;
  AttemptEnded told_end_;  // of the event that follows
  std::map<std::uint64_t, std::uint64_t> specs_by_segment_;
  std::map<TaskNo, CardPtr> described_;  // cards whose submit has not been decided yet
  TaskNo stopped_;                       // that the last action asked to stop
};

}  // namespace berth::service
