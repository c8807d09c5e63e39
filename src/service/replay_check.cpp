// See replay_check.h.
#include "service/replay_check.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "journal/group.h"
#include "journal/snapshot.h"
#include "journal/state_snapshot.h"
#include "service/replayer.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/snapshots.h"

namespace berth::service {
namespace {

// Recorded actions stand around their event: what timers decided first, the event, what it led to.
// So between two events stand the late actions of the first and the early ones of the second.
class Comparison {
 public:
  explicit Comparison(ReplayReport& report) : report_(report) {}

  void restore(Position&& at) {
    engine_ = std::move(at.engine);
    hash_.restore(at.hash);
    seq_ = report_.from_seq = at.next_seq;
  }

  // False: a difference was found, or the bytes cannot be read (error).
  bool take(const journal::Group& group) {
    ++report_.groups;
    const bool decides = group.header.behaviour == core::kBehaviour;
    if (!decides) ++report_.applied_groups;
    journal::GroupCursor cursor(group);
    while (cursor.next()) {
      if (cursor.kind() == journal::GroupCursor::Kind::action) {
        ++report_.actions;
        hash_.add_bytes(cursor.encoded());
        if (decides) {
          recorded_.push_back(cursor.action());
        } else {
          engine_.apply(cursor.action());
        }
      } else if (cursor.kind() == journal::GroupCursor::Kind::event) {
        ++report_.events;
        if (decides ? !decide(cursor.event()) : !apply(cursor.event())) return false;
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
  bool finish() { return compare(); }
  std::uint64_t hash() const { return hash_.value(); }
  std::string error;

 private:
  bool apply(const core::Event& event) {
    engine_.apply(event);
    ++seq_;
    return true;
  }

  bool decide(const core::Event& event) {
    core::Actions actions;
    const std::size_t early = engine_.step(event, actions);
    for (std::size_t i = 0; i < early; ++i)
      decided_.push_back(std::move(actions[i]));
    if (!compare()) return false;
    last_ = event;
    ++seq_;
    decided_.assign(std::make_move_iterator(actions.begin() + static_cast<std::ptrdiff_t>(early)),
                    std::make_move_iterator(actions.end()));
    return true;
  }

  // A tick that led to nothing was not recorded, and what its step left undone was decided by the
  // next one; either way the sequence of actions is the same.
  bool compare() {
    for (std::size_t i = 0; i < std::max(recorded_.size(), decided_.size()); ++i) {
      const auto at = [i](const std::vector<core::Action>& list) {
        return i < list.size() ? std::optional(list[i]) : std::nullopt;
      };
      if (at(recorded_) == at(decided_)) continue;
      report_.difference = {seq_ == 0 ? 0 : seq_ - 1, last_, at(recorded_), at(decided_)};
      return false;
    }
    recorded_.clear();
    decided_.clear();
    return true;
  }

  ReplayReport& report_;
  core::Engine engine_;
  journal::RunningHash hash_;
  std::uint64_t seq_ = 0;
  core::Event last_;
  std::vector<core::Action> recorded_;
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
