// See arrays.h.
#include "api/arrays.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "api/ended_tasks.h"
#include "api/outcomes.h"
#include "api/task_status.h"
#include "core/model/task_states.h"
#include "service/clock.h"

namespace berth::api {
namespace {

constexpr int kArrayStates = v1::TaskState_ARRAYSIZE;

// Calls visit(line, board) for the tasks of the array that are on the board.
template <class Visit>
void each_live_task(const ApiContext& context, const FoundArray& array, Visit visit) {
  context.service.view().read([&](const service::Board& board) {
    board.tasks().each_from(array.tasks.first, [&](const service::TaskLine& line) {
      if (!array.tasks.has(line.card->task)) return false;
      visit(line, board);
      return true;
    });
  });
}

v1::TaskState array_state_named(std::string_view name) {
  for (std::size_t i = 0; i < core::kTaskStates.size(); ++i) {
    if (core::kTaskStates[i].name == name) return static_cast<v1::TaskState>(i + 1);
  }
  return v1::TASK_STATE_UNSPECIFIED;
}

// The states of an array's tasks by their place in it, as far as they are known.
class ArrayCensus {
 public:
  ArrayCensus(const ApiContext& context, const FoundArray& array)
      : context_(context), array_(array), states_(array.tasks.count) {}

  // Memory first: what leaves it meanwhile is in the history by then.
  Status take() {
    each_live_task(context_, array_,
                   [&](const service::TaskLine& line, const service::Board& board) {
                     note(line.card->task.value, state_message(line.state), 0);
                     if (base_) return;
                     base_.emplace();
                     fill_status(*base_, line, {}, board);
                   });
    bool is_complete = true;
    for (std::uint32_t i = 0; i < array_.tasks.count; ++i) {
      if (states_[i] != v1::TASK_STATE_UNSPECIFIED) continue;
      const TaskNo task{array_.tasks.first.value + i};
      const auto line = context_.service.view().find_ended(task);
      is_complete = is_complete && line;
      if (!line) continue;
      context_.service.view().read([&](const service::Board& board) {
        note(task.value, state_message(line->state), unix_ms(line->ended, board));
      });
    }
    return is_complete ? Status(Done{}) : read_history();
  }

  Result<std::optional<v1::TaskStatus>> status() {
    if (!base_ && last_known_) {
      auto ended = find_ended(context_, *last_known_, {});
      if (!ended) return ended.error();
      base_ = std::move(*ended);
    }
    if (!base_) return std::optional<v1::TaskStatus>();
    v1::TaskStatus status;
    status.set_task_id(array_.id);
    status.set_task_no(array_.tasks.first.value);
    status.set_user_id(array_.tenant);
    status.set_group(array_.id);
    status.set_task_type(base_->task_type());
    status.set_submitted_unix_ms(base_->submitted_unix_ms());
    status.set_priority(base_->priority());
    status.set_tier(base_->tier());
    status.set_gpu_memory_mb(base_->gpu_memory_mb());
    *status.mutable_labels() = base_->labels();
    status.set_state(state_of_all());
    if (status.state() >= v1::COMPLETED) status.set_ended_unix_ms(ended_);
    v1::ArrayStatus& whole = *status.mutable_array();
    whole.set_indices(array_.tasks.indices);
    whole.set_tasks(array_.tasks.count);
    for (int state = v1::WAITING; state < kArrayStates; ++state) {
      const std::uint32_t tasks = counts_[static_cast<std::size_t>(state)];
      if (tasks == 0) continue;
      v1::StateCount& count = *whole.add_states();
      count.set_state(static_cast<v1::TaskState>(state));
      count.set_tasks(tasks);
    }
    return std::optional(std::move(status));
  }

 private:
  void note(std::uint64_t task, v1::TaskState state, std::int64_t ended_unix_ms) {
    v1::TaskState& known = states_[task - array_.tasks.first.value];
    if (known != v1::TASK_STATE_UNSPECIFIED) return;
    known = state;
    ++counts_[static_cast<std::size_t>(state)];
    last_known_ = TaskNo{task};
    ended_ = std::max(ended_, ended_unix_ms);
  }

  Status read_history() {
    const std::uint64_t first = array_.tasks.first.value;
    const auto rows = context_.service.history().query(
        "SELECT task_no, state, ended_ns FROM ended WHERE task_no BETWEEN " +
        std::to_string(first) + " AND " + std::to_string(first + array_.tasks.count - 1));
    if (!rows) return rows.error();
    const service::ClockMapped clock = context_.clock();
    for (const auto& row : rows->rows) {
      const auto number = [&](std::size_t column) {
        const auto* text = std::get_if<std::string>(&row[column]);
        std::int64_t value = 0;
        if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), value);
        return value;
      };
      const auto* state = std::get_if<std::string>(&row[1]);
      if (state == nullptr) continue;
      const Time ended{number(2)};
      note(static_cast<std::uint64_t>(number(0)), array_state_named(*state),
           service::wall_time(ended, clock).ns / 1'000'000);
    }
    return Done{};
  }

  bool any(v1::TaskState state) const { return counts_[static_cast<std::size_t>(state)] > 0; }
  v1::TaskState state_of_all() const {
    if (any(v1::RUNNING) || any(v1::STARTING)) return v1::RUNNING;
    for (const v1::TaskState state :
         {v1::PENDING, v1::WAITING, v1::FAILED, v1::EXPIRED, v1::CANCELLED}) {
      if (any(state)) return state;
    }
    return v1::COMPLETED;
  }

  const ApiContext& context_;
  const FoundArray& array_;
  std::vector<v1::TaskState> states_;
  std::array<std::uint32_t, kArrayStates> counts_{};
  std::optional<v1::TaskStatus> base_;  // of a task
  std::optional<TaskNo> last_known_;
  std::int64_t ended_ = 0;
};

}  // namespace

std::optional<FoundArray> find_array(const ApiContext& context, const std::string& tenant,
                                     const std::string& id) {
  FoundArray found{.id = id, .tenant = tenant, .tasks = {}};
  context.service.view().read([&](const service::Board& board) {
    const TenantId number = board.names().tenant(tenant);
    if (number) found.tasks = board.names().array(number, id);
  });
  if (!found.tasks) return std::nullopt;
  return found;
}

std::optional<FoundArray> find_array(const ApiContext& context, const Caller& caller,
                                     const std::string& task_id, const std::string& user_id) {
  auto tenant = tenant_of(caller, user_id);
  if (std::holds_alternative<Problem>(tenant)) return std::nullopt;
  return find_array(context, std::get<std::string>(tenant), task_id);
}

Result<std::optional<v1::TaskStatus>> array_status(const ApiContext& context,
                                                   const FoundArray& array) {
  ArrayCensus census(context, array);
  if (Status taken = census.take(); !taken) return taken.error();
  return census.status();
}

std::vector<TaskNo> live_tasks_of(const ApiContext& context, const FoundArray& array) {
  std::vector<TaskNo> tasks;
  each_live_task(context, array, [&](const service::TaskLine& line, const service::Board&) {
    if (!line.end) tasks.push_back(line.card->task);
  });
  return tasks;
}

}  // namespace berth::api
