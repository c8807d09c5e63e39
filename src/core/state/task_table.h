// TaskTable: one row per live task, and what is remembered of ended ones.
//
// Rows live in slots that are reused; a slot number never leaves the core. Outside, a task is its
// number, found through pages of 4096 entries. An ended task leaves its terminal state in its
// entry, so that later tasks can depend on it, until some four million newer numbers exist.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/paged_vector.h"
#include "base/time.h"
#include "core/model/reason.h"
#include "core/model/specs.h"
#include "core/model/task_states.h"

namespace berth::core {

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

// Aligned so that a row is one pair of cache lines, which the hardware fetches together.
struct alignas(128) TaskRow {
  TaskNo no;
  Time submitted;
  Time eligible;  // pending: since when; waiting: not before; never: until something releases it
  Time expires = Time::never();
  Duration expected_run;
  Duration backoff;
  std::uint32_t vram = 0;  // MiB on each GPU, resolved from the model when the task gave none
  TenantId tenant;
  QueueId queue;
  std::uint32_t flow = kNoSlot;
  std::uint32_t lease = kNoSlot;
  std::uint32_t stamp = 0;  // moves when the task leaves a FIFO; survives reuse of the slot
  std::uint32_t tokens = 0;
  std::uint32_t extra = kNoSlot;       // see TaskExtra, for tasks that have any of it
  std::uint32_t unresolved = 0;        // dependencies still open
  std::uint32_t dependants = kNoSlot;  // list of edges
  std::uint32_t shape = kNoSlot;       // in the shape table, for tasks whose shape is not plain
  std::uint32_t starts = 0;            // the number of its last attempt; never used again
  std::int16_t priority = 0;
  std::uint16_t share = 1000;
  std::uint16_t gpus = 1;
  std::uint8_t tier = 0;
  TaskState state = TaskState::waiting;
  std::uint8_t attempts = 0;  // those that count; not the preempted, lost and never begun
  std::uint8_t max_attempts = 1;
  std::uint8_t retry_on = kRetryOnAny;
  std::uint8_t losses = 0;
  std::uint8_t like_failures = 0;
  Failure last_failure = Failure::error;
  OnDependencyFailure on_dependency_failure = OnDependencyFailure::fail;
  ReasonCode held = ReasonCode::none;  // task_held or poison_held while held
  bool command = false;                // it runs a program of its own
  bool started = false;                // once: it can no longer wait too long
};

// What few tasks have.
struct TaskExtra {
  GroupId group;
  std::uint32_t at_once = 0;  // its group's limit; 0: none
  bool has_turn = false;      // with a limit: it counts against it
  std::uint32_t group_prev = kNoSlot;
  std::uint32_t group_next = kNoSlot;
  std::vector<Dependency> depends_on;
  Duration checkpoint_interval;
  Duration restart_cost;
};

// "dependant waits for the task whose row heads this list"
struct DependencyEdge {
  TaskNo dependant;
  std::uint32_t next = kNoSlot;
};

class TaskTable {
 public:
  // REQUIRES no == next(). Numbers of refused submits are skipped with skip().
  std::uint32_t create(TaskNo no);
  void skip(TaskNo no);
  // The row's number now remembers the terminal state; the slot is free.
  void end(std::uint32_t slot, TaskState terminal);

  TaskNo next() const { return TaskNo{next_}; }
  std::size_t live() const { return live_; }

  // kNoSlot: not live.
  std::uint32_t slot_of(TaskNo no) const;
  // None: live, refused, never seen or forgotten.
  std::optional<TaskState> ended(TaskNo no) const;

  // A hint that the row will be touched soon, and with it the entry of its number.
  void prefetch(std::uint32_t slot, TaskNo no) const {
    __builtin_prefetch(&rows_[slot], 1);
    if (const std::uint32_t* entry = entry_of(no.value)) __builtin_prefetch(entry, 1);
  }

  TaskRow& row(std::uint32_t slot) { return rows_[slot]; }
  const TaskRow& row(std::uint32_t slot) const { return rows_[slot]; }
  std::size_t slots() const { return rows_.size(); }
  bool is_live(std::uint32_t slot) const { return static_cast<bool>(rows_[slot].no); }

  TaskExtra& extra_of(std::uint32_t slot);  // made on first use
  const TaskExtra* find_extra(std::uint32_t slot) const;

  void add_dependant(std::uint32_t slot, TaskNo dependant);
  // Empties the list and returns it, first added first.
  std::vector<TaskNo> take_dependants(std::uint32_t slot);
  // The same list, left as it is; for checks.
  std::vector<TaskNo> dependants_of(std::uint32_t slot) const;

  // For snapshots: sets the numbering of an empty table, then puts tasks and ends back.
  void restore_numbering(TaskNo next, TaskNo oldest_remembered);
  void remember_ended(TaskNo no, TaskState terminal);
  std::uint32_t create_restored(TaskNo no);
  // Oldest number whose end may still be remembered.
  TaskNo oldest_remembered() const;
  // Calls live(number, slot) and ended(number, state) for all there are, by ascending number.
  template <class Live, class Ended>
  void visit_numbers(Live live, Ended ended) const {
    std::uint64_t no = first_page_ * kPageEntries;
    for (const auto& page : pages_) {
      for (std::uint32_t i = 0; page && i < kPageEntries; ++i) {
        const std::uint32_t entry = page->entries[i];
        if (entry < kEndedBase) live(TaskNo{no + i}, entry);
        if (entry <= kEndedBase) continue;
        ended(TaskNo{no + i}, static_cast<TaskState>(entry - kEndedBase - 1));
      }
      no += kPageEntries;
    }
  }

 private:
  static constexpr std::uint32_t kPageEntries = 4096;
  static constexpr std::size_t kPagesRemembered = 1024;
  static constexpr std::uint32_t kEndedBase = 0xfffffff0;  // + 1 + terminal state
  static constexpr std::uint32_t kUnknown = 0xfffffff0;

  struct Page {
    std::uint32_t live = 0;
    std::uint32_t entries[kPageEntries];
  };

  std::uint32_t* entry_of(std::uint64_t no);
  const std::uint32_t* entry_of(std::uint64_t no) const;
  void grow_pages(std::uint64_t no);
  void forget_old_pages();
  std::uint32_t take_slot();

  PagedVector<TaskRow, 1024> rows_;
  std::vector<std::uint32_t> free_slots_;
  std::deque<std::unique_ptr<Page>> pages_;
  std::uint64_t first_page_ = 0;
  std::uint64_t next_ = 0;
  std::size_t live_ = 0;

  PagedVector<TaskExtra, 256> extras_;
  std::vector<std::uint32_t> free_extras_;
  PagedVector<DependencyEdge, 1024> edges_;
  std::vector<std::uint32_t> free_edges_;
};

}  // namespace berth::core
