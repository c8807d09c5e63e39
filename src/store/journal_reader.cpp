// See journal_reader.h.
#include "store/journal_reader.h"

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "store/durable_mark.h"
#include "store/segment_bytes.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

using Kind = JournalFinding::Kind;

std::string place(const fs::path& path, std::uint64_t offset) {
  return "byte " + std::to_string(offset) + " of " + path.string();
}

std::string event_count(std::uint64_t count) {
  return count == 1 ? "1 event is" : std::to_string(count) + " events are";
}

class Scan {
 public:
  Scan(const fs::path& folder, std::uint64_t from_seq, const GroupVisitor& visit)
      : folder_(folder), from_seq_(from_seq), visit_(visit) {}

  Result<JournalScan> run() {
    // First of all, so that a server that goes on appending cannot make it newer than the scan.
    mark_ = read_durable_mark(folder_).mark;
    if (Status read = read_headers(); !read) return read.error();
    if (Status walked = walk(); !walked) return walked.error();
    if (!stopped_) check_end();
    return std::move(scan_);
  }

 private:
  bool refused() const { return !scan_.usable(); }

  void find(Kind kind, GroupAt at, std::string message, std::string repair) {
    scan_.finding = {kind, at, std::move(message), std::move(repair)};
  }
  void find_damage(Kind kind, GroupAt at, std::string message) {
    find(kind, at, std::move(message),
         "restore the newest backup, or cut the journal there and lose what follows event " +
             std::to_string(scan_.end.next_seq) + " (berth fsck --cut)");
  }
  void find_unknown(GroupAt at, const fs::path& path) {
    find(Kind::unknown_format, at,
         path.string() + " is written in a format that this version does not read",
         "use the version that wrote it, or a newer one");
  }

  Status read_headers() {
    Result<std::vector<std::uint64_t>> numbers = segment_numbers(folder_);
    if (!numbers) return numbers.error();
    for (const std::uint64_t number : *numbers) {
      const auto& known = scan_.segments;
      if (!known.empty() && number != known.back().header.number + 1) {
        missing_ = number;
        break;
      }
      if (Status read = read_header(number); !read) return read;
      if (bad_header_) break;
    }
    return Done{};
  }

  Status read_header(std::uint64_t number) {
    SegmentInfo info{.path = segment_path(folder_, number)};
    Result<File> file = File::open_to_read(info.path);
    if (!file) return file.error();
    Result<std::uint64_t> size = file->size();
    if (!size) return size.error();
    std::array<std::byte, kSegmentHeaderSize> bytes{};
    Result<std::size_t> count = file->read_at(0, bytes);
    if (!count) return count.error();
    const ParsedSegment parsed =
        parse_segment_header(journal::ByteView(bytes).first(*count), number);
    if (parsed.status != ParsedSegment::Status::intact) {
      bad_header_ = {number, parsed};
      return Done{};
    }
    info.header = parsed.header;
    info.bytes = *size;
    if (const std::uint64_t before = scan_.identity();
        before != 0 && info.header.identity != before) {
      bad_header_ = {number, {ParsedSegment::Status::damaged, {}, "is of another journal"}};
      return Done{};
    }
    scan_.segments.push_back(std::move(info));
    return Done{};
  }

  // The last segment that begins before from_seq; with one that begins at it, groups without
  // events may stand at its seq in the one before.
  std::size_t first_to_read() const {
    std::size_t first = 0;
    while (from_seq_ != 0 && first + 1 < scan_.segments.size() &&
           scan_.segments[first + 1].header.first_seq < from_seq_) {
      ++first;
    }
    return first;
  }

  Status walk() {
    if (!scan_.segments.empty()) {
      std::size_t i = first_to_read();
      begin_at(scan_.segments[i].header);
      for (; i < scan_.segments.size() && !refused() && !stopped_; ++i) {
        if (Status walked = walk_segment(i); !walked) return walked;
      }
    }
    if (!refused() && !stopped_) report_broken_row();
    return Done{};
  }

  void begin_at(const SegmentHeader& header) {
    scan_.end = {header.first_seq, header.hash, header.epoch, {header.number, kSegmentHeaderSize}};
    if (from_seq_ == 0 || header.first_seq <= from_seq_) return;
    find_damage(Kind::gap, scan_.end.at,
                "the journal in " + folder_.string() + " begins with event " +
                    std::to_string(header.first_seq) + ", but it is needed from event " +
                    std::to_string(from_seq_) + " on");
  }

  // A segment that is not there, or whose header cannot be read, behind those that can.
  void report_broken_row() {
    if (bad_header_) {
      const GroupAt at{bad_header_->number, 0};
      const fs::path path = segment_path(folder_, at.segment);
      if (bad_header_->parsed.status == ParsedSegment::Status::unknown_format) {
        find_unknown(at, path);
      } else {
        find_damage(Kind::damage, at, path.string() + " " + bad_header_->parsed.reason);
      }
    } else if (missing_) {
      const std::uint64_t expected = scan_.segments.back().header.number + 1;
      find_damage(Kind::gap, {expected, 0},
                  segment_path(folder_, expected).string() + " is missing, but segment " +
                      std::to_string(*missing_) + " is there");
    }
  }

  bool is_last(std::size_t i) const {
    return i + 1 == scan_.segments.size() && !bad_header_ && !missing_;
  }
  bool continues_at(const SegmentHeader& header) const {
    return header.first_seq == scan_.end.next_seq && header.hash == scan_.end.hash;
  }

