// See ended_tasks.h.
#include "api/ended_tasks.h"

#include <algorithm>
#include <functional>
#include <map>

#include "api/task_status.h"
#include "api/usage.h"
#include "core/model/reason.h"
#include "service/clock.h"
#include "service/projector.h"

namespace berth::api {
namespace {

constexpr int kListsMax = 8;                  // reads of the history for one page: each is bounded
constexpr std::size_t kJustEndedMost = 1000;  // of those in memory, for each of these reads

// The history has engine time.
std::int64_t unix_ms_of(std::int64_t ns, const service::ClockMapped& clock) {
  return ns == 0 ? 0 : service::wall_time(Time{ns}, clock).ns / 1'000'000;
}

v1::TaskState state_named(const std::string& name) {
  for (std::size_t i = 0; i < core::kTaskStates.size(); ++i) {
    if (core::kTaskStates[i].name == name) return state_message(static_cast<core::TaskState>(i));
  }
  return v1::TASK_STATE_UNSPECIFIED;
}

bool is_never(const std::string& code) {
  return std::ranges::any_of(core::kReasons,
                             [&](const auto& info) { return info.name == code && info.never; });
}

// "out_of_memory" -> OUT_OF_MEMORY.
v1::FailureKind failure_named(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  v1::FailureKind kind = v1::FAILURE_KIND_UNSPECIFIED;
  return v1::FailureKind_Parse(name, &kind) ? kind : v1::FAILURE_KIND_UNSPECIFIED;
}

void fill_reason(v1::Reason& to, const store::EndedReason& from) {
  to.set_code(from.code);
  to.set_message(from.message);
  to.set_need(from.need);
  to.set_have(from.have);
  to.set_unit(from.unit);
  to.set_subject(from.subject);
  to.set_never(is_never(from.code));
}

void fill_result(v1::TaskResult& to, const store::EndedTask& task) {
  to.set_completed(task.outcome.completed);
  to.set_failure(failure_named(task.outcome.failure));
  to.set_exit_status(task.outcome.exit_status);
  to.set_term_signal(task.outcome.term_signal);
  to.set_message(task.outcome.message);
  to.set_simulated(task.outcome.simulated);
  to.set_result(task.result.data(), task.result.size());
}

void fill_attempt(v1::Attempt& to, const store::EndedAttempt& from,
                  const service::ClockMapped& clock) {
  to.set_number(from.number);
  for (const std::string& gpu : from.gpus)
    to.add_gpus(gpu);
  to.set_started_unix_ms(unix_ms_of(from.started_ns, clock));
  to.set_ended_unix_ms(unix_ms_of(from.ended_ns, clock));
  to.mutable_result()->set_completed(from.outcome == "completed");
  to.mutable_result()->set_failure(failure_named(from.outcome));
  to.mutable_result()->set_exit_status(from.exit_status);
}

v1::TaskStatus status_of(const store::EndedTask& task, const EndedDetail& detail,
                         const service::ClockMapped& clock) {
  v1::TaskStatus status;
  status.set_task_id(task.task_id);
  status.set_task_no(task.task_no);
  status.set_user_id(task.tenant);
  status.set_task_type(task.queue);
  status.set_state(state_named(task.state));
  if (!task.reason.code.empty()) fill_reason(*status.mutable_reason(), task.reason);
  status.set_submitted_unix_ms(unix_ms_of(task.submitted_ns, clock));
  status.set_eligible_unix_ms(unix_ms_of(task.eligible_ns, clock));
  status.set_started_unix_ms(unix_ms_of(task.started_ns, clock));
  status.set_ended_unix_ms(unix_ms_of(task.ended_ns, clock));
  status.set_group(task.group);
  for (const auto& [key, value] : task.labels)
    (*status.mutable_labels())[key] = value;
  status.set_priority(task.priority);
  status.set_tier(task.tier);
  status.set_gpu_memory_mb(task.vram_mb);
  if (!task.attempts.empty()) {
    status.set_attempts(task.attempts.back().number);
    for (const std::string& gpu : task.attempts.back().gpus)
      status.add_gpus(gpu);
    fill_result(*status.mutable_result(), task);
  }
  if (detail.with_spec && !task.spec.empty()) {
    status.mutable_spec()->ParseFromArray(task.spec.data(), static_cast<int>(task.spec.size()));
  }
  if (detail.with_history) {
    for (const store::EndedAttempt& attempt : task.attempts)
      fill_attempt(*status.add_history(), attempt, clock);
  }
  return status;
}

// Whoever runs the server hears of it too.
template <class T>
const T* readable(const ApiContext& context, const Result<T>& result) {
  if (result.ok()) return &*result;
  if (context.hooks.log) context.hooks.log(result.error().message);
  return nullptr;
}

bool fits(const v1::TaskFilter& filter, const store::EndedTask& task) {
  for (const auto& [key, value] : filter.labels()) {
    const auto at = task.labels.find(key);
    if (at == task.labels.end() || at->second != value) return false;
  }
  if (filter.task_ids().empty()) return true;
  return std::ranges::any_of(filter.task_ids(), [&](const std::string& id) {
    return id == task.task_id || service::numbered_id(id).value == task.task_no;
  });
}

store::HistoryFilter history_filter(const v1::TaskFilter& filter, const std::string& tenant) {
  store::HistoryFilter wanted;
  wanted.tenant = tenant;
  wanted.queue = filter.task_type();
  if (!filter.group().empty()) wanted.group = filter.group();
  for (const int state : filter.states()) {
    if (state < v1::COMPLETED) continue;
    wanted.states.emplace_back(core::kTaskStates[static_cast<std::size_t>(state) - 1].name);
  }
  return wanted;
}

}  // namespace

Problem damaged_history(const Error& error) {
  return {.code = Code::internal,
          .reason = "damaged_history",
          .message = error.message + "; berth fsck --rebuild-history makes the history anew"};
}

FoundEnded find_ended(const ApiContext& context, TaskNo task, const EndedDetail& detail) {
  if (const auto line = context.service.view().find_ended(task)) {
    v1::TaskStatus status;
    context.service.view().read([&](const service::Board& board) {
      fill_status(status, *line, {detail.with_history, detail.sees_all}, board);
    });
    if (detail.with_spec) {
      const Result<std::string> spec = context.service.spec_of(*line->card);
      if (spec.ok()) status.mutable_spec()->ParseFromString(*spec);
    }
    return std::optional(std::move(status));
  }
  const auto found = context.service.history().find(task.value);
  const auto* row = readable(context, found);
  if (row == nullptr) return found.error();
  if (!row->has_value()) return std::optional<v1::TaskStatus>();
  return std::optional(status_of(**row, detail, context.clock()));
}

FoundEnded find_ended(const ApiContext& context, const std::string& tenant,
                      const std::string& task_id, const EndedDetail& detail) {
  const auto found = context.service.history().find_by_id(tenant, task_id);
  const auto* row = readable(context, found);
  if (row == nullptr) return found.error();
  if (!row->has_value()) return std::optional<v1::TaskStatus>();
  return std::optional(status_of(**row, detail, context.clock()));
}

namespace {

// As the history itself would.
bool matches(const store::HistoryFilter& wanted, const store::EndedTask& task) {
  return (wanted.tenant.empty() || wanted.tenant == task.tenant) &&
         (wanted.queue.empty() || wanted.queue == task.queue) &&
         (!wanted.group || *wanted.group == task.group) &&
         (wanted.states.empty() || std::ranges::count(wanted.states, task.state) > 0);
}

// Ended tasks with numbers from `from` on, the highest first: all of a source's there are.
struct EndedRows {
  std::vector<store::EndedTask> tasks;
  std::uint64_t from = 0;
};

// Those that the history does not have yet.
EndedRows just_ended(const ApiContext& context, const store::HistoryFilter& wanted) {
  EndedRows rows;
  const std::vector<service::TaskLine> lines =
      context.service.view().ended_below(wanted.before_task_no, kJustEndedMost);
  if (lines.size() == kJustEndedMost) rows.from = lines.back().card->task.value;
  context.service.view().read([&](const service::Board& board) {
    for (const service::TaskLine& line : lines) {
      store::EndedTask task = service::ended_task(line, board, {}, {});
      if (matches(wanted, task)) rows.tasks.push_back(std::move(task));
    }
  });
  return rows;
}

// Both, as one list. Looks into memory first: what leaves it meanwhile is in the history by then.
Result<EndedRows> ended_rows(const ApiContext& context, const store::HistoryFilter& wanted) {
  EndedRows rows = just_ended(context, wanted);
  const auto result = context.service.history().list(wanted);
  const auto* older = readable(context, result);
  if (older == nullptr) return result.error();
  rows.from = std::max(rows.from, older->more_before.value_or(0));
  rows.tasks.insert(rows.tasks.end(), older->tasks.begin(), older->tasks.end());
  std::erase_if(rows.tasks, [&](const store::EndedTask& task) { return task.task_no < rows.from; });
  std::ranges::stable_sort(rows.tasks, std::ranges::greater{}, &store::EndedTask::task_no);
  const auto doubled = std::ranges::unique(rows.tasks, {}, &store::EndedTask::task_no);
  rows.tasks.erase(doubled.begin(), doubled.end());
  return rows;
}

}  // namespace

Result<EndedPage> list_ended(const ApiContext& context, const v1::TaskFilter& filter,
                             const std::string& tenant, std::uint64_t below, std::size_t most) {
  EndedPage page;
  const service::ClockMapped clock = context.clock();
  store::HistoryFilter wanted = history_filter(filter, tenant);
  wanted.before_task_no = below;
  wanted.limit = most;
  for (int lists = 0; lists < kListsMax; ++lists) {
    const Result<EndedRows> rows = ended_rows(context, wanted);
    if (!rows) return rows.error();
    for (const store::EndedTask& task : rows->tasks) {
      if (!fits(filter, task)) continue;
      if (page.tasks.size() == most) {
        page.next = page.tasks.back().task_no();
        return page;
      }
      page.tasks.push_back(status_of(task, {}, clock));
    }
    page.next = rows->from;
    if (page.next == 0 || page.tasks.size() == most) return page;
    wanted.before_task_no = page.next;
  }
  return page;
}

Result<std::vector<v1::UsageLine>> usage_lines(const ApiContext& context, const std::string& tenant,
                                               int days) {
  std::map<std::string, std::string> parents;
  bool is_parent = false;
  context.service.view().read([&](const service::Board& board) {
    const auto& tenants = board.names().tenants();
    for (const service::TenantEntry& entry : tenants) {
      if (!entry.spec.parent) continue;
      const std::string& parent = tenants[entry.spec.parent.value].name;
      parents[entry.name] = parent;
      is_parent = is_parent || parent == tenant;
    }
  });
  const auto result = context.service.history().usage(is_parent ? "" : tenant, days,
                                                      context.now().ns, context.clock().ahead.ns);
  const auto* rows = readable(context, result);
  if (rows == nullptr) return result.error();
  std::vector<v1::UsageLine> lines = usage_with_below(*rows, [&](const std::string& name) {
    const auto parent = parents.find(name);
    return parent == parents.end() ? std::string() : parent->second;
  });
  if (!tenant.empty()) {
    std::erase_if(lines, [&](const v1::UsageLine& line) { return line.user_id() != tenant; });
  }
  return lines;
}

}  // namespace berth::api
