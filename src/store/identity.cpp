// See identity.h. The file's one line: identity, segment and CRC32C of those, in hex digits.
#include "store/identity.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/random.h>

#include "base/assert.h"
#include "journal/crc32c.h"
#include "store/file.h"
#include "store/history.h"
#include "store/layout.h"
#include "store/segment_list.h"
#include "store/snapshots.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kIdentityDigits = 16;
constexpr std::size_t kIdentityLine = 43;  // two numbers, a checksum, blanks between, a newline

std::string hex_digits(std::uint64_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (auto at = text.rbegin(); at != text.rend(); ++at, value >>= 4)
    *at = "0123456789abcdef"[value & 15];
  return text;
}

std::string identity_line(const IdentityMark& mark) {
  std::string line = hex_digits(mark.identity, kIdentityDigits) + " " +
                     hex_digits(mark.segment, kIdentityDigits) + " ";
  line += hex_digits(journal::crc32c(std::as_bytes(std::span(line))), 8);
  return line + "\n";
}

Identity draw_identity() {
  Identity identity = 0;
  while (identity == 0)
    ASSERT(::getrandom(&identity, sizeof identity, 0) == sizeof identity);
  return identity;
}

class Parts {
 public:
  explicit Parts(const fs::path& data) : data_(data) {}

  FolderIdentity read() {
    read_journal();
    file_ = read_identity_mark(data_).value_or(IdentityMark{});
    agent_ = read_identity_mark(agent_folder(data_)).value_or(IdentityMark{}).identity;
    history_ = read_history_head(history_path(data_));
    for (const Identity said : {journal_, file_.identity, history_.identity, agent_}) {
      if (found_.identity == 0) found_.identity = said;
    }
    judge();
    return std::move(found_);
  }

 private:
  void read_journal() {
    const auto headers = segment_headers(journal_folder(data_));
    if (!headers || headers->empty()) return;
    last_segment_ = headers->back().number;
    journal_ = headers->back().identity;
  }

  void find(std::string what, fs::path where, std::string repair) {
    found_.findings.push_back({std::move(what), std::move(where), std::move(repair)});
  }

  void judge() {
    std::error_code error;
    const fs::path journal = journal_folder(data_);
    const bool snapshots = has_snapshots();
    if (last_segment_ == 0 && (file_.segment > 0 || history_.projected > 0 || snapshots)) {
      return find(
          "the journal is gone, but the " +
              std::string(history_.projected > 0 ? "history"
                          : snapshots            ? "snapshots"
                                                 : "folder") +
              " of work that it held is there; a server that began anew would give the same "
              "numbers to other tasks",
          journal,
          "put the journal back or restore the newest backup; to begin anew, name another data "
          "folder");
    }
    if (last_segment_ < file_.segment) {
      return find("the journal ends with segment " + std::to_string(last_segment_) +
                      ", but segment " + std::to_string(file_.segment) + " was begun",
                  journal,
                  "put the missing segments back or restore the newest backup; for want of one, "
                  "berth fsck --cut goes on without what is lost");
    }
    if (journal_ == 0 && file_.segment > 0) {
      find(other("the journal", 0), journal,
           "put back the journal that belongs to this folder, or restore the newest backup");
    }
    // Before the journal has it, a part may be without; afterwards each has it.
    const auto belongs = [&](Identity part) {
      return part == found_.identity || (part == 0 && journal_ == 0);
    };
    if (file_.identity != 0 && file_.identity != found_.identity) {
      find(other("the folder itself", file_.identity), identity_path(data_),
           "put back the journal that belongs to this folder, or restore the newest backup");
    }
    if (history_.exists && history_.readable && !belongs(history_.identity)) {
      find(other("the history", history_.identity), history_path(data_),
           "put back the history that belongs to this journal, or move this one, with its -wal and "
           "-shm, away: it is projected anew from the journal, as far back as that reaches");
    }
    if (fs::exists(agent_folder(data_), error) && !belongs(agent_)) {
      find(other("the agent's folder", agent_), agent_folder(data_),
           "put back the one that belongs to this journal, or move this one away: what its tasks "
           "still run must then be ended by hand");
    }
  }