  Status walk_segment(std::size_t i) {
    const SegmentInfo& info = scan_.segments[i];
    if (!continues_at(info.header)) {
      find_damage(Kind::gap, scan_.end.at,
                  info.path.string() + " begins with event " +
                      std::to_string(info.header.first_seq) + ", but the segment before it ends " +
                      "with what precedes event " + std::to_string(scan_.end.next_seq));
      return Done{};
    }
    Result<SegmentBytes> bytes = SegmentBytes::open(info.path);
    if (!bytes) return bytes.error();
    scan_.end.at = {info.header.number, kSegmentHeaderSize};
    while (!refused() && !stopped_) {
      Result<GroupHere> here = group_here(*bytes, scan_.end.at.offset);
      if (!here) return here.error();
      if (here->parsed.status != journal::GroupStatus::intact) {
        return end_of_segment(i, *bytes, *here);
      }
      take(info, here->parsed.group);
    }
    return Done{};
  }

  void take(const SegmentInfo& info, const journal::Group& group) {
    const journal::GroupHeader& header = group.header;
    JournalEnd& end = scan_.end;
    const bool wraps = header.events > std::numeric_limits<std::uint64_t>::max() - header.seq;
    if (header.seq != end.next_seq || header.epoch < end.epoch || wraps) {
      find_damage(Kind::damage, end.at,
                  "the group at " + place(info.path, end.at.offset) + " holds event " +
                      std::to_string(header.seq) + " of epoch " + std::to_string(header.epoch) +
                      ", but event " + std::to_string(end.next_seq) + " of epoch " +
                      std::to_string(end.epoch) + " or later belongs there");
      return;
    }
    const GroupAt at = end.at;
    end.next_seq += header.events;
    end.hash = {header.hash, end.hash.count + header.actions};
    end.epoch = header.epoch;
    end.at.offset += group.size();
    ++scan_.groups;
    scan_.events += header.events;
    const bool before = header.events == 0 ? header.seq < from_seq_ : end.next_seq <= from_seq_;
    if (!before && visit_) stopped_ = !visit_(at, info, group);
  }

  Status end_of_segment(std::size_t i, SegmentBytes& bytes, const GroupHere& here) {
    const SegmentInfo& info = scan_.segments[i];
    if (here.parsed.status == journal::GroupStatus::unknown_format) {
      find_unknown(scan_.end.at, info.path);
      return Done{};
    }
    if (is_last(i)) return end_of_journal(info, bytes, here);
    // A later segment vouches for all before it; what else stands here was never a group.
    const bool known = i + 1 < scan_.segments.size();
    if (!known || continues_at(scan_.segments[i + 1].header)) return Done{};
    const std::uint64_t next = scan_.segments[i + 1].header.first_seq;
    find_damage(Kind::damage, scan_.end.at,
                "the group at " + place(info.path, scan_.end.at.offset) + " cannot be read (" +
                    here.parsed.reason + "), and the next segment begins with event " +
                    std::to_string(next));
    return Done{};
  }

  Status end_of_journal(const SegmentInfo& info, SegmentBytes& bytes, const GroupHere& here) {
    const std::uint64_t offset = scan_.end.at.offset;
    // Behind a group whose length is certain: what its payload holds may look like a group.
    const bool sized = here.stated_size != 0;
    Result<Tail> tail =
        look_behind(bytes, offset, offset + (sized ? here.stated_size : 1), scan_.end.next_seq);
    if (!tail) return tail.error();
    if (tail->next_group) {
      find_damage(Kind::damage, scan_.end.at,
                  "the group at " + place(info.path, offset) + " is damaged (" +
                      here.parsed.reason + "): a whole group stands behind it, at byte " +
                      std::to_string(*tail->next_group));
    } else if (tail->rubbish_end != 0) {
      scan_.cut_bytes = tail->rubbish_end - offset;
      find(Kind::torn_tail, scan_.end.at,
           "the last write was cut short: " + std::to_string(scan_.cut_bytes) + " bytes at " +
               place(info.path, offset) + " are no whole group and were never acknowledged",
           "none is needed: the server cuts them when it starts");
    }
    return Done{};
  }

  void check_end() {
    if (refused()) return;
    const JournalEnd& end = scan_.end;
    if (mark_ && mark_->at > end.at) {
      const std::uint64_t lost = mark_->next_seq - std::min(mark_->next_seq, end.next_seq);
      find_damage(Kind::damage, end.at,
                  "the journal in " + folder_.string() + " ends before event " +
                      std::to_string(end.next_seq) + ", but more was durable: " +
                      (lost == 0 ? "a group without events is" : event_count(lost)) + " missing");
    } else if (from_seq_ > end.next_seq) {
      find_damage(Kind::gap, end.at,
                  "the journal in " + folder_.string() + " ends before event " +
                      std::to_string(end.next_seq) + ", but it is needed from event " +
                      std::to_string(from_seq_) + " on");
    }
  }

  struct BadHeader {
    std::uint64_t number = 0;
    ParsedSegment parsed;
  };

  const fs::path& folder_;
  const std::uint64_t from_seq_;
  const GroupVisitor& visit_;
  JournalScan scan_;
  std::optional<DurableMark> mark_;
  std::optional<BadHeader> bad_header_;
  std::optional<std::uint64_t> missing_;  // the number that stands where another should
  bool stopped_ = false;
};

}  // namespace

Result<JournalScan> scan_journal(const fs::path& folder, std::uint64_t from_seq,
                                 const GroupVisitor& visit) {
  return Scan(folder, from_seq, visit).run();
}

}  // namespace berth::store
