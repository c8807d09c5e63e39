// Keys: which ids and request ids are taken, and by which task. A plain value, on the engine thread
// and in the snapshot.
//
// A key is a tenant with a task id or a request id, kept as 128 bits of hash: an accident is out of
// reach, and someone who computes collisions meets only other ids of the same tenant. Keys of live
// tasks stay; those of ended ones for as long as ids are remembered.
//
// There are as many as tasks in a day, so each costs its 40 bytes, a place in an index (8 bytes, at
// most three quarters full), and a number in the row of those that have ended.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "base/ids.h"
#include "base/time.h"
#include "journal/wire.h"
#include "service/task_card.h"

namespace berth::service {

class Keys {
 public:
  enum class Kind : std::uint8_t { task_id = 1, request_id = 2 };
  struct Known {
    TaskNo task;
    std::uint64_t digest = 0;
    Time forget_at = Time::never();
  };

  // Null: free, or no longer remembered.
  const Known* find(TenantId tenant, Kind kind, std::string_view text, Time now) const;

  // The task was accepted: its id and request id are taken.
  void take(const TaskCard& card);
  // It has ended: they are free again at `forget_at`.
  void end(TaskNo task, Time forget_at);
  // Drops a few that are due, so that the cost follows the change.
  void forget(Time now);

  std::size_t size() const { return size_; }
  std::size_t bytes() const;  // of memory

  void encode(journal::Writer& out) const;
  static Keys decode(journal::Reader& in);

 private:
  struct Hash128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Hash128&) const = default;
  };
  struct Row {
    Hash128 key;
    Known known;
  };
  // Of the index. The tag is a part of the hash, so that it grows without a look at the rows.
  struct Cell {
    std::uint32_t row = kNoRow;
    std::uint32_t tag = 0;
  };
  static constexpr std::uint32_t kNoRow = UINT32_MAX;

  static Hash128 key_of(TenantId tenant, Kind kind, std::string_view text);
  static std::uint32_t tag_of(const Hash128& key) { return static_cast<std::uint32_t>(key.low); }
  std::size_t home(std::uint32_t tag) const { return tag & (cells_.size() - 1); }
  std::size_t next(std::size_t cell) const { return (cell + 1) & (cells_.size() - 1); }
  // Its cell, or the empty one where it belongs. REQUIRES cells.
  std::size_t cell_of(const Hash128& key) const;
  void grow();
  void clear_cell(std::size_t cell);
  std::uint32_t put(const Hash128& key, const Known& known);
  void drop(std::uint32_t row);
  void list_live(std::uint32_t row);

  std::deque<Row> rows_;
  std::vector<std::uint32_t> free_rows_;
  std::vector<Cell> cells_;  // a power of two
  std::size_t size_ = 0;
  FlatMap64 live_;  // rows by twice the task's number, and by that and one: it has two keys at most
  std::deque<std::uint32_t> ended_;  // rows in the order of their ends
};

}  // namespace berth::service
