// See task_finder.h.
#include "api/task_finder.h"

#include "api/ended_tasks.h"
#include "api/outcomes.h"
#include "api/task_status.h"

namespace berth::api {
namespace {

constexpr std::size_t kTenantsAsked = 1000;  // for whose tasks a hint is looked for

Problem not_found(const std::string& id, const std::string& tenant) {
  Problem problem = no_such("task", id);
  if (!tenant.empty()) problem.message += " of tenant \"" + tenant + "\"";
  return problem;
}

// A tenant that has a task of this id; "": none is known. For those alone who see all.
std::string owner_of(const ApiContext& context, const std::string& id) {
  const Time now = context.now();
  return context.service.view().read([&](const service::Board& board) {
    const auto& tenants = board.names().tenants();
    const std::size_t count = std::min(tenants.size(), kTenantsAsked);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (board.find(TenantId{i}, id, now)) return tenants[i].name;
    }
    return std::string();
  });
}

// A live task, if it is one of `tenant` ("": of anyone).
std::optional<FoundTask> find_live(const ApiContext& context, TaskNo task,
                                   const std::string& tenant, const StatusDetail& detail) {
  return context.service.view().read([&](const service::Board& board) -> std::optional<FoundTask> {
    const service::TaskLine* line = board.tasks().find(task);
    if (line == nullptr) return std::nullopt;
    FoundTask found{.live = true, .card = line->card};
    fill_status(found.status, *line, detail, board);
    if (!tenant.empty() && found.status.user_id() != tenant) return std::nullopt;
    return found;
  });
}

TaskNo number_of(const ApiContext& context, const std::string& tenant, const std::string& id) {
  const TenantId number = context.service.view().read(
      [&](const service::Board& board) { return board.names().tenant(tenant); });
  return number ? context.service.find_task(number, id) : TaskNo::none();
}

void add_spec(const ApiContext& context, FoundTask& found) {
  const Result<std::string> bytes = context.service.spec_of(*found.card);
  if (bytes.ok()) found.status.mutable_spec()->ParseFromString(*bytes);
}

}  // namespace

std::variant<FoundTask, Problem> find_task(const ApiContext& context, const Caller& caller,
                                           const TaskQuestion& question) {
  const std::string& id = question.task_id;
  if (id.empty()) return bad_field("task_id", "is required");
  auto tenant_or = tenant_of(caller, question.user_id);
  if (auto* problem = std::get_if<Problem>(&tenant_or)) return std::move(*problem);
  std::string tenant = std::move(std::get<std::string>(tenant_or));
  TaskNo task = service::numbered_id(id);
  const bool by_number = static_cast<bool>(task);
  // A number says which task it is, so one who sees all needs no tenant.
  if (by_number && sees_all(caller) && question.user_id.empty()) tenant.clear();
  if (!by_number) task = number_of(context, tenant, id);
  const EndedDetail detail{question.with_spec, question.with_history, sees_all(caller)};
  if (task) {
    if (auto found = find_live(context, task, tenant, {detail.with_history, detail.sees_all})) {
      if (question.with_spec) add_spec(context, *found);
      return std::move(*found);
    }
    auto ended = find_ended(context, task, detail);
    if (!ended) return damaged_history(ended.error());
    if (*ended && (tenant.empty() || (*ended)->user_id() == tenant)) {
      return FoundTask{.status = std::move(**ended)};
    }
  }
  if (!by_number) {
    auto ended = find_ended(context, tenant, id, detail);
    if (!ended) return damaged_history(ended.error());
    if (*ended) return FoundTask{.status = std::move(**ended)};
  }
  Problem problem = not_found(id, tenant);
  if (by_number || !sees_all(caller)) return problem;
  if (const std::string owner = owner_of(context, id); !owner.empty()) {
    problem.message += "; tenant \"" + owner + "\" has one";
    problem.metadata["tenant"] = owner;
  }
  return problem;
}

std::variant<std::string, Problem> tenant_in_filter(const ApiContext& context, const Caller& caller,
                                                    const v1::TaskFilter& filter) {
  for (const int state : filter.states()) {
    if (state == v1::TASK_STATE_UNSPECIFIED || !v1::TaskState_IsValid(state)) {
      return bad_field("filter.states", "must name states of a task");
    }
  }
  if (!filter.task_type().empty()) {
    auto missing =
        context.service.view().read([&](const service::Board& board) -> std::optional<Problem> {
          if (board.names().queue(filter.task_type())) return std::nullopt;
          std::vector<std::string> known;
          for (const service::QueueEntry& queue : board.names().queues())
            known.push_back(queue.name);
          return no_such("queue", filter.task_type(), known);
        });
    if (missing) return std::move(*missing);
  }
  if (filter.user_id().empty() && sees_all(caller)) return std::string();
  return tenant_of(caller, filter.user_id());
}

Result<v1::TaskSpec> spec_of(const ApiContext& context, TaskNo task) {
  service::CardPtr card = context.service.view().read([&](const service::Board& board) {
    const service::TaskLine* line = board.tasks().find(task);
    return line == nullptr ? nullptr : line->card;
  });
  v1::TaskSpec spec;
  if (card != nullptr) {
    const Result<std::string> bytes = context.service.spec_of(*card);
    if (!bytes.ok()) return bytes.error();
    if (spec.ParseFromString(*bytes)) return spec;
  } else {
    auto ended = find_ended(context, task, {.with_spec = true});
    if (!ended) return ended.error();
    if (*ended && (*ended)->has_spec()) return std::move(*(*ended)->mutable_spec());
  }
  return Error{"the spec of task " + std::to_string(task.value) + " is no longer kept"};
}

}  // namespace berth::api
