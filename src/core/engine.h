// Engine: the decision core as one value. Events in, actions out, nothing else.
//
// It owns no clock, thread, file, log or random source. Time reaches it in events; it says when it
// next needs to be woken. The same events give the same actions in any build, in any grouping into
// steps, with any tick in between, and after any snapshot and restore.
//
// One step: 1 timers due by now fire, each at its own instant, each followed by its decisions
//           2 the event is applied      3 what it asks is decided      4 batches start
// Decisions read the state and emit actions; only applying an event or an action changes it, so
// recovery can apply a recorded history without deciding again.
//
// Work per step is bounded by counts. What remains continues at next_wakeup(), which is then the
// instant of the step itself; a later event finds it done first, at that instant.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/action.h"
#include "core/event.h"
#include "core/model/explanation.h"

namespace berth::core {

struct State;

// Goes up when the same events lead to other actions. Golden journals notice.
inline constexpr std::uint32_t kBehaviour = 7;

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Takes one event; appends what was decided to `out`. Returns how many of these actions came
  // from timers that were due first: a journal writes those before the event, the rest after it.
  // REQUIRES event.now >= the last one's.
  std::size_t step(const Event& event, Actions& out);

  // The next instant at which a Tick changes something; Time::never() if none.
  Time next_wakeup() const;

  // The number the next submitted task must carry.
  TaskNo next_task_no() const;

  // Recovery: recorded events and actions in the order of the journal. Decides nothing.
  void apply(const Event& event);
  void apply(const Action& action);

  // None: no live task has this number.
  std::optional<Explanation> explain(TaskNo task) const;

  // The live tasks with this label, by ascending number.
  std::vector<TaskNo> tasks_in_group(GroupId group) const;

  // Derives every index and counter again from the task, lease and GPU tables; returns one
  // sentence for each disagreement. Empty: all is well. Linear in the state; for tests.
  std::vector<std::string> check_invariants() const;

  // Read access for views, snapshots and tests.
  const State& state() const { return *state_; }

  // Replaces the state by one rebuilt from a snapshot.
  explicit Engine(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
  Actions scratch_;
};

}  // namespace berth::core
