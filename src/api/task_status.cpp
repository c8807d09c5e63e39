// See task_status.h.
#include "api/task_status.h"

#include <algorithm>

#include "api/outcomes.h"
#include "service/clock.h"

namespace berth::api {
namespace {

static_assert(static_cast<int>(core::TaskState::waiting) + 1 == v1::WAITING);
static_assert(static_cast<int>(core::TaskState::pending) + 1 == v1::PENDING);
static_assert(static_cast<int>(core::TaskState::starting) + 1 == v1::STARTING);
static_assert(static_cast<int>(core::TaskState::running) + 1 == v1::RUNNING);
static_assert(static_cast<int>(core::TaskState::completed) + 1 == v1::COMPLETED);
static_assert(static_cast<int>(core::TaskState::failed) + 1 == v1::FAILED);
static_assert(static_cast<int>(core::TaskState::cancelled) + 1 == v1::CANCELLED);
static_assert(static_cast<int>(core::TaskState::expired) + 1 == v1::EXPIRED);

template <class Entries, class Number>
const std::string& name_in(const Entries& entries, Number number) {
  static const std::string kNone;
  return number && number.value < entries.size() ? entries[number.value].name : kNone;
}

bool has_label(const service::TaskCard& card, const std::string& key, const std::string& value) {
  return std::ranges::any_of(
      card.labels, [&](const auto& label) { return label.first == key && label.second == value; });
}

void fill_attempt(v1::Attempt& attempt, const service::AttemptLine& line,
                  const service::Board& board) {
  attempt.set_number(line.number);
  for (const GpuId gpu : line.gpus)
    attempt.add_gpus(name_in(board.names().gpus(), gpu));
  attempt.set_started_unix_ms(unix_ms(line.started, board));
  attempt.set_ended_unix_ms(unix_ms(line.ended, board));
  if (!line.result.empty()) attempt.mutable_result()->ParseFromString(line.result);
}

// What was recorded, or else what one sees without asking the engine.
core::Reason reason_of(const service::TaskLine& line, const service::Names& names) {
  core::Reason reason = line.reason;
  if (reason || line.state != core::TaskState::pending) return reason;
  if (names.queues()[line.card->queue.value].paused) {
    reason.code = core::ReasonCode::queue_paused;
    reason.subject = line.card->queue.value;
  } else if (names.tenants()[line.card->tenant.value].paused) {
    reason.code = core::ReasonCode::tenant_paused;
    reason.subject = line.card->tenant.value;
  }
  return reason;
}

}  // namespace

v1::TaskState state_message(core::TaskState state) {
  return static_cast<v1::TaskState>(static_cast<int>(state) + 1);
}

std::int64_t unix_ms(Time time, const service::Board& board) {
  if (time == Time::never() || time.ns == 0) return 0;
  return service::wall_time(time, board.names().clock()).ns / 1'000'000;
}

service::ReasonFor reader_of(const service::TaskCard& card, bool sees_all) {
  return {card.task, sees_all ? TenantId::none() : card.tenant};
}

void fill_status(v1::TaskStatus& status, const service::TaskLine& line, const StatusDetail& detail,
                 const service::Board& board) {
  const service::TaskCard& card = *line.card;
  status.set_task_id(service::id_of(card));
  status.set_task_no(card.task.value);
  status.set_user_id(name_in(board.names().tenants(), card.tenant));
  status.set_task_type(name_in(board.names().queues(), card.queue));
  status.set_state(state_message(line.state));
  if (const core::Reason reason = reason_of(line, board.names()))
    *status.mutable_reason() = reason_message(reason, board, reader_of(card, detail.sees_all));
  status.set_submitted_unix_ms(unix_ms(card.submitted, board));
  status.set_eligible_unix_ms(unix_ms(line.eligible, board));
  status.set_ended_unix_ms(unix_ms(line.ended, board));
  status.set_group(card.group_name);
  for (const auto& [key, value] : card.labels)
    (*status.mutable_labels())[key] = value;
  status.set_priority(card.priority);
  status.set_tier(card.tier);
  status.set_gpu_memory_mb(card.vram.value);
  if (line.attempts.empty()) return;
  const service::AttemptLine& last = line.attempts.back();
  status.set_attempts(last.number);
  for (const GpuId gpu : last.gpus)
    status.add_gpus(name_in(board.names().gpus(), gpu));
  status.set_started_unix_ms(unix_ms(last.started, board));
  if (!last.result.empty()) status.mutable_result()->ParseFromString(last.result);
  if (!detail.with_history) return;
  for (const service::AttemptLine& attempt : line.attempts) {
    fill_attempt(*status.add_history(), attempt, board);
  }
}

v1::TaskEvent event_message(const service::TaskChange& change, bool sees_all,
                            const service::Board& board) {
  v1::TaskEvent event;
  const service::TaskCard& card = *change.card;
  event.set_sequence(change.sequence);
  event.set_at_unix_ms(unix_ms(change.at, board));
  event.set_task_id(service::id_of(card));
  event.set_task_no(card.task.value);
  event.set_user_id(name_in(board.names().tenants(), card.tenant));
  event.set_task_type(name_in(board.names().queues(), card.queue));
  event.set_group(card.group_name);
  event.set_state(state_message(change.state));
  if (change.reason)
    *event.mutable_reason() = reason_message(change.reason, board, reader_of(card, sees_all));
  event.set_attempt(change.attempt);
  for (const GpuId gpu : change.gpus)
    event.add_gpus(name_in(board.names().gpus(), gpu));
  return event;
}

bool TaskMatcher::matches(const service::TaskCard& card, core::TaskState state,
                          const service::Names& names) const {
  const auto& states = filter_.states();
  if (!states.empty() && !std::ranges::count(states, static_cast<int>(state_message(state)))) {
    return false;
  }
  return matches(card, names);
}

bool TaskMatcher::matches(const service::TaskCard& card, const service::Names& names) const {
  if (!tenant_.empty() && name_in(names.tenants(), card.tenant) != tenant_) return false;
  if (!filter_.task_type().empty() && name_in(names.queues(), card.queue) != filter_.task_type()) {
    return false;
  }
  if (!filter_.group().empty() && card.group_name != filter_.group()) return false;
  for (const auto& [key, value] : filter_.labels()) {
    if (!has_label(card, key, value)) return false;
  }
  if (filter_.task_ids().empty()) return true;
  return std::ranges::any_of(filter_.task_ids(), [&](const std::string& id) {
    return id == card.id || service::numbered_id(id) == card.task;
  });
}

}  // namespace berth::api
