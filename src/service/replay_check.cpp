// See replay_check.h.
#include "service/replay_check.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "core/engine.h"
#include "core/model/tenant_tree.h"
#include "core/state/state.h"
#include "journal/group.h"
#include "journal/snapshot.h"
#include "journal/state_snapshot.h"
#include "service/bills.h"
#include "service/notes.h"
#include "service/replayer.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/snapshots.h"

namespace berth::service {
namespace {

// The journal's own book: who owns which task, what their leases cost.
class Auditor {
 public:
  Auditor() = default;
  explicit Auditor(const Position& at) : bills_(at.engine.state()) {
    const core::State& state = at.engine.state();
    for (const core::Tenant& tenant : state.tenants)
      lines_.push_back(tenant.ledger);
    for (const TenantEntry& entry : at.names.tenants())
      names_.push_back(entry.name);
    for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
      if (!state.tasks.is_live(slot)) continue;
      owners_[state.tasks.row(slot).no] = state.tasks.row(slot).tenant;
    }
  }

  void take(const Note& note) {
    const auto* named = std::get_if<TenantNamed>(&note);
    if (named == nullptr) return;
    if (names_.size() <= named->tenant.value) names_.resize(named->tenant.value + 1);
    names_[named->tenant.value] = named->name;
  }

  void take(const core::Event& event) {
    const auto* submit = std::get_if<core::Submit>(&event.body);
    const auto* flow = std::get_if<core::SubmitWorkflow>(&event.body);
    if (submit == nullptr && flow == nullptr) return;
    submitted_.clear();
    if (submit != nullptr) submitted_[submit->task] = submit->spec.tenant;
    for (std::size_t i = 0; flow != nullptr && i < flow->tasks.size(); ++i)
      submitted_[TaskNo{flow->first.value + i}] = flow->tasks[i].tenant;
  }

  void take(const core::Action& action, ReplayReport& report) {
    if (const auto* accepted = std::get_if<core::TaskAccepted>(&action)) {
      const auto task = submitted_.extract(accepted->task);
      if (!task.empty()) owners_[task.key()] = task.mapped();
    } else if (const auto* finished = std::get_if<core::TaskFinished>(&action)) {
      owners_.erase(finished->task);
    }
    const std::span<const Posting> postings = bills_.apply(action, [&](TaskNo task) {
      const auto owner = owners_.find(task);
      return owner == owners_.end() ? TenantId::none() : owner->second;
    });
    post(postings, lines_);
    const auto* batch = std::get_if<core::BatchStarted>(&action);
    for (std::size_t i = 0; batch != nullptr && i < postings.size(); ++i) {
      if (postings[i].charge_us == batch->tasks[i].charge_us) continue;
      report.mispriced.push_back(batch->tasks[i].task);
    }
  }

  void report(const core::State& state, ReplayReport& report) const {
    std::vector<TenantId> parents;
    std::vector<core::LedgerLine> own;
    for (const core::Tenant& tenant : state.tenants) {
      parents.push_back(tenant.spec.parent);
      own.push_back(tenant.ledger);
    }
    const std::vector<core::LedgerLine> with_below = core::summed_upwards(parents, own);
    for (std::size_t i = 0; i < own.size(); ++i) {
      report.ledger.push_back({i < names_.size() ? names_[i] : std::to_string(i), own[i],
                               i < lines_.size() ? lines_[i] : core::LedgerLine{}, with_below[i]});
    }
  }

 private:
  Bills bills_;
  std::vector<core::LedgerLine> lines_;
  std::vector<std::string> names_;
  std::map<TaskNo, TenantId> submitted_;  // by the last submit, and not answered yet
  std::map<TaskNo, TenantId> owners_;     // of live tasks
};

// Recorded actions stand around their event: what timers decided first, the event, what it led to.
// So between two events stand the late actions of the first and the early ones of the second.
//
// Ticks are passed over: how many of them did the work that was due, and how far each of them came,
// depends on when the server slept and was started again. Any other event finishes all that is due
// before it, so there, and only there, both sequences of actions end at the same place.
class Comparison {
 public:
  explicit Comparison(ReplayReport& report) : report_(report) {}

  void restore(Position&& at) {
    auditor_ = Auditor(at);
    engine_ = std::move(at.engine);
    hash_.restore(at.hash);
    seq_ = report_.from_seq = at.next_seq;
  }

  // False: a difference was found, or the bytes cannot be read (error).
  bool take(const journal::Group& group) {
    ++report_.groups;
    const bool decides = group.header.behaviour == core::kBehaviour;
    if (!decides) {
      ++report_.applied_groups;
      if (!catch_up()) return false;
    }
    journal::GroupCursor cursor(group);
    while (cursor.next()) {
      if (cursor.kind() == journal::GroupCursor::Kind::action) {
        ++report_.actions;
        hash_.add_bytes(cursor.encoded());
        auditor_.take(cursor.action(), report_);
        if (decides) {
          recorded_.push_back(cursor.action());
        } else {
          engine_.apply(cursor.action());
        }
      } else if (cursor.kind() == journal::GroupCursor::Kind::event) {
        ++report_.events;
        auditor_.take(cursor.event());
        if (decides ? !decide(cursor.event()) : !apply(cursor.event())) return false;
      } else if (const auto note = decode_note(cursor.note(), {})) {
        auditor_.take(*note);
      }
    }
    if (!cursor.ok()) {
      error = std::string("a group cannot be read: expected ") + cursor.error().expected;
      return false;
    }
    if (hash_.value() != group.header.hash) {
      error = "the recorded actions before event " + std::to_string(seq_) +
              " do not give the hash their group carries";
      return false;
    }
    return true;
  }

