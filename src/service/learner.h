// Learner: teaches packing what comes, beside the live engine. From time to time it looks at the
// mix of shapes that the engine has seen and at the nodes, lets packing play against itself
// (learn/self_play.h) on a thread of its own, and offers what came of it as a command like any
// other: so it is journalled, replayed and in snapshots. The engine never waits for it.
//
// Nothing is played while packing is not "frag", while few tasks have come, or while neither the
// mix nor the nodes have changed since the last play.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "core/packing/mix.h"
#include "core/packing/node_view.h"
#include "learn/self_play.h"
#include "service/commands.h"
#include "service/view.h"

namespace berth::service {

struct LearnerOptions {
  std::function<bool(ControlCommand&&)> offer;
  learn::SelfPlaySettings self_play;
  std::function<void(const std::string&)> inform;
};

// Whether a table that was learned for `before` is out of date: a twentieth of the arrivals is of
// other shapes now.
bool is_another_mix(const core::TypicalMix& before, const core::TypicalMix& now);

class Learner {
 public:
  // `every`: how long it waits between two looks; 0: it never looks by itself.
  Learner(LearnerOptions options, const View& view, Duration every);
  ~Learner();

  void start();
  // At once, also in the middle of a play.
  void stop();
  void set_every(Duration every);

  // Looks once and learns what there is to learn; afterwards the table is in force. Also what the
  // thread does.
  void look();

  std::uint64_t plays() const { return plays_.load(std::memory_order_relaxed); }  // begun

 private:
  void run();
  bool is_stopping() const;
  std::optional<ControlOutcome> ask(Control what);
  // What is played on.
  struct Ground {
    std::vector<core::NodeView> nodes;
    Milli gpu_load_threshold;
    bool operator==(const Ground&) const = default;
  };
  Ground ground() const;
  std::optional<core::ValueTable> play(const Ground& ground, const core::TypicalMix& mix);
  // False: it could not be handed over.
  bool put(std::vector<std::uint8_t> table, std::size_t shapes, std::size_t nodes);

  const LearnerOptions options_;
  const View& view_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  Duration every_;
  bool stopping_ = false;
  std::thread thread_;

  std::mutex look_mutex_;  // one look at a time
  core::TypicalMix played_mix_;
  Ground played_on_;
  std::atomic<std::uint64_t> plays_{0};
};

}  // namespace berth::service
