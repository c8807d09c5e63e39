// See engine.h. The step and its order; everything else is in the stages.
#include "core/engine.h"

#include <algorithm>

#include "base/assert.h"
#include "core/engine_internal.h"
#include "core/policy/orders.h"

namespace berth::core {
namespace {

constexpr int kTimersPerRound = 256;
constexpr int kRoundsPerTick = 16;

// Far more than the work at hand needs at one instant: beyond it, decisions undo each other for
// ever.
std::size_t rounds_bound(const State& state) {
  return 100'000 + 8 * (state.tasks.live() + state.gpus.size() + state.queues.size());
}

Time next_instant(const State& state) {
  const auto timer = state.timers.next();
  return std::min(state.continue_at, timer ? timer->due : Time::never());
}

// Fires what is due at one instant, a bounded count, and decides what follows from it.
void run_round(State& state, Decider& decider, Time instant) {
  state.now = std::max(state.now, instant);
  state.continue_at = Time::never();
  decider.at_timer(state.now);
  int left = kTimersPerRound;
  for (auto timer = state.timers.next(); timer && timer->due <= state.now && left > 0;
       timer = state.timers.next(), --left) {
    if (static_cast<std::size_t>(timer->kind) >= kQuietTimerKinds) {
      decider.fire(*timer);
      continue;
    }
    if (timer->kind == TimerKind::keep_alive) decider.evict_idle(GpuId{timer->handle});
    apply_quiet_timer(state, *timer);
  }
  // Decisions wait until all timers of the instant have fired, however many rounds that takes.
  const auto timer = state.timers.next();
  const bool more_due = timer && timer->due <= state.now;
  if (more_due) {
    state.continue_at = state.now;
    return arm_preemption(state);
  }
  if (!decider.settle()) state.continue_at = state.now;
  arm_preemption(state);
}

}  // namespace

Engine::Engine() : Engine(std::make_unique<State>()) {}
Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {
  if (state_->rule == nullptr) state_->rule = &rule_for(state_->policy.order);
}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

std::size_t Engine::step(const Event& event, Actions& out) {
  State& state = *state_;
  ASSERT(event.now >= state.now);
  const std::size_t before = out.size();
  Decider decider(state, out, scratch_);
  const bool is_tick = std::holds_alternative<Tick>(event.body);

  int rounds = 0;
  std::size_t rounds_here = 0;
  for (Time due = next_instant(state); due <= event.now; due = next_instant(state)) {
    rounds_here = due <= state.now ? rounds_here + 1 : 0;
    ASSERT(rounds_here < rounds_bound(state));
    // A tick may stop early: what is left is due at the next one. Any other event comes after.
    if (is_tick && ++rounds > kRoundsPerTick) break;
    run_round(state, decider, due);
  }
  const std::size_t from_timers = out.size() - before;
  if (is_tick) return from_timers;

  state.now = event.now;
  decider.at_event();
  apply_event(state, event);
  decider.answer(event);
  if (!decider.settle()) state.continue_at = state.now;
  arm_preemption(state);
  return from_timers;
}

Time Engine::next_wakeup() const { return next_instant(*state_); }

TaskNo Engine::next_task_no() const { return state_->tasks.next(); }

void Engine::apply(const Event& event) {
  if (std::holds_alternative<Tick>(event.body)) return;
  apply_time(*state_, event.now);
  apply_event(*state_, event);
  // What a step left undone is not recorded: after recovery it is looked for at the same instant.
  state_->continue_at = state_->now;
}

void Engine::apply(const Action& action) {
  apply_action(*state_, action);
  if (std::holds_alternative<Instant>(action)) state_->continue_at = state_->now;
}

}  // namespace berth::core
