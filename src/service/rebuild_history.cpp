// See rebuild_history.h.
#include "service/rebuild_history.h"

#include <string>
#include <utility>
#include <vector>

#include "core/state/state.h"
#include "service/projector.h"
#include "service/replayer.h"
#include "store/file.h"
#include "store/folder_lock.h"
#include "store/history.h"
#include "store/identity.h"
#include "store/layout.h"
#include "store/segment_reader.h"

namespace berth::service {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kRowsAtOnce = 4096;
constexpr const char* kSuffixes[] = {"", "-wal", "-shm"};

class Rebuild {
 public:
  Rebuild(const fs::path& data, Duration result_ttl)
      : data_(data), result_ttl_(result_ttl), segments_(store::journal_folder(data)) {}

  Result<RebuiltHistory> run() {
    const fs::path path = store::history_path(data_);
    const fs::path fresh = path.string() + ".rebuilt";
    for (const char* suffix : kSuffixes) {
      if (Status removed = store::remove_file(fresh.string() + suffix); !removed) {
        return removed.error();
      }
    }
    const store::Identity identity = store::read_identity(data_).identity;
    auto writer = store::HistoryWriter::open(fresh, identity);
    if (!writer) return writer.error();
    writer_ = writer->get();
    if (Status filled = fill(path); !filled) return filled.error();
    const Result<bool> synced = writer_->checkpoint();
    if (!synced) return synced.error();
    writer->reset();
    if (Status moved = exchange(path, fresh); !moved) return moved.error();
    return done_;
  }

 private:
  // What the journal says comes first: a row that is there already stays.
  Status fill(const fs::path& old) {
    auto recovered = recover(data_, Duration{0}, 0, [&](Ended&& ended, const Board& board) {
      append(waiting_, std::move(ended));
      return waiting_.tasks.size() < kRowsAtOnce ? Status(Done{}) : write(board, 0);
    });
    if (!recovered) return recovered.error();
    const Replayer& replayer = recovered->replayer;
    if (Status written = write(replayer.board(), replayer.ordinal()); !written) return written;
    done_.reaches_from = recovered->snapshot_seq;
    const auto salvaged = store::salvage_history(
        old, replayer.position().engine.next_task_no().value,
        [&](const std::vector<store::EndedTask>& rows) { return writer_->add(rows, 0); });
    if (!salvaged) return salvaged.error();
    done_.unread = salvaged->bad;
    done_.from_old = salvaged->good;
    return writer_->add(without_spec_, 0);
  }

  Status write(const Board& board, std::uint64_t projected) {
    const Ended ended = std::exchange(waiting_, {});
    std::vector<store::EndedTask> rows;
    for (const TaskLine& line : ended.tasks) {
      const Result<std::string> spec = spec_of(*line.card);
      auto& to = spec ? rows : without_spec_;
      to.push_back(ended_task(line, board, spec ? *spec : std::string(), result_ttl_));
    }
    done_.from_journal += ended.tasks.size();
    return writer_->add(rows, projected, ended.settled);
  }

  Result<std::string> spec_of(const TaskCard& card) {
    if (card.spec_at.size == 0) return card.spec;
    const auto bytes = segments_.read(card.spec_at);
    if (!bytes) return bytes.error();
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }

  Status exchange(const fs::path& path, const fs::path& fresh) {
    std::error_code error;
    if (fs::exists(path, error)) {
      done_.kept = path.string() + ".damaged";
      for (int i = 2; fs::exists(done_.kept, error); ++i)
        done_.kept = path.string() + ".damaged-" + std::to_string(i);
    }
    for (const char* suffix : kSuffixes) {
      const fs::path from = path.string() + suffix;
      if (!fs::exists(from, error)) continue;
      fs::rename(from, done_.kept.string() + suffix, error);
      if (error) return store::system_error("move", from, error.value());
    }
    fs::rename(fresh, path, error);
    if (error) return store::system_error("move", fresh, error.value());
    return store::sync_folder(data_);
  }

  const fs::path& data_;
  const Duration result_ttl_;
  store::SegmentReader segments_;
  store::HistoryWriter* writer_ = nullptr;
  Ended waiting_;
  // The segment of their spec is gone; the old row, if it is good, still has it.
  std::vector<store::EndedTask> without_spec_;
  RebuiltHistory done_;
};

}  // namespace

Result<RebuiltHistory> rebuild_history(const fs::path& data, Duration result_ttl) {
  const auto lock = store::FolderLock::take(data);
  if (!lock) return lock.error();
  return Rebuild(data, result_ttl).run();
}

}  // namespace berth::service
