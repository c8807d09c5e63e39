// See journal_feed.h.
#include "service/journal_feed.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "journal/group.h"
#include "service/notes.h"
#include "service/sequence_number.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/segment_list.h"

namespace berth::service {
namespace {

using core::TaskState;

// Follows the journal as the board does, for tasks whose steps it has seen itself.
class ChangeReader {
 public:
  ChangeReader(std::uint64_t after, std::size_t most, std::uint64_t released, const View& view,
               const store::HistoryReader& history)
      : after_(after), most_(most), released_(released), view_(view), history_(history) {
    answer.last = after;
  }

  // False: enough.
  bool read(const store::SegmentInfo& segment, const journal::Group& group) {
    if (segment.header.number != segment_) {
      const bool first = segment_ == 0;
      segment_ = segment.header.number;
      ordinal_ = segment.header.first_seq + segment.header.hash.count;
      if (first && sequence_behind(ordinal_) > after_) return is_too_old();
    }
    journal::GroupCursor cursor(group);
    while (cursor.next()) {
      if (cursor.kind() == journal::GroupCursor::Kind::note) {
        remember(cursor.note());
        continue;
      }
      if (sequence_behind(ordinal_) >= released_ || answer.changes.size() >= most_) return false;
      ++ordinal_;
      step_ = 0;
      if (cursor.kind() == journal::GroupCursor::Kind::event) {
        read_event(cursor.event());
      } else {
        read_action(cursor.action());
      }
      answer.last = std::max(answer.last, sequence_behind(ordinal_));
    }
    return true;
  }

  // There is more that was released, and room for it.
  bool wants_more() const {
    return !answer.too_old && sequence_behind(ordinal_) < released_ &&
           answer.changes.size() < most_;
  }

  Feed::Answer answer;

 private:
  // What is known of a task's last attempt.
  struct Attempt {
    std::uint32_t number = 0;
    std::vector<GpuId> gpus;
    LeaseId lease;
    bool starting = false;
  };

  // The segment that held what is asked for was removed meanwhile.
  bool is_too_old() {
    answer.too_old = true;
    answer.oldest = sequence_behind(ordinal_);
    return false;
  }

  void remember(journal::ByteView bytes) {
    const std::optional<Note> note = decode_note(bytes, {});
    if (!note) return;
    if (const auto* described = std::get_if<TaskDescribed>(&*note)) {
      described->card->spec = {};  // it may be large, and no step tells it
      cards_[described->card->task] = described->card;
    } else if (const auto* again = std::get_if<TaskRedescribed>(&*note)) {
      again->card->spec = {};
      cards_[again->card->task] = again->card;
    }
  }

  void read_event(const core::Event& event) {
    now_ = event.now;
    if (const auto* ended = std::get_if<core::TaskEnded>(&event.body)) {
      return add_decided(ended->lease, ended->outcome.task);
    }
    const auto* started = std::get_if<core::LeaseStarted>(&event.body);
    if (started == nullptr) return;
    const auto lease = leases_.find(started->lease);
    if (lease == leases_.end()) return;
    // Some may have left it before it started.
    for (const TaskNo task : lease->second) {
      Attempt& attempt = attempts_[task];
      if (attempt.lease != started->lease || !std::exchange(attempt.starting, false)) continue;
      add(task, TaskState::running, {});
    }
  }

  // As the board does: what was asked to stop ends with its processes.
  void decide_end(LeaseId lease, const core::TaskFinished& finished) {
    const DecidedEnd end{finished.state, finished.reason};
    decided_[lease].emplace_back(finished.task, end);
    const bool starting = attempts_[finished.task].starting;
    add(finished.task, starting ? TaskState::starting : TaskState::running,
        reason_until(end, finished.task));
  }

  // None: all of the lease.
  void add_decided(LeaseId lease, TaskNo only) {
    const auto found = decided_.find(lease);
    if (found == decided_.end()) return;
    std::erase_if(found->second, [&](const auto& task_and_end) {
      const auto& [task, end] = task_and_end;
      if (only && task != only) return false;
      add(task, end.state, end.reason);
      attempts_.erase(task);
      return true;
    });
    if (found->second.empty()) decided_.erase(found);
  }

