// Projector: ended tasks into the history, on a thread of its own. It may lag; the journal is the
// truth, and what is missing after a crash is projected again.
//
// What cannot be written (a full disk) stays in memory and is tried again. When far too many wait,
// the release waits too: no ended task is ever dropped.
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

// How an ended task looks in the history.
store::EndedTask ended_task(const TaskLine& line, const Board& board, const std::string& spec,
                            Duration default_ttl);

using ReadSpec = std::function<Result<std::string>(const TaskCard&)>;
// Of each task; empty where it cannot be read, which is logged.
std::vector<std::string> read_specs(std::span<const TaskLine> lines, const ReadSpec& read,
                                    const std::function<void(const std::string&)>& log);

struct ProjectorOptions {
  Duration result_ttl{0};
  Duration retention{0};
  ReadSpec read_spec;
  std::function<Time()> clock;
  std::function<void(const std::string&)> log;
};

class Projector {
 public:
  Projector(ProjectorOptions options, std::unique_ptr<store::HistoryWriter> writer, View& view);
  ~Projector();

  void start();
  // Tries once more to write what is left, then ends.
  void stop();

  // Every task that ended up to this ordinal has been added. Waits when far too many are queued.
  void add(Ended&& ended, std::uint64_t ordinal);
  // From now on it does not wait: the service stops, and the journal has them.
  void wait_no_more();

  std::uint64_t lag() const { return lag_.load(std::memory_order_relaxed); }
  std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }
  std::uint64_t projected() const { return projected_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kMostQueued = 500'000;
  static constexpr std::size_t kMostPerWrite = 4'096;
  static constexpr std::size_t kMostPerLock = 128;  // the release waits meanwhile

  void run();
  // Leaves what could not be written. All of it was: the history is complete up to `upto`.
  void write(Ended& ended, std::uint64_t upto);
  // How many of the tasks are in the history now.
  std::size_t write_tasks(Ended& ended, std::uint64_t upto);
  Status write_some(std::span<TaskLine> lines, std::uint64_t upto,
                    std::span<const store::SettledCharge> settled);
  void tidy();

  const ProjectorOptions options_;
  std::unique_ptr<store::HistoryWriter> writer_;
  View& view_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::condition_variable room_;
  Ended queue_;
  std::uint64_t queued_upto_ = 0;
  bool stopping_ = false;
  bool no_waiting_ = false;
  bool failing_ = false;
  std::atomic<std::uint64_t> lag_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> projected_{0};
  std::thread thread_;
};

}  // namespace berth::service
