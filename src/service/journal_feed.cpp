// See journal_feed.h.
#include "service/journal_feed.h"

#include <map>
#include <optional>
#include <utility>

#include "journal/group.h"
#include "service/notes.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/segment_list.h"

namespace berth::service {
namespace {

using core::TaskState;

// Where reading begins: the last segment that starts at or before `after`.
struct Start {
  std::uint64_t seq = 0;
  std::uint64_t ordinal = 0;
};

class ChangeReader {
 public:
  ChangeReader(std::uint64_t after, std::size_t most, std::uint64_t released, const View& view,
               const store::HistoryReader& history)
      : after_(after), most_(most), released_(released), view_(view), history_(history) {}

  // False: enough.
  bool read(const store::SegmentInfo& segment, const journal::Group& group) {
    if (segment.header.number != segment_) {
      segment_ = segment.header.number;
      ordinal_ = segment.header.first_seq + segment.header.hash.count;
    }
    journal::GroupCursor cursor(group);
    while (cursor.next()) {
      if (cursor.kind() == journal::GroupCursor::Kind::note) {
        remember(cursor.note());
        continue;
      }
      ++ordinal_;
      if (ordinal_ > released_) return false;
      if (cursor.kind() == journal::GroupCursor::Kind::event) {
        read_event(cursor.event());
      } else {
        read_action(cursor.action());
      }
      if (answer.changes.size() >= most_) return false;
    }
    return true;
  }

  std::uint64_t ordinal() const { return ordinal_; }
  Feed::Answer answer;

 private:
  void remember(journal::ByteView bytes) {
    const std::optional<Note> note = decode_note(bytes, {});
    if (!note) return;
    if (const auto* described = std::get_if<TaskDescribed>(&*note)) {
      cards_[described->card->task] = described->card;
    }
  }

  void read_event(const core::Event& event) {
    now_ = event.now;
    const auto* started = std::get_if<core::LeaseStarted>(&event.body);
    if (started == nullptr) return;
    const auto lease = leases_.find(started->lease);
    if (lease == leases_.end()) return;
    for (const core::StartedTask& task : lease->second.tasks)
      add(task.task, TaskState::running, {}, task.attempt, lease->second.gpus);
  }

  void read_action(const core::Action& action) {
    if (const auto* instant = std::get_if<core::Instant>(&action)) {
      now_ = instant->at;
    } else if (const auto* accepted = std::get_if<core::TaskAccepted>(&action)) {
      add(accepted->task, TaskState::pending, {}, 0, {});
    } else if (const auto* ready = std::get_if<core::TaskReady>(&action)) {
      add(ready->task, TaskState::pending, {}, 0, {});
    } else if (const auto* deferred = std::get_if<core::TaskDeferred>(&action)) {
      add(deferred->task, TaskState::waiting, deferred->reason, 0, {});
    } else if (const auto* finished = std::get_if<core::TaskFinished>(&action)) {
      add(finished->task, finished->state, finished->reason, 0, {});
    } else if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
      leases_[batch->lease] = *batch;
      for (const core::StartedTask& task : batch->tasks)
        add(task.task, TaskState::starting, {}, task.attempt, batch->gpus);
    } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
      leases_.erase(closed->lease);
    }
  }

  void add(TaskNo task, TaskState state, const core::Reason& reason, std::uint32_t attempt,
           const std::vector<GpuId>& gpus) {
    if (ordinal_ <= after_) return;
    if (CardPtr card = card_of(task)) {
      answer.changes.push_back({ordinal_, now_, std::move(card), state, reason, attempt, gpus});
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
  Time now_;
  std::map<TaskNo, CardPtr> cards_;
  std::map<LeaseId, core::BatchStarted> leases_;
};

}  // namespace

Result<Feed::Answer> read_changes(const std::filesystem::path& data, std::uint64_t after,
                                  std::size_t most, std::uint64_t released, const View& view,
                                  const store::HistoryReader& history) {
  // The segment in which the next ordinal lies, by the headers alone.
  Start start;
  std::optional<std::uint64_t> oldest;
  const auto folder = store::journal_folder(data);
  const auto headers = store::segment_headers(folder);
  if (!headers) return headers.error();
  for (const store::SegmentHeader& header : *headers) {
    const std::uint64_t begins = header.first_seq + header.hash.count;
    if (!oldest) oldest = begins;
    if (begins <= after) start = {header.first_seq, begins};
  }
  if (oldest && after < *oldest) {
    Feed::Answer answer;
    answer.too_old = true;
    answer.oldest = *oldest;
    return answer;
  }
  ChangeReader reader(after, most, released, view, history);
  const auto scan =
      store::scan_journal(folder, start.seq,
                          [&](store::GroupAt, const store::SegmentInfo& segment,
                              const journal::Group& group) { return reader.read(segment, group); });
  if (!scan) return scan.error();
  reader.answer.oldest = oldest.value_or(0);
  reader.answer.last = std::min(reader.ordinal(), released);
  return std::move(reader.answer);
}

}  // namespace berth::service