  // What the last event led to.
  bool finish() {
    if (!catch_up()) return false;
    auditor_.report(engine_.state(), report_);
    return true;
  }
  std::uint64_t hash() const { return hash_.value(); }
  std::string error;

 private:
  bool apply(const core::Event& event) {
    engine_.apply(event);
    ++seq_;
    return true;
  }

  bool decide(const core::Event& event) {
    const std::uint64_t seq = seq_++;
    now_ = event.now;
    if (std::holds_alternative<core::Tick>(event.body)) return true;
    core::Actions actions;
    const auto early = static_cast<std::ptrdiff_t>(engine_.step(event, actions));
    const auto late = actions.begin() + early;
    std::move(actions.begin(), late, std::back_inserter(decided_));
    if (!compare(std::max(recorded_.size(), decided_.size()))) return false;
    last_ = event;
    last_seq_ = seq;
    recorded_.clear();
    decided_.assign(std::make_move_iterator(late), std::make_move_iterator(actions.end()));
    return true;
  }

  // Where the record ends, or others decided: what was recorded since the last event must begin
  // what is due. The engine that decides it may come further than the record; so another one does
  // it.
  bool catch_up() {
    if (recorded_.empty() && decided_.empty()) return true;
    const std::size_t late = decided_.size();  // of the last event: the engine has them
    auto twin = journal::decode_snapshot(journal::encode_snapshot(engine_));
    ASSERT(twin.has_value());
    while (decided_.size() < recorded_.size() && twin->engine.next_wakeup() <= now_)
      twin->engine.step({now_, core::Tick{}}, decided_);
    if (!compare(std::max(recorded_.size(), late))) return false;
    for (std::size_t i = late; i < recorded_.size(); ++i)
      engine_.apply(recorded_[i]);
    recorded_.clear();
    decided_.clear();
    return true;
  }

  bool compare(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = [i](const std::vector<core::Action>& list) {
        return i < list.size() ? std::optional(list[i]) : std::nullopt;
      };
      if (at(recorded_) == at(decided_)) continue;
      report_.difference = {last_seq_, last_, at(recorded_), at(decided_)};
      return false;
    }
    return true;
  }

  ReplayReport& report_;
  Auditor auditor_;
  core::Engine engine_;
  journal::RunningHash hash_;
  std::uint64_t seq_ = 0;
  Time now_;          // of the last event
  core::Event last_;  // that was decided
  std::uint64_t last_seq_ = 0;
  std::vector<core::Action> recorded_;  // since then
  std::vector<core::Action> decided_;
};

// The oldest snapshot that can be read: from there on the journal is complete.
Result<Position> oldest_position(const std::filesystem::path& data) {
  const auto snapshots = store::list_snapshots(store::snapshot_folder(data));
  if (!snapshots) return snapshots.error();
  for (auto at = snapshots->rbegin(); at != snapshots->rend(); ++at) {
    const auto bytes = store::read_snapshot(at->path);
    Replayer replayer(Duration{0});
    if (bytes && replayer.restore(*bytes)) return replayer.take_position();
  }
  return Error{"the journal's beginning was removed and no snapshot can be read"};
}

}  // namespace

bool ReplayReport::ledger_agrees() const {
  return mispriced.empty() && std::all_of(ledger.begin(), ledger.end(), [](const AuditLine& line) {
           return line.engine == line.journal;
         });
}

Result<ReplayReport> replay(const std::filesystem::path& data,
                            const std::function<void(std::uint64_t)>& progress) {
  const auto folder = store::journal_folder(data);
  const auto numbers = store::segment_numbers(folder);
  if (!numbers) return numbers.error();
  if (numbers->empty()) return Error{folder.string() + " holds no journal"};

  ReplayReport report;
  Comparison comparison(report);
  if (numbers->front() != 1) {
    Result<Position> at = oldest_position(data);
    if (!at) return at.error();
    comparison.restore(std::move(*at));
  }
  bool going = true;
  const auto scan = store::scan_journal(
      folder, report.from_seq,
      [&](store::GroupAt, const store::SegmentInfo&, const journal::Group& group) {
        going = comparison.take(group);
        if (progress && report.groups % 256 == 0) progress(report.events);
        return going;
      });
  if (!scan) return scan.error();
  if (going) comparison.finish();
  if (!comparison.error.empty()) return Error{comparison.error};
  if (going && !scan->usable()) return Error{scan->finding->message + " " + scan->finding->repair};
  report.hash = comparison.hash();
  return report;
}

}  // namespace berth::service