  bool has_snapshots() const {
    const auto files = list_snapshots(snapshot_folder(data_));
    return files && !files->empty();
  }

  std::string other(const std::string& part, Identity identity) const {
    return part + (identity == 0 ? " carries no identity" : " carries the identity ") +
           (identity == 0 ? "" : identity_text(identity)) + ", this data folder's is " +
           identity_text(found_.identity) + ": they do not belong together";
  }

  const fs::path& data_;
  FolderIdentity found_;
  Identity journal_ = 0;
  std::uint64_t last_segment_ = 0;
  IdentityMark file_;
  Identity agent_ = 0;
  HistoryHead history_;
};

}  // namespace

std::string identity_text(Identity identity) { return hex_digits(identity, kIdentityDigits); }

fs::path identity_path(const fs::path& folder) { return folder / "identity"; }

std::optional<IdentityMark> read_identity_mark(const fs::path& folder) {
  const Result<File> file = File::open_to_read(identity_path(folder));
  if (!file) return std::nullopt;
  std::array<std::byte, kIdentityLine + 1> bytes{};
  const Result<std::size_t> count = file->read_at(0, bytes);
  if (!count || *count != kIdentityLine) return std::nullopt;
  const std::string_view line(reinterpret_cast<const char*>(bytes.data()), *count);
  IdentityMark mark;
  const auto read = [&](std::size_t at, std::uint64_t& value) {
    const char* end = line.data() + at + kIdentityDigits;
    return std::from_chars(line.data() + at, end, value, 16).ptr == end;
  };
  if (!read(0, mark.identity) || !read(kIdentityDigits + 1, mark.segment)) return std::nullopt;
  if (line != identity_line(mark)) return std::nullopt;
  return mark;
}

Status write_identity_mark(const fs::path& folder, const IdentityMark& mark) {
  const std::string line = identity_line(mark);
  const auto bytes = std::as_bytes(std::span(line));
  std::error_code error;
  if (!fs::exists(identity_path(folder), error)) return replace_file(identity_path(folder), bytes);
  Result<File> file = File::open_to_write(identity_path(folder));
  if (!file) return file.error();
  if (Status written = file->write_at(0, bytes); !written) return written;
  return file->truncate(bytes.size());
}

FolderIdentity read_identity(const fs::path& data) { return Parts(data).read(); }

Result<Identity> settle_identity(const fs::path& data) {
  const FolderIdentity found = read_identity(data);
  if (!found.findings.empty()) {
    const IdentityFinding& first = found.findings.front();
    return Error{first.what + " (" + first.where.string() + "); " + first.repair};
  }
  IdentityMark mark{found.identity != 0 ? found.identity : draw_identity(), 0};
  if (Status made = make_folder(agent_folder(data)); !made) return made.error();
  for (const fs::path& folder : {data, agent_folder(data)}) {
    const IdentityMark there = read_identity_mark(folder).value_or(IdentityMark{});
    if (there.identity == mark.identity) continue;
    if (Status written = write_identity_mark(folder, mark); !written) return written.error();
  }
  return mark.identity;
}

std::optional<IdentityFinding> history_ahead(const fs::path& data, std::uint64_t projected,
                                             std::uint64_t journal_end) {
  if (projected <= journal_end) return std::nullopt;
  return IdentityFinding{
      "the history is complete up to message " + std::to_string(projected) +
          ", but the journal ends with message " + std::to_string(journal_end) +
          ": what followed was durable and is missing, or the history is another folder's",
      history_path(data),
      "put the missing segments back or restore the newest backup; for want of one, berth fsck "
      "--cut goes on without what is lost"};
}

}  // namespace berth::store
