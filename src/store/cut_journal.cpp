// cut_journal; see backup.h.
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "store/backup.h"
#include "store/durable_mark.h"
#include "store/file.h"
#include "store/folder_lock.h"
#include "store/history.h"
#include "store/identity.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/snapshots.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

Status move_into(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(file, error)) return Done{};
  fs::rename(file, folder / file.filename(), error);
  if (error) return system_error("move", file, error.value());
  return sync_folder(file.parent_path());
}

// A whole copy of the segment goes aside, then its end is cut off.
Status cut_segment(const fs::path& path, std::uint64_t offset, const fs::path& aside) {
  std::error_code error;
  fs::copy_file(path, aside / path.filename(), error);
  if (error) return system_error("copy", path, error.value());
  Result<File> file = File::open_to_write(path);
  if (!file) return file.error();
  if (Status cut = file->truncate(offset); !cut) return cut;
  return file->sync();
}

// Later segments first, the newest before the others: a crash leaves a journal that is still
// damaged in the same place, and the cut can be made again.
Status cut_segments(const fs::path& folder, const JournalEnd& end, const fs::path& aside) {
  Result<std::vector<std::uint64_t>> numbers = segment_numbers(folder);
  if (!numbers) return numbers.error();
  for (auto number = numbers->rbegin(); number != numbers->rend(); ++number) {
    if (*number <= end.at.segment) break;
    if (Status moved = move_into(segment_path(folder, *number), aside); !moved) return moved;
  }
  if (end.at.segment == 0) return move_into(durable_mark_path(folder), aside);
  if (Status cut = cut_segment(segment_path(folder, end.at.segment), end.at.offset, aside); !cut) {
    return cut;
  }
  Result<File> mark = open_durable_mark(folder);
  if (!mark) return mark.error();
  if (Status noted = write_durable_mark(*mark, {end.next_seq, end.at}); !noted) return noted;
  return mark->sync();
}

// Something in the folder knows of more than the journal holds.
bool is_short(const fs::path& data, const JournalScan& scan) {
  const auto mark = read_identity_mark(data);
  const std::uint64_t projected = read_history_head(history_path(data)).projected;
  return (mark && mark->segment > scan.end.at.segment) ||
         history_ahead(data, projected, scan.end.next_seq + scan.end.hash.count).has_value();
}

Status forget_later_segments(const fs::path& data, const JournalEnd& end) {
  const auto mark = read_identity_mark(data);
  if (!mark || mark->segment <= end.at.segment) return Done{};
  return write_identity_mark(data, {mark->identity, end.at.segment});
}

Status move_what_knows_more(const fs::path& data, std::uint64_t next_seq, const fs::path& aside) {
  Result<std::vector<SnapshotFile>> snapshots = list_snapshots(snapshot_folder(data));
  if (!snapshots) return snapshots.error();
  for (const SnapshotFile& snapshot : *snapshots) {
    if (snapshot.seq <= next_seq) break;
    if (Status moved = move_into(snapshot.path, aside); !moved) return moved;
  }
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const fs::path file = history_path(data).string() + suffix;
    if (Status moved = move_into(file, aside); !moved) return moved;
  }
  return Done{};
}

}  // namespace

Result<CutReport> cut_journal(const fs::path& data) {
  const Result<FolderLock> lock = FolderLock::take(data);
  if (!lock) return lock.error();
  const fs::path folder = journal_folder(data);
  const Result<JournalScan> scan = scan_journal(folder, 0, nullptr);
  if (!scan) return scan.error();
  if (scan->usable() && !is_short(data, *scan)) {
    return Error{"refused to cut the journal in " + folder.string() + ": it is not damaged"};
  }
  if (scan->finding && scan->finding->kind == JournalFinding::Kind::unknown_format) {
    return Error{scan->finding->message + "; " + scan->finding->repair};
  }
  CutReport report{.next_seq = scan->end.next_seq};
  report.moved_to = data / ("cut-before-event-" + std::to_string(report.next_seq));
  if (Status made = make_folder(report.moved_to); !made) return made.error();
  if (Status moved = move_what_knows_more(data, report.next_seq, report.moved_to); !moved) {
    return moved.error();
  }
  if (Status cut = cut_segments(folder, scan->end, report.moved_to); !cut) return cut.error();
  if (Status told = forget_later_segments(data, scan->end); !told) return told.error();
  return report;
}

}  // namespace berth::store
