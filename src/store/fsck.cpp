// See fsck.h.
#include "store/fsck.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "journal/group.h"
#include "journal/running_hash.h"
#include "store/durable_mark.h"
#include "store/folder_lock.h"
#include "store/history.h"
#include "store/identity.h"
#include "store/layout.h"
#include "store/snapshots.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRestore = "restore the newest backup";

class Fsck {
 public:
  explicit Fsck(const fs::path& data) : data_(data) {}

  FsckReport run() {
    std::error_code error;
    if (!fs::is_directory(data_, error)) {
      find(Severity::damage, "there is no such folder", data_, "name the data folder of a server");
      return std::move(report_);
    }
    report_.server_pid = FolderLock::holder(data_);
    journal();
    identity();
    snapshots();
    recoverable();
    history();
    leftovers(journal_folder(data_));
    leftovers(snapshot_folder(data_));
    return std::move(report_);
  }

 private:
  void find(Severity severity, std::string what, const fs::path& where, std::string repair) {
    report_.findings.push_back({severity, std::move(what), where.string(), std::move(repair)});
  }

  void journal() {
    const fs::path folder = journal_folder(data_);
    if (read_durable_mark(folder).damaged) {
      find(Severity::harmless, "the mark of what was durable is damaged and is not believed",
           durable_mark_path(folder), "none is needed: it is written anew");
    }
    Result<JournalScan> scan = scan_journal(
        folder, 0, [&](GroupAt at, const SegmentInfo& segment, const journal::Group& group) {
          return check_group(at, segment, group);
        });
    if (!scan) return find(Severity::damage, scan.error().message, folder, "make it readable");
    report_.journal = std::move(*scan);
    if (const auto& finding = report_.journal.finding) {
      const bool torn = finding->kind == JournalFinding::Kind::torn_tail;
      find(torn ? Severity::torn_tail : Severity::damage, finding->message,
           segment_path(folder, finding->at.segment), finding->repair);
    }
  }

  // Whether the parts belong together.
  void identity() {
    FolderIdentity found = read_identity(data_);
    identity_ = found.identity;
    for (IdentityFinding& finding : found.findings)
      find(Severity::damage, std::move(finding.what), finding.where, std::move(finding.repair));
    const fs::path mark = durable_mark_path(journal_folder(data_));
    std::error_code error;
    if (report_.journal.segments.empty() || fs::exists(mark, error)) return;
    find(Severity::harmless,
         "the mark of what was durable is missing: whether events were removed from the journal's "
         "end together with it can be told only as far as the history and the folder's identity "
         "know of them",
         mark, "none is needed: it is written anew");
  }

  // The messages of a group whose checksums are right, and the hash of its actions.
  bool check_group(GroupAt at, const SegmentInfo& segment, const journal::Group& group) {
    if (!hash_) hash_.emplace(segment.header.hash);
    journal::GroupCursor cursor(group);
    while (cursor.next()) {
      if (cursor.kind() == journal::GroupCursor::Kind::action) hash_->add_bytes(cursor.encoded());
    }
    const std::string place = "the group at byte " + std::to_string(at.offset);
    if (!cursor.ok()) {
      find(Severity::damage,
           place + " holds no message where " + cursor.error().expected + " is expected",
           segment.path, kRestore);
      return false;
    }
    if (hash_->value() == group.header.hash) return true;
    find(Severity::damage, place + " holds actions that do not lead to the hash it states",
         segment.path, kRestore);
    return false;
  }

  void snapshots() {
    const fs::path folder = snapshot_folder(data_);
    const Result<std::vector<SnapshotFile>> files = list_snapshots(folder);
    if (!files) {
      return find(Severity::damage, files.error().message, folder, "make it readable");
    }
    for (const SnapshotFile& file : *files) {
      const Result<std::vector<std::byte>> bytes = read_snapshot(file.path);
      if (bytes) {
        if (report_.snapshots++ == 0) report_.snapshot_seq = file.seq;
        const Identity its = identity_in_snapshot(*bytes);
        if (its == 0 || identity_ == 0 || its == identity_) continue;
        find(Severity::damage,
             "it carries the identity " + identity_text(its) + ", this data folder's is " +
                 identity_text(identity_) + ": they do not belong together",
             file.path, "move it away");
      } else {
        find(Severity::damage, bytes.error().message, file.path,
             "remove it: an older one and the journal hold the same");
      }
    }
  }

  // Snapshot and journal together must give the state.
  void recoverable() {
    const JournalScan& scan = report_.journal;
    const fs::path folder = journal_folder(data_);
    if (!scan.usable()) return;
    if (report_.snapshots == 0 && !scan.has_its_beginning()) {
      find(Severity::damage,
           "the journal's beginning was removed and there is no whole snapshot of it", folder,
           kRestore);
    } else if (report_.snapshots > 0 && report_.snapshot_seq > scan.end.next_seq) {
      find(Severity::damage,
           "the newest snapshot holds all before event " + std::to_string(report_.snapshot_seq) +
               ", but the journal ends before event " + std::to_string(scan.end.next_seq),
           folder, kRestore);
    } else if (report_.snapshots > 0 && !scan.segments.empty() &&
               report_.snapshot_seq < scan.segments.front().header.first_seq) {
      find(Severity::damage,
           "the newest whole snapshot ends before event " + std::to_string(report_.snapshot_seq) +
               ", but the journal begins with event " +
               std::to_string(scan.segments.front().header.first_seq),
           folder, kRestore);
    }
  }

  void history() {
    const fs::path path = history_path(data_);
    std::error_code error;
    report_.history = fs::exists(path, error);
    if (!report_.history) {
      return find(Severity::harmless, "there is no history", path,
                  "none is needed: the server projects it from the journal");
    }
    const JournalEnd& end = report_.journal.end;
    const auto ahead =
        history_ahead(data_, read_history_head(path).projected, end.next_seq + end.hash.count);
    if (ahead && report_.journal.usable()) find(Severity::damage, ahead->what, path, ahead->repair);
    for (HistoryFinding& finding : check_history(path)) {
      find(Severity::damage, std::move(finding.message), path, std::move(finding.repair));
    }
  }

  void leftovers(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      if (at->path().extension() != ".new" || report_.server_pid != 0) continue;
      find(Severity::harmless, "a file was not finished", at->path(), "it may be removed");
    }
  }

  const fs::path& data_;
  FsckReport report_;
  std::optional<journal::RunningHash> hash_;
  Identity identity_ = 0;
};

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::harmless:
      return "harmless";
    case Severity::torn_tail:
      return "torn tail";
    case Severity::damage:
      return "damage";
  }
  return "";
}

bool FsckReport::healthy() const {
  return std::none_of(findings.begin(), findings.end(), [](const FsckFinding& finding) {
    return finding.severity == Severity::damage;
  });
}

std::string FsckReport::damage() const {
  std::string text;
  for (const FsckFinding& finding : findings) {
    if (finding.severity != Severity::damage) continue;
    text += (text.empty() ? "" : "; ") + finding.where + ": " + finding.what;
  }
  return text;
}

FsckReport fsck(const fs::path& data) { return Fsck(data).run(); }

}  // namespace berth::store
