// See backup.h.
#include "store/backup.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "store/durable_mark.h"
#include "store/file.h"
#include "store/folder_lock.h"
#include "store/fsck.h"
#include "store/history_columns.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/snapshots.h"
#include "store/sqlite.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kWhole = ~0ull;
// A server may remove old segments and snapshots while they are copied; then it is done anew.
constexpr int kCopyTries = 3;

Status require_empty(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return Done{};
  if (fs::is_directory(folder, error) && fs::is_empty(folder, error)) return Done{};
  return Error{"refused to write into " + folder.string() +
               ": it is not an empty folder; name a new one"};
}

// The first `limit` bytes, durably but for the folder. How many it were.
Result<std::uint64_t> copy_bytes(const fs::path& from, const fs::path& to, std::uint64_t limit) {
  Result<File> source = File::open_to_read(from);
  if (!source) return source.error();
  Result<File> copy = File::create(to);
  if (!copy) return copy.error();
  std::vector<std::byte> buffer(1 << 20);
  std::uint64_t done = 0;
  while (done < limit) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), limit - done);
    const Result<std::size_t> count = source->read_at(done, std::span(buffer).first(wanted));
    if (!count) return count.error();
    if (*count == 0) break;
    const journal::ByteView bytes = journal::ByteView(buffer).first(*count);
    if (Status written = copy->write_at(done, bytes); !written) return written.error();
    done += *count;
  }
  if (Status synced = copy->sync(); !synced) return synced.error();
  return done;
}

class Copy {
 public:
  Copy(const fs::path& from, const fs::path& to) : from_(from), to_(to) {}

  // The order matters: what refers to the journal is copied before it, so the journal reaches it.
  Result<BackupReport> run() {
    for (const fs::path& folder : {journal_folder(to_), snapshot_folder(to_)}) {
      if (Status made = make_folder(folder); !made) return made.error();
    }
    if (Status done = copy_history(); !done) return done.error();
    if (Status done = copy_snapshots(); !done) return done.error();
    if (Status done = copy_journal(); !done) return done.error();
    for (const fs::path& folder : {journal_folder(to_), snapshot_folder(to_), to_}) {
      if (Status synced = sync_folder(folder); !synced) return synced.error();
    }
    const FsckReport checked = fsck(to_);
    if (!checked.healthy()) return Error{"the copy is damaged: " + checked.damage()};
    report_.next_seq = checked.journal.end.next_seq;
    return report_;
  }

 private:
  Status copy_history() {
    std::error_code error;
    if (!fs::exists(history_path(from_), error)) return Done{};
    Result<Connection> history = Connection::open_to_read(history_path(from_));
    if (!history) return history.error();
    if (Status copied = history->copy_to(history_path(to_)); !copied) return copied;
    report_.bytes += fs::file_size(history_path(to_), error);
    Result<Connection> copy = Connection::open_to_read(history_path(to_));
    if (!copy) return copy.error();
    const Result<std::int64_t> projected = read_meta(*copy, kMetaProjected);
    if (!projected) return projected.error();
    projected_ = static_cast<std::uint64_t>(*projected);
    return Done{};
  }

  // The newest good one, and if the history has not caught up with it, older ones down to the first
  // that it has: recovery begins there.
  Status copy_snapshots() {
    const Result<std::vector<SnapshotFile>> files = list_snapshots(snapshot_folder(from_));
    if (!files) return files.error();
    for (const SnapshotFile& file : *files) {
      const Result<std::vector<std::byte>> bytes = read_snapshot(file.path);
      if (!bytes) continue;
      const Status written = write_snapshot(snapshot_folder(to_), file.seq, *bytes);
      if (!written) return written;
      report_.bytes += bytes->size();
      if (file.messages && *file.messages <= projected_) break;
    }
    return Done{};
  }

  // A running server keeps the mark exact. Without one, all whole groups count: after a power loss
  // the mark may lag behind them.
  Result<DurableMark> durable_end() const {
    const fs::path folder = journal_folder(from_);
    if (FolderLock::holder(from_) != 0) {
      if (const auto mark = read_durable_mark(folder).mark) return *mark;
    }
    const Result<JournalScan> scan = scan_journal(folder, 0, nullptr);
    if (!scan) return scan.error();
    if (!scan->usable()) {
      return Error{scan->finding->message + "; to repair it, " + scan->finding->repair};
    }
    return DurableMark{scan->end.next_seq, scan->end.at};
  }

  Status copy_journal() {
    const Result<DurableMark> end = durable_end();
    if (!end) return end.error();
    const Result<std::vector<std::uint64_t>> numbers = segment_numbers(journal_folder(from_));
    if (!numbers) return numbers.error();
    for (const std::uint64_t number : *numbers) {
      if (number > end->at.segment) break;
      const Result<std::uint64_t> bytes = copy_bytes(
          segment_path(journal_folder(from_), number), segment_path(journal_folder(to_), number),
          number == end->at.segment ? end->at.offset : kWhole);
      if (!bytes) return bytes.error();
      report_.bytes += *bytes;
      ++report_.segments;
    }
    if (end->at.segment == 0) return Done{};
    Result<File> mark = open_durable_mark(journal_folder(to_));
    if (!mark) return mark.error();
    if (Status written = write_durable_mark(*mark, *end); !written) return written;
    return mark->sync();
  }

  const fs::path& from_;
  const fs::path& to_;
  BackupReport report_;
  std::uint64_t projected_ = 0;  // of the history that was copied
};

void remove_content(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(journal_folder(folder), ignored);
  fs::remove_all(snapshot_folder(folder), ignored);
  fs::remove(history_path(folder), ignored);
}

Status require_data_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(journal_folder(folder), error)) return Done{};
  return Error{"there is no journal in " + folder.string() +
               "; name the data folder of a server, " + "or a backup of one"};
}

Error because(const std::string& what, const fs::path& from, const fs::path& to,
              const Error& cause) {
  return {"cannot " + what + " " + from.string() + " to " + to.string() + ": " + cause.message};
}

}  // namespace

Result<BackupReport> backup(const fs::path& data, const fs::path& to) {
  if (Status there = require_data_folder(data); !there) return there.error();
  if (Status empty = require_empty(to); !empty) return empty.error();
  for (int tries = 1;; ++tries) {
    Result<BackupReport> report = Copy(data, to).run();
    if (report) return report;
    remove_content(to);
    if (tries == kCopyTries) return because("back up", data, to, report.error());
  }
}

Result<BackupReport> restore(const fs::path& from, const fs::path& data) {
  if (Status there = require_data_folder(from); !there) return there.error();
  if (Status empty = require_empty(data); !empty) return empty.error();
  Result<BackupReport> report = Copy(from, data).run();
  if (report) return report;
  remove_content(data);
  return because("restore", from, data, report.error());
}

}  // namespace berth::store
