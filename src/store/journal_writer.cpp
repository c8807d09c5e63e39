// See journal_writer.h.
#include "store/journal_writer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "journal/group.h"
#include "store/crash_points.h"
#include "store/segment_list.h"

namespace berth::store {
namespace {

// The fields of a sealed group that the writer needs; group.h fixes their places.
struct Sealed {
  std::uint64_t seq = 0;
  std::uint32_t events = 0;
  std::uint64_t epoch = 0;
};

Sealed sealed_fields(journal::ByteView group) {
  ASSERT(group.size() >= journal::kGroupHeaderSize);
  ASSERT(journal::load_le<std::uint32_t>(group.data()) == journal::kGroupMagic);
  return {.seq = journal::load_le<std::uint64_t>(group.data() + 20),
          .events = journal::load_le<std::uint32_t>(group.data() + 12),
          .epoch = journal::load_le<std::uint64_t>(group.data() + 28)};
}

}  // namespace

JournalWriter::JournalWriter(const JournalOptions& options, const JournalEnd& end)
    : options_(options), end_(end) {
  options_.segment_bytes = std::max<std::uint64_t>(options_.segment_bytes, kSegmentHeaderSize);
}

Result<std::unique_ptr<JournalWriter>> JournalWriter::open(const JournalOptions& options,
                                                           const JournalEnd& end) {
  if (Status made = make_folder(options.folder); !made) return made.error();
  std::unique_ptr<JournalWriter> writer(new JournalWriter(options, end));
  Status ready = end.at.segment == 0 ? writer->begin_first_segment() : writer->go_on_in_segment();
  if (!ready) return ready.error();
  Result<File> mark = open_durable_mark(options.folder);
  if (!mark) return mark.error();
  writer->mark_ = std::move(*mark);
  (void)writer->make_spare();  // a full disk is no reason not to begin
  if (Status noted = writer->note_durable(); !noted) return noted.error();
  return writer;
}

Status JournalWriter::begin_first_segment() {
  Result<std::vector<std::uint64_t>> numbers = segment_numbers(options_.folder);
  if (!numbers) return numbers.error();
  if (!numbers->empty()) {
    return Error{"refused to begin a new journal in " + options_.folder.string() +
                 ": it holds one already"};
  }
  return begin_next_segment(kSegmentHeaderSize, end_.epoch);
}

// What stands behind the end is cut and the room taken again, as zeros.
Status JournalWriter::go_on_in_segment() {
  Result<std::vector<std::uint64_t>> numbers = segment_numbers(options_.folder);
  if (!numbers) return numbers.error();
  if (numbers->empty() || numbers->back() != end_.at.segment) {
    return Error{"refused to append to segment " + std::to_string(end_.at.segment) + " of " +
                 options_.folder.string() + ": it is not the last one"};
  }
  Result<File> file = File::open_to_write(segment_path(options_.folder, end_.at.segment));
  if (!file) return file.error();
  file_ = std::move(*file);
  room_ = std::max(options_.segment_bytes, end_.at.offset);
  if (Status cut = file_.truncate(end_.at.offset); !cut) return cut;
  if (!file_.allocate(room_)) room_ = end_.at.offset;  // full: it goes on in another one
  if (Status synced = file_.sync(); !synced) return synced;
  const Result<std::vector<SegmentHeader>> headers = segment_headers(options_.folder);
  if (!headers) return headers.error();
  const bool is_ours = options_.identity == 0 ||
                       (!headers->empty() && headers->back().identity == options_.identity);
  return is_ours ? Status(Done{}) : begin_next_segment(kSegmentHeaderSize, end_.epoch);
}

// One that is there is kept. On a full disk it gives away what stands behind it.
Status JournalWriter::make_spare() {
  const std::uint64_t slack = spare_slack(options_.segment_bytes);
  Result<File> kept = File::open_to_write(spare_path(options_.folder));
  const Result<std::uint64_t> size = kept ? kept->size() : Result<std::uint64_t>(0);
  has_spare_ = size && *size >= options_.segment_bytes;
  if (!has_spare_) {
    const Status made = store::make_spare(options_.folder, options_.segment_bytes + slack);
    has_spare_ = made.ok();
    return made;
  }
  const Result<std::uint64_t> free = free_bytes(options_.folder);
  const bool is_full = free && *free < slack;
  return is_full ? kept->truncate(options_.segment_bytes)
                 : kept->allocate(options_.segment_bytes + slack);
}

Result<GroupAt> JournalWriter::append(journal::ByteView group,
                                      const journal::RunningHash::State& hash_after) {
  if (refused_) return *refused_;
  const Sealed sealed = sealed_fields(group);
  ASSERT(sealed.seq == end_.next_seq);
  if (Status room = make_room(group.size(), sealed.epoch); !room) return room.error();
  if (Status written = write_group(group); !written) return written.error();
  const GroupAt at = end_.at;
  end_.next_seq += sealed.events;
  end_.hash = hash_after;
  end_.epoch = sealed.epoch;
  end_.at.offset += group.size();
  unsynced_ = true;
  return at;
}

// The current segment takes the group if it has room, or grows if nothing is in it yet.
Status JournalWriter::make_room(std::uint64_t bytes, std::uint64_t epoch) {
  if (bytes <= room_ - end_.at.offset) return Done{};
  if (end_.at.offset > kSegmentHeaderSize) {
    return begin_next_segment(kSegmentHeaderSize + bytes, epoch);
  }
  if (Status grown = file_.allocate(kSegmentHeaderSize + bytes); !grown) return grown;
  room_ = kSegmentHeaderSize + bytes;
  return Done{};
}

// The segment before is durable before the next one exists.
Status JournalWriter::begin_next_segment(std::uint64_t bytes, std::uint64_t epoch) {
  if (unsynced_) {
    if (Status synced = sync_segment(); !synced) return synced;
  }
  if (Status cleared = clear_failed_write(); !cleared) return cleared;
  const SegmentHeader header{.number = end_.at.segment + 1,
                             .first_seq = end_.next_seq,
                             .epoch = epoch,
                             .hash = end_.hash,
                             .identity = options_.identity};
  std::uint64_t room = std::max(options_.segment_bytes, bytes);
  Result<File> file = prepare_segment(options_.folder, header, room);
  if (!file && has_spare_ && bytes <= options_.segment_bytes) {
    room = options_.segment_bytes;
    has_spare_ = false;
    file = prepare_segment_of_spare(options_.folder, header);
  }
  if (!file) return file.error();
  // Once it may have its name, nothing may be appended to the one before.
  if (Status named = publish_segment(*file, options_.folder, header.number); !named) {
    return refuse(named.error());
  }
  file_ = std::move(*file);
  room_ = room;
  end_.at = {header.number, kSegmentHeaderSize};
  if (!options_.marked_folder.empty()) {
    // It may lag: a disk that is full keeps nobody from going on.
    (void)write_identity_mark(options_.marked_folder, {options_.identity, header.number});
  }
  return Done{};
}

Status JournalWriter::write_group(journal::ByteView group) {
  if (Status cleared = clear_failed_write(); !cleared) return cleared;
  crash_point(CrashPoint::before_append);
  dirty_end_ = end_.at.offset + group.size();
  if (crash_points_armed()) [[unlikely]] {
    const Status half = file_.write_at(end_.at.offset, group.first(group.size() / 2));
    if (!half) return half;
    crash_point(CrashPoint::inside_append);
  }
  if (Status written = file_.write_at(end_.at.offset, group); !written) return written;
  dirty_end_ = 0;
  crash_point(CrashPoint::after_append);
  return Done{};
}

// Zeros over what a failed append left, so that no part of it can be taken for a group later.
Status JournalWriter::clear_failed_write() {
  if (dirty_end_ == 0) return Done{};
  const std::vector<std::byte> zeros(dirty_end_ - end_.at.offset);
  if (Status cleared = file_.write_at(end_.at.offset, zeros); !cleared) return cleared;
  dirty_end_ = 0;
  return Done{};
}

Status JournalWriter::sync_segment() {
  if (Status synced = file_.sync_data(); !synced) return refuse(synced.error());
  unsynced_ = false;
  return Done{};
}

Status JournalWriter::sync() {
  if (refused_) return *refused_;
  if (!unsynced_) return Done{};
  if (Status synced = sync_segment(); !synced) return synced;
  crash_point(CrashPoint::after_sync);
  if (Status noted = note_durable(); !noted) return refuse(noted.error());
  crash_point(CrashPoint::durable_noted);
  return Done{};
}

Status JournalWriter::note_durable() {
  return write_durable_mark(mark_, {.next_seq = end_.next_seq, .at = end_.at});
}

Status JournalWriter::refuse(const Error& failed) {
  refused_ = Error{failed.message +
                   "; the journal takes nothing more: restart the server, it recovers what is on "
                   "disk"};
  return *refused_;
}

}  // namespace berth::store
