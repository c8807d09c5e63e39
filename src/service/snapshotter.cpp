// See snapshotter.h.
#include "service/snapshotter.h"

#include <algorithm>
#include <utility>

#include "service/named_thread.h"
#include "service/replayer.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/segment_list.h"
#include "store/snapshots.h"

namespace berth::service {

Snapshotter::Snapshotter(SnapshotterOptions options, std::uint64_t last_seq,
                         std::uint64_t bytes_behind)
    : options_(std::move(options)),
      durable_{last_seq, bytes_behind},
      begun_{last_seq, 0},
      made_{last_seq, 0},
      last_seq_(last_seq) {}

Snapshotter::~Snapshotter() { stop(); }

void Snapshotter::start() {
  thread_ = background_thread("berth-snapshot", [this] { run(&Snapshotter::is_due); });
  hasty_ = named_thread("berth-overdue", [this] { run(&Snapshotter::is_overdue); });
}

void Snapshotter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (hasty_.joinable()) hasty_.join();
}

void Snapshotter::durable(std::uint64_t next_seq, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  durable_ = {next_seq, durable_.bytes + bytes};
  if (is_due()) wake_.notify_all();
}

bool Snapshotter::is_far_behind(const Mark& mark, std::uint64_t times) const {
  return (durable_.seq - mark.seq) / times >= options_.every_events ||
         (durable_.bytes - mark.bytes) / times >= options_.every_bytes;
}

bool Snapshotter::is_due() const { return durable_.seq > begun_.seq && is_far_behind(begun_, 1); }

bool Snapshotter::is_overdue() const { return is_due() && is_far_behind(made_, 2); }

void Snapshotter::run(bool (Snapshotter::*wants)() const) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait(lock, [&] { return stopping_ || (this->*wants)(); });
    if (stopping_) return;
    const Mark upto = durable_;
    begun_ = upto;
    lock.unlock();
    Status made = make(upto.seq);
    if (made) made = clean_up();
    if (!made) options_.log("no snapshot: " + made.error().message + "; the journal is kept");
    lock.lock();
    // Where it failed, too: the next try comes after as much again.
    if (upto.seq > made_.seq) made_ = upto;
    last_seq_ = made_.seq;
  }
}

Status Snapshotter::make(std::uint64_t next_seq) {
  Replayer replayer(options_.remember_ids);
  auto newest = store::read_newest_snapshot(store::snapshot_folder(options_.data));
  if (!newest) return newest.error();
  if (newest->file) {
    if (Status restored = replayer.restore(newest->bytes); !restored) return restored;
  }
  replayer.set_identity(options_.identity);
  Status applied = Done{};
  const auto scan = store::scan_journal(
      store::journal_folder(options_.data), replayer.next_seq(),
      [&](store::GroupAt at, const store::SegmentInfo&, const journal::Group& group) {
        if (group.header.seq + group.header.events > next_seq) return false;
        applied = replayer.apply(at, group);
        replayer.take_ended();
        return applied.ok();
      });
  if (!scan) return scan.error();
  if (!applied) return applied;
  if (replayer.next_seq() < next_seq) {
    return Error{"the journal can be read only up to event " + std::to_string(replayer.next_seq())};
  }
  const std::vector<std::byte> bytes = replayer.snapshot();
  Status written =
      store::write_snapshot(store::snapshot_folder(options_.data), replayer.next_seq(), bytes);
  if (!written) return written;
  ++count_;
  return Done{};
}

Status Snapshotter::clean_up() {
  const std::lock_guard lock(cleaning_);
  const auto snapshots = store::snapshot_folder(options_.data);
  auto kept = store::list_snapshots(snapshots);
  if (!kept) return kept.error();
  // One must be old enough for what the history still lacks.
  const auto old_enough =
      std::find_if(kept->begin(), kept->end(), [&](const store::SnapshotFile& file) {
        return file.messages && *file.messages <= options_.projected();
      });
  std::optional<std::uint64_t> also;
  if (old_enough != kept->end()) also = old_enough->seq;
  if (Status removed = store::remove_old_snapshots(snapshots, options_.keep, also); !removed) {
    return removed;
  }
  kept = store::list_snapshots(snapshots);
  if (!kept) return kept.error();
  if (kept->empty()) return Done{};
  const std::uint64_t oldest = kept->back().seq;

  const auto journal = store::journal_folder(options_.data);
  const auto segments = store::segment_headers(journal);
  if (!segments) return segments.error();
  if (segments->empty()) return Done{};
  std::uint64_t keep_from = segments->front().number;
  // A segment may go when the one after it begins at or before all that is needed.
  for (std::size_t i = 0; i + 1 < segments->size(); ++i) {
    const store::SegmentHeader& next = (*segments)[i + 1];
    const std::uint64_t begins = next.first_seq + next.hash.count;
    const bool used = next.first_seq > oldest || begins > options_.projected();
    if (used || is_young(next.first_seq)) break;
    keep_from = next.number;
  }
  const std::uint64_t with_specs = options_.oldest_needed_segment();
  if (with_specs < keep_from && options_.carry_specs) options_.carry_specs(keep_from);
  return store::remove_segments_before(journal, std::min(keep_from, with_specs));
}

// Whether what stands before this event is young, by engine time: files have the wall clock's.
bool Snapshotter::is_young(std::uint64_t seq) const {
  Time at = Time::never();
  const auto scan = store::scan_journal(
      store::journal_folder(options_.data), seq,
      [&](store::GroupAt, const store::SegmentInfo&, const journal::Group& group) {
        journal::GroupCursor cursor(group);
        while (cursor.next()) {
          if (cursor.kind() != journal::GroupCursor::Kind::event) continue;
          at = cursor.event().now;
          return false;
        }
        return true;
      });
  return !scan || at == Time::never() || options_.clock() - at < options_.journal_retention;
}

}  // namespace berth::service
