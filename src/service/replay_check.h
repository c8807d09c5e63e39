// Replay: decides again over a recorded journal and holds the decisions against the recorded ones.
//
// The actions are compared as one sequence: by which Tick one of them was decided does not matter.
// What was due at the last Ticks and was not decided any more is not missed.
//
// Groups that were decided by another behaviour of the core are applied, not compared. Where the
// journal's beginning was removed, it starts at the oldest snapshot that can be read.
//
// It also audits the ledger: what each tenant was charged and given back by the recorded actions,
// beginning with what that snapshot says, must be what the engine has come to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/action.h"
#include "core/event.h"
#include "core/model/price.h"

namespace berth::service {

struct ReplayDifference {
  std::uint64_t seq = 0;  // of the event
  core::Event event;
  std::optional<core::Action> recorded;  // none: nothing more was recorded
  std::optional<core::Action> decided;   // none: nothing more was decided
};

struct AuditLine {
  std::string tenant;
  core::LedgerLine engine;
  core::LedgerLine journal;     // by the actions
  core::LedgerLine with_below;  // of the engine, with all tenants below
};

struct ReplayReport {
  std::uint64_t from_seq = 0;  // 0: from the journal's beginning
  std::uint64_t groups = 0;
  std::uint64_t events = 0;
  std::uint64_t actions = 0;
  std::uint64_t applied_groups = 0;  // of another behaviour
  std::uint64_t hash = 0;
  std::optional<ReplayDifference> difference;
  // Without a difference: by tenant, in the order of their numbers.
  std::vector<AuditLine> ledger;
  // Tasks whose first charge is not what the price of their batch makes.
  std::vector<TaskNo> mispriced;

  bool ledger_agrees() const;
};

// `data`: a data folder. `progress` is called now and then with the events so far.
Result<ReplayReport> replay(const std::filesystem::path& data,
                            const std::function<void(std::uint64_t)>& progress = {});

}  // namespace berth::service
