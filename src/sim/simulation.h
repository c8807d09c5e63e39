// Simulation: one run of a scenario in virtual time, against the engine that is shipped.
//
// It owns an engine, the simulated agents and the workload, and feeds events in order: the
// configuration, then whatever is next of agents' reports, arrivals and commands, and a tick where
// the engine asks to be woken earlier. At one instant reports come first, then arrivals, then
// commands. It reads no clock and no file; observers see every event and action as it happens.
//
// A run ends when no task is live and nothing more is to come, when nothing can change any more
// (tasks held for ever), or at the scenario's stop_at.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/engine.h"
#include "sim/agents.h"
#include "sim/event_heap.h"
#include "sim/packing_lessons.h"
#include "sim/scenario.h"
#include "sim/workload.h"

namespace berth::sim {

class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  virtual void on_event(const core::Event& event) = 0;
  // `at` is the instant of the decision.
  virtual void on_action(Time at, const core::Action& action) = 0;

  // Around the engine's work on an event, for those who measure it.
  virtual void before_step(const core::Event&) {}
  virtual void after_step(const core::Event&) {}
};

struct Progress {
  Time now;
  std::uint64_t events = 0;
  std::uint64_t submitted = 0;
  std::uint64_t live = 0;  // tasks accepted and not ended
};

class Simulation {
 public:
  // Keeps a reference to the scenario.
  Simulation(const Scenario& scenario, std::uint64_t seed);

  void add_observer(Observer& observer) { observers_.push_back(&observer); }

  // Instead of self-play at every lesson in packing. Must answer as self-play would.
  void train_with(Trainer trainer) { trainer_ = std::move(trainer); }

  // Called now and then during `run`.
  void report_progress_to(std::function<void(const Progress&)> sink) {
    progress_ = std::move(sink);
  }

  // After every step the engine's invariants are checked, and the run stops at the first that is
  // broken. Slow: for tests.
  void check_invariants() { checks_ = true; }

  void run();

  const Progress& progress() const { return now_; }
  const core::Engine& engine() const { return engine_; }
  // What check_invariants found; empty: all was well.
  const std::vector<std::string>& broken_invariants() const { return broken_; }

 private:
  enum class Rank : std::uint8_t { report, arrival, command };
  // What waits in the heap: a report, or the position of a command; a day boundary has neither.
  struct Item {
    PlannedReport report{};
    std::size_t command = kNoCommand;
    bool day_boundary = false;
  };
  static constexpr std::size_t kNoCommand = SIZE_MAX;

  void configure();
  bool step();
  bool is_over(Time next, Time wakeup) const;
  void submit_next();
  void teach(Time at, const core::TypicalMix& mix);
  void teach_if_due();
  void handle_next_in_heap();
  void carry_out(const Command& command);
  void feed(Time at, core::EventBody body);
  void note_action(Time at, const core::Action& action);
  // What an item in the heap means for the end of the run.
  enum class Weight : std::uint8_t { none, repair, work };
  static Weight weight_of(const Item& item);
  std::size_t& count_of(Weight weight) { return heap_counts_[static_cast<std::size_t>(weight)]; }
  std::size_t count_of(Weight weight) const {
    return heap_counts_[static_cast<std::size_t>(weight)];
  }
  void plan(Time at, Rank rank, const Item& item);

  const Scenario& scenario_;
  core::Engine engine_;
  Workload workload_;
  EventHeap<Item> heap_;
  std::array<std::size_t, 3> heap_counts_{};  // by weight
  std::size_t commands_left_ = 0;
  Agents agents_;
  std::vector<Observer*> observers_;
  std::function<void(const Progress&)> progress_;
  Trainer trainer_;
  std::uint64_t lessons_ = 0;
  std::uint64_t taught_after_ = 0;  // arrivals, at the last lesson
  core::Actions actions_;
  Progress now_;
  std::uint64_t quiet_events_ = 0;  // in a row, that led to no action
  bool checks_ = false;
  std::vector<std::string> broken_;
};

}  // namespace berth::sim
