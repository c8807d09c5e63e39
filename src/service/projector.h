// Projector: ended tasks into the history, on a thread of its own. It may lag; the journal is the
// truth, and what is missing after a crash is projected again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "service/view.h"
#include "store/history.h"

namespace berth::service {

// What a line and its names are in the history.
store::EndedTask ended_task(const TaskLine& line, const Board& board, std::string spec,
                            Duration default_ttl);

struct ProjectorOptions {
  Duration result_ttl{0};
  std::function<Result<std::string>(const TaskCard&)> read_spec;
  std::function<Time()> clock;
  std::function<void(const std::string&)> log;
};

class Projector {
 public:
  Projector(ProjectorOptions options, std::unique_ptr<store::HistoryWriter> writer, View& view);
  ~Projector();

  void start();
  // Writes what is left, then ends.
  void stop();

  // Every task that ended up to this ordinal has been added. Waits when far too many are queued.
  void add(std::vector<TaskLine>&& ended, std::uint64_t ordinal);

  std::uint64_t lag() const { return lag_.load(std::memory_order_relaxed); }
  std::uint64_t projected() const { return projected_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kMostQueued = 500'000;
  static constexpr std::size_t kMostPerWrite = 4'096;

  void run();
  void write(std::span<TaskLine> lines, std::uint64_t upto);
  void tidy(std::uint64_t upto, bool idle);

  const ProjectorOptions options_;
  std::unique_ptr<store::HistoryWriter> writer_;
  View& view_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::condition_variable room_;
  std::vector<TaskLine> queue_;
  std::uint64_t queued_upto_ = 0;
  bool stopping_ = false;
  bool failing_ = false;
  std::atomic<std::uint64_t> lag_{0};
  std::atomic<std::uint64_t> projected_{0};
  std::thread thread_;
};

}  // namespace berth::service
