// Keys: which ids and request ids are taken, and by which task. A plain value, on the engine thread
// and in the snapshot.
//
// A key is a tenant with a task id or a request id, kept as 128 bits of hash: an accident is out of
// reach, and someone who computes collisions meets only other ids of the same tenant. Keys of live
// tasks stay; those of ended ones for as long as ids are remembered.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>

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

  std::size_t size() const { return known_.size(); }

  void encode(journal::Writer& out) const;
  static Keys decode(journal::Reader& in);

 private:
  struct Hash128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Hash128&) const = default;
  };
  struct Spread {
    std::size_t operator()(const Hash128& key) const { return key.low; }
  };
  struct Ended {
    Time forget_at;
    Hash128 key;
  };
  static Hash128 key_of(TenantId tenant, Kind kind, std::string_view text);
  void take(const Hash128& key, const TaskCard& card);

  std::unordered_map<Hash128, Known, Spread> known_;
  std::unordered_multimap<std::uint64_t, Hash128> live_;  // by task number
  std::deque<Ended> ended_;                               // in the order of their ends
};

}  // namespace berth::service
