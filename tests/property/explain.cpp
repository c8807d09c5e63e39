// Explain tells the truth: no binding reason exactly when the task starts with the next decision.
#include <set>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"

namespace berth::property {
namespace {

struct Told {
  std::set<TaskNo> starts;          // pending, nothing binds
  std::vector<TaskNo> unexplained;  // waiting, nothing binds
};

// Those who come first are named and counted.
void check_subject(TaskNo task, const core::Explanation& explanation) {
  for (const core::Reason& reason : explanation.binding) {
    const bool names_others = reason.code == core::ReasonCode::behind_in_order ||
                              reason.code == core::ReasonCode::behind_in_flow;
    if (!names_others) continue;
    if (reason.subject == core::Reason::kNoSubject || reason.subject == task.value ||
        reason.need < 1) {
      throw Broken("task " + std::to_string(task.value) + " waits for others, and nobody says who");
    }
  }
}

Told ask_all(const core::Engine& engine) {
  Told told;
  const core::State& state = engine.state();
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    if (!state.tasks.is_live(slot)) continue;
    const TaskNo task = state.tasks.row(slot).no;
    const auto explanation = engine.explain(task);
    if (!explanation) throw Broken("task " + std::to_string(task.value) + " is not explained");
    check_subject(task, *explanation);
    if (!explanation->binding.empty()) continue;
    if (explanation->state == core::TaskState::pending) told.starts.insert(task);
    if (explanation->state == core::TaskState::waiting) told.unexplained.push_back(task);
  }
  return told;
}

// Tasks of the first batch that these actions start in their first round.
std::set<TaskNo> first_batch(const core::Actions& actions) {
  std::set<TaskNo> started;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (i > 0 && std::holds_alternative<core::Instant>(actions[i])) break;
    if (const auto* batch = std::get_if<core::BatchStarted>(&actions[i])) {
      for (const core::StartedTask& task : batch->tasks)
        started.insert(task.task);
      break;
    }
  }
  return started;
}

std::string list(const std::set<TaskNo>& tasks) {
  std::string text;
  for (const TaskNo task : tasks)
    text += " " + std::to_string(task.value);
  return text.empty() ? " none" : text;
}

TEST(Explain, NothingBindsExactlyWhenTheTaskStartsNext) {
  std::size_t asked = 0;
  std::size_t starts = 0;
  for_cases({.cases = 2500, .commands = 120}, [&](const Case& input) {
    World world(input, {.one_start_per_step = true, .only_workflows = true});
    bool asking = false;
    world.on_step = [&](const Step&) {
      if (asking) return;
      asking = true;
      for (int ticks = 0; ticks < 100; ++ticks) {
        const core::State& state = world.engine().state();
        const auto timer = state.timers.next();
        const bool timers_due = timer && timer->due <= world.now();
        const bool more = world.engine().next_wakeup() <= world.now();
        if (!timers_due && state.ripe.empty()) {
          const Told told = ask_all(world.engine());
          ++asked;
          if (!told.unexplained.empty()) {
            throw Broken("task " + std::to_string(told.unexplained.front().value) +
                         " waits and nothing binds it");
          }
          core::Actions actions;
          if (more) {
            world.feed(core::Tick{});
            actions = world.steps().back().actions;
          }
          const std::set<TaskNo> started = first_batch(actions);
          starts += started.empty() ? 0 : 1;
          if (started != told.starts) {
            throw Broken("explain said that these start next:" + list(told.starts) +
                         "; these did:" + list(started));
          }
        } else if (more) {
          world.feed(core::Tick{});
        }
        if (!more) break;
      }
      asking = false;
    };
    run_world(world);
  });
  EXPECT_GT(starts, 100U);
  std::printf("%zu states asked, %zu starts foretold\n", asked, starts);
}

}  // namespace
}  // namespace berth::property
