// Restorer: records back to a state, section by section, nothing believed before it is checked.
//
// One use: construct, restore(), then either the state or error(). For state_restore*.cpp only.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/model/ranges.h"
#include "core/state/state.h"
#include "journal/snapshot.h"
#include "journal/state_records.h"
#include "journal/state_snapshot.h"
#include "journal/wire.h"

namespace berth::journal {

class Restorer {
 public:
  explicit Restorer(const SnapshotReader& snapshot) : snapshot_(snapshot) {}

  // Null: error() says why.
  std::unique_ptr<core::State> restore();
  const SnapshotError& error() const { return error_; }

 private:
  // Things (state_restore.cpp).
  bool read_engine();
  bool read_tenants();
  bool read_models();
  bool read_packing();
  bool read_nodes();
  bool read_gpus();
  bool read_queues();
  bool check_engine();
  void take(TenantRecord& record);
  void take(ModelRecord& record);
  void take(NodeRecord& record);
  void take(GpuRecord& record);
  void take(QueueRecord& record);
  void take_usage(core::Tenant& tenant, const UsageRecord& record);
  void derive();

  // Work (state_restore_work.cpp).
  bool read_ends();
  bool read_signals();
  bool read_tasks();
  bool read_ripe();
  bool read_leases();
  bool read_runs(std::uint64_t next, std::uint64_t end);
  bool take_run(NumberEnd end, std::uint64_t first, std::uint64_t length);
  void take(const TaskRecord& record);
  void take_links(std::uint32_t slot, const LinksRecord& record);
  void count_unresolved();
  void take_cancelling();
  void take(const RipeRecord& record);
  void take(const LeaseRecord& record);
  void take_lease_task(core::Lease& lease, std::uint32_t lease_slot, const LeaseTaskRecord& record);
  void take_nodes(const core::Lease& lease, std::uint32_t lease_slot);
  // Who has claimed which GPUs; once tasks and leases are there.
  void take_claims();
  void take_slice(const core::Lease& lease, std::uint32_t lease_slot, GpuId gpu);

  // Reading. A section is begun, its records are taken, it is ended; the first failure stays.
  void begin(StateSection section, const char* name);
  bool end();
  template <class Record>
  void next(Record& record) {
    record_at_ = in_.offset();
    (void)decode(in_, record);
  }
  template <class Record>
  bool read_list(StateSection section, const char* name) {
    begin(section, name);
    const std::uint32_t count = in_.u32();
    Record record;
    for (std::uint32_t i = 0; i < count && in_.ok(); ++i) {
      next(record);
      if (in_.ok()) take(record);
    }
    return end();
  }
  // Of the record read last.
  void require(bool holds, const char* expected) {
    if (!holds) [[unlikely]]
      in_.fail_at(record_at_, expected);
  }
  template <class Spec>
  void require_sane(const Spec& spec) {
    const char* expected = core::flaw_in(spec);
    require(expected == nullptr, expected);
  }
  bool is_past(Time time) const { return time.ns >= 0 && time <= state_->now; }

  const SnapshotReader& snapshot_;
  std::unique_ptr<core::State> state_ = std::make_unique<core::State>();
  Reader in_{ByteView{}};
  std::size_t record_at_ = 0;
  SnapshotError error_;

  EngineRecord engine_;
  std::vector<std::optional<Time>> keep_alives_;             // by GPU
  std::map<TaskNo, std::map<std::uint16_t, GpuId>> claims_;  // by rank, from 1 on
  std::map<GroupId, TaskNo> oldest_of_group_;
  struct Turns {
    std::uint32_t at_once = 0;
    std::uint32_t taken = 0;
    std::uint32_t in_line = 0;
  };
  std::map<GroupId, Turns> turns_;
  std::uint64_t ended_ = 0;      // numbers remembered
  std::uint64_t in_leases_ = 0;  // tasks that start or run
  std::uint64_t last_task_ = 0;  // one more than the number taken last
  std::uint64_t last_lease_ = 0;
};

}  // namespace berth::journal