  void read_action(const core::Action& action) {
    const core::StopTask stopped = std::exchange(stopped_, {});
    if (const auto* instant = std::get_if<core::Instant>(&action)) {
      now_ = instant->at;
    } else if (const auto* accepted = std::get_if<core::TaskAccepted>(&action)) {
      if (const CardPtr card = card_of(accepted->task)) add(accepted->task, first_state(*card), {});
    } else if (const auto* ready = std::get_if<core::TaskReady>(&action)) {
      add(ready->task, TaskState::pending, {});
    } else if (const auto* deferred = std::get_if<core::TaskDeferred>(&action)) {
      attempts_[deferred->task].starting = false;
      add(deferred->task, state_after(*deferred, now_), deferred->reason);
    } else if (const auto* stop = std::get_if<core::StopTask>(&action)) {
      stopped_ = *stop;
    } else if (const auto* finished = std::get_if<core::TaskFinished>(&action)) {
      if (stopped.lease && stopped.task == finished->task) {
        return decide_end(stopped.lease, *finished);
      }
      const CardPtr card = card_of(finished->task);
      add(finished->task, finished->state,
          card ? reason_of_end(*finished, *card, now_) : finished->reason);
      attempts_.erase(finished->task);
      cards_.erase(finished->task);
    } else if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
      for (const core::StartedTask& task : batch->tasks) {
        leases_[batch->lease].push_back(task.task);
        attempts_[task.task] = {task.attempt, batch->gpus, batch->lease, true};
        add(task.task, TaskState::starting, {});
      }
    } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
      add_decided(closed->lease, TaskNo::none());
      leases_.erase(closed->lease);
    }
  }

  void add(TaskNo task, TaskState state, const core::Reason& reason) {
    const std::uint64_t sequence = sequence_of(ordinal_, step_++);
    if (sequence <= after_) return;
    if (CardPtr card = card_of(task)) {
      const Attempt& attempt = attempts_[task];
      answer.changes.push_back(
          {sequence, now_, std::move(card), state, reason, attempt.number, attempt.gpus});
    }
  }

  CardPtr card_of(TaskNo task) {
    CardPtr& card = cards_[task];
    if (card) return card;
    card = view_.read([&](const Board& board) -> CardPtr {
      const TaskLine* line = board.tasks().find(task);
      return line == nullptr ? nullptr : line->card;
    });
    if (!card) {
      if (std::optional<TaskLine> line = view_.find_ended(task)) card = line->card;
    }
    if (!card) card = from_history(task);
    return card;
  }

  CardPtr from_history(TaskNo task) const {
    const auto found = history_.find(task.value);
    if (!found || !*found) return nullptr;
    const store::EndedTask& row = **found;
    auto card = std::make_shared<TaskCard>();
    card->task = task;
    card->id = numbered_id(row.task_id) ? "" : row.task_id;
    card->group_name = row.group;
    view_.read([&](const Board& board) {
      card->tenant = board.names().tenant(row.tenant);
      card->queue = board.names().queue(row.queue);
    });
    return card;
  }

  const std::uint64_t after_;
  const std::size_t most_;
  const std::uint64_t released_;
  const View& view_;
  const store::HistoryReader& history_;
  std::uint64_t segment_ = 0;
  std::uint64_t ordinal_ = 0;
  std::uint64_t step_ = 0;  // of the message at `ordinal_`: how many steps it has made by now
  Time now_;
  std::map<TaskNo, CardPtr> cards_;
  std::map<TaskNo, Attempt> attempts_;
  std::map<LeaseId, std::vector<TaskNo>> leases_;
  std::map<LeaseId, std::vector<std::pair<TaskNo, DecidedEnd>>> decided_;
  core::StopTask stopped_;  // the last action, if it was one
};

}  // namespace

Result<Feed::Answer> read_changes(const std::filesystem::path& data, std::uint64_t after,
                                  std::size_t most, std::uint64_t released, const View& view,
                                  const store::HistoryReader& history) {
  // The segment in which the next ordinal lies, by the headers alone, and the one before it: there
  // lie the beginnings of most that goes on behind `after`.
  const auto folder = store::journal_folder(data);
  const auto headers = store::segment_headers(folder);
  if (!headers) return headers.error();
  std::uint64_t start = 0;
  std::uint64_t before = 0;
  for (const store::SegmentHeader& header : *headers) {
    if (sequence_behind(header.first_seq + header.hash.count) > after) break;
    start = std::exchange(before, header.first_seq);
  }
  ChangeReader reader(after, most, released, view, history);
  const auto scan =
      store::scan_journal(folder, start,
                          [&](store::GroupAt, const store::SegmentInfo& segment,
                              const journal::Group& group) { return reader.read(segment, group); });
  if (!scan) return scan.error();
  if (!scan->usable() && reader.wants_more()) {
    return Error{"the journal cannot be read on: " + scan->finding->message + "; " +
                 scan->finding->repair};
  }
  if (!reader.answer.too_old && !headers->empty()) {
    reader.answer.oldest =
        sequence_behind(headers->front().first_seq + headers->front().hash.count);
  }
  return std::move(reader.answer);
}

}  // namespace berth::service
