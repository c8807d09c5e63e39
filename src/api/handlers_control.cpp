// Requests that change tasks: cancel, hold, release, resolve.
#include <algorithm>
#include <charconv>
#include <utility>

#include "api/arrays.h"
#include "api/handlers.h"
#include "api/outcomes.h"
#include "api/submit_problem.h"
#include "api/task_finder.h"
#include "api/task_status.h"

namespace berth::api {
namespace {

constexpr std::size_t kVisitedAtOnce = 20'000;  // lines under one hold of the view's lock
constexpr std::size_t kCancelledAtOnce = 1'000;
constexpr auto kRetryFullRing = std::chrono::milliseconds(2);
constexpr int kRetriesMax = 2'500;

bool is_empty(const v1::TaskFilter& filter) { return filter.ByteSizeLong() == 0; }

std::variant<TaskNo, Problem> find_live(const ApiContext& context, const Caller& caller,
                                        const std::string& task_id, const std::string& user_id) {
  auto found = find_task(context, caller, {.task_id = task_id, .user_id = user_id});
  if (auto* problem = std::get_if<Problem>(&found)) {
    if (find_array(context, caller, task_id, user_id)) {
      problem->message +=
          "; there is an array of this id: name its tasks, as in \"" + task_id + "[0]\"";
    }
    return std::move(*problem);
  }
  const auto& task = std::get<FoundTask>(found);
  if (task.status.reason().code() == "cancelling") {
    return Problem{.code = Code::failed_precondition,
                   .reason = "cancelling",
                   .message = "task \"" + task_id + "\" is being cancelled",
                   .metadata = {{"subject", task_id}}};
  }
  if (task.live) return TaskNo{task.status.task_no()};
  return Problem{.code = Code::failed_precondition,
                 .reason = "task_ended",
                 .message = "task \"" + task_id + "\" has ended",
                 .metadata = {{"subject", task_id}}};
}

bool says_anything(const v1::UpdateTaskRequest& request) {
  return request.has_task_type() || request.has_priority() || request.has_gpu_memory_mb() ||
         request.has_tolerated_wait_ms() || request.has_run_limit_ms();
}

// A task that moves has the limits of its new queue.
bool changes_limit(const v1::UpdateTaskRequest& request) {
  return request.has_run_limit_ms() || request.has_task_type();
}

void lay_over(const v1::UpdateTaskRequest& request, v1::TaskSpec& spec) {
  if (request.has_task_type()) spec.set_task_type(request.task_type());
  if (request.has_priority()) spec.set_priority(request.priority());
  if (request.has_gpu_memory_mb()) spec.set_gpu_memory_mb(request.gpu_memory_mb());
  if (request.has_tolerated_wait_ms()) spec.set_tolerated_wait_ms(request.tolerated_wait_ms());
  if (request.has_run_limit_ms()) spec.set_run_limit_ms(request.run_limit_ms());
}

// The task as it shall be. Its card is its own, changed: it keeps its ids and its age.
std::variant<service::NewTask, Problem> read_change(const ApiContext& context, const Caller& caller,
                                                    TaskNo task,
                                                    const v1::UpdateTaskRequest& request) {
  if (!says_anything(request)) {
    return bad_field("task_id",
                     "names a task, and nothing is to be changed: give task_type, priority, "
                     "gpu_memory_mb, tolerated_wait_ms or run_limit_ms");
  }
  Result<v1::TaskSpec> spec = spec_of(context, task);
  if (!spec) {
    return Problem{.code = Code::not_found, .reason = "spec_gone", .message = spec.error().message};
  }
  auto card = std::make_shared<service::TaskCard>();
  const bool is_live = context.service.view().read([&](const service::Board& board) {
    const service::TaskLine* line = board.tasks().find(task);
    if (line == nullptr) return false;
    *card = *line->card;
    spec->set_user_id(board.names().tenants()[card->tenant.value].name);
    return true;
  });
  if (!is_live) {
    return Problem{.code = Code::failed_precondition,
                   .reason = "task_ended",
                   .message = "task \"" + request.task_id() + "\" has ended",
                   .metadata = {{"subject", request.task_id()}}};
  }
  lay_over(request, *spec);
  auto read = read_spec(context, caller, *spec, "", "");
  if (auto* problem = std::get_if<Problem>(&read)) return std::move(*problem);
  service::NewTask& to = std::get<service::NewTask>(read);
  card->spec = std::move(to.card->spec);
  card->spec_at = {};
  card->priority = to.spec.priority;
  card->vram = to.spec.vram;
  if (changes_limit(request)) card->run_limit = to.card->run_limit;
  to.spec.tolerated_wait =
      to.says_wait ? milliseconds(spec->tolerated_wait_ms()) : Duration::forever();
  if (card->deadline != Time::never()) {
    to.spec.tolerated_wait = std::min(to.spec.tolerated_wait, card->deadline - card->submitted);
  }
  to.card = std::move(card);
  return std::move(to);
}

}  // namespace

void Handlers::control(service::Control what, Fail fail, Then then) {
  service::ControlCommand command;
  command.what = std::move(what);
  command.done = [self = shared_from_this(), fail, then](const service::ControlOutcome& outcome) {
    self->context_.replies.post([self, fail, then, outcome] {
      if (outcome.kind == service::ControlOutcome::Kind::done) return then(outcome);
      const Time now = self->context_.now();
      fail(self->context_.service.view().read(
          [&](const service::Board& board) { return problem_of(outcome, board, now); }));
    });
  };
  if (!context_.service.offer(std::move(command))) fail(not_taken(context_));
}

template <class Response>
void Handlers::control_and_answer(service::Control what, Reply<Response> reply) {
  control(
      std::move(what), [reply](Problem&& problem) { reply(std::move(problem)); },
      [reply](const service::ControlOutcome&) { reply(Response{}); });
}

// ---- Cancel -------------------------------------------------------------------------------------

struct Handlers::Cancelling {
  std::vector<TaskNo> tasks;
  std::size_t sent = 0;
  int retries = 0;
  v1::CancelTaskResponse response;
  Reply<v1::CancelTaskResponse> reply;
};

void Handlers::cancel_task(const Caller& caller, const v1::CancelTaskRequest& request,
                           Reply<v1::CancelTaskResponse> reply) {
  const int ways = (request.task_id().empty() ? 0 : 1) + (request.group().empty() ? 0 : 1) +
                   (is_empty(request.filter()) ? 0 : 1);
  if (ways != 1) {
    return reply(bad_field("task_id", "give one of task_id, group and filter, and only one"));
  }
  const auto cancelling = std::make_shared<Cancelling>();
  cancelling->reply = std::move(reply);
  if (!request.task_id().empty()) {
    auto found =
        find_task(context_, caller, {.task_id = request.task_id(), .user_id = request.user_id()});
    // One that has ended is matched and left as it is, so that asking twice does no harm.
    if (const auto* task = std::get_if<FoundTask>(&found)) {
      cancelling->response.set_matched(1);
      if (task->live) cancelling->tasks.push_back(TaskNo{task->status.task_no()});
    } else if (const auto array =
                   find_array(context_, caller, request.task_id(), request.user_id())) {
      cancelling->tasks = live_tasks_of(context_, *array);
      cancelling->response.set_matched(cancelling->tasks.size());
    } else {
      return cancelling->reply(std::move(std::get<Problem>(found)));
    }
  } else {
    v1::TaskFilter filter = request.filter();
    if (!request.group().empty()) filter.set_group(request.group());
    if (filter.user_id().empty()) filter.set_user_id(request.user_id());
    auto tenant = tenant_in_filter(context_, caller, filter);
    if (auto* problem = std::get_if<Problem>(&tenant)) {
      return cancelling->reply(std::move(*problem));
    }
    filter.set_user_id(std::get<std::string>(tenant));
    cancelling->tasks = collect(filter);
    cancelling->response.set_matched(cancelling->tasks.size());
  }
  if (request.dry_run()) return cancelling->reply(std::move(cancelling->response));
  cancel_next(cancelling);
}

std::vector<TaskNo> Handlers::collect(const v1::TaskFilter& filter) {
  const TaskMatcher matcher(filter, filter.user_id());
  std::vector<TaskNo> tasks;
  TaskNo first{0};
  while (first) {
    first = context_.service.view().read([&](const service::Board& board) {
      TaskNo next;
      std::size_t visited = 0;
      board.tasks().each_from(first, [&](const service::TaskLine& line) {
        if (visited++ == kVisitedAtOnce) {
          next = line.card->task;
          return false;
        }
        if (!line.end && matcher.matches(*line.card, line.state, board.names())) {
          tasks.push_back(line.card->task);
        }
        return true;
      });
      return next;
    });
  }
  return tasks;
}

// A part at a time, the next when the last is done, so that a large cancel leaves room for others.
void Handlers::cancel_next(const std::shared_ptr<Cancelling>& cancelling) {
  auto& work = *cancelling;
  if (work.sent == work.tasks.size()) return work.reply(std::move(work.response));
  const std::size_t count = std::min(kCancelledAtOnce, work.tasks.size() - work.sent);
  const auto begin = work.tasks.begin() + static_cast<std::ptrdiff_t>(work.sent);
  service::CancelTasks part{{begin, begin + static_cast<std::ptrdiff_t>(count)}};
  control(
      std::move(part),
      [this, cancelling](Problem&& problem) {
        if (problem.reason == "unknown_task") {  // it has ended in the meantime
          return cancelling->reply(std::move(cancelling->response));
        }
        const bool begun = cancelling->sent > 0;
        if (!begun || problem.reason != "server_busy" || ++cancelling->retries > kRetriesMax) {
          return cancelling->reply(std::move(problem));
        }
        context_.replies.after(kRetryFullRing, [this, cancelling] { cancel_next(cancelling); });
      },
      [this, cancelling, count](const service::ControlOutcome& outcome) {
        cancelling->sent += count;
        cancelling->retries = 0;
        cancelling->response.set_cancelled(cancelling->response.cancelled() + outcome.count);
        cancelling->response.set_stopping(cancelling->response.stopping() + outcome.stopping);
        cancel_next(cancelling);
      });
}

// ---- One task, one signal -----------------------------------------------------------------------

// The task as it shall be is read like one that is submitted.
void Handlers::update_task(const Caller& caller, const v1::UpdateTaskRequest& request,
                           Reply<v1::UpdateTaskResponse> reply) {
  auto task = find_live(context_, caller, request.task_id(), request.user_id());
  if (auto* problem = std::get_if<Problem>(&task)) return reply(std::move(*problem));
  const TaskNo number = std::get<TaskNo>(task);
  auto to = read_change(context_, caller, number, request);
  if (auto* problem = std::get_if<Problem>(&to)) return reply(std::move(*problem));
  control(
      service::ChangeTask{number, std::move(std::get<service::NewTask>(to)),
                          request.has_gpu_memory_mb(), request.has_tolerated_wait_ms(),
                          changes_limit(request)},
      [reply](Problem&& problem) { reply(std::move(problem)); },
      [self = shared_from_this(), caller, request, reply](const service::ControlOutcome&) {
        auto found = find_task(self->context_, caller,
                               {.task_id = request.task_id(), .user_id = request.user_id()});
        if (auto* problem = std::get_if<Problem>(&found)) return reply(std::move(*problem));
        v1::UpdateTaskResponse response;
        *response.mutable_status() = std::move(std::get<FoundTask>(found).status);
        reply(std::move(response));
      });
}

void Handlers::hold_task(const Caller& caller, const v1::HoldTaskRequest& request,
                         Reply<v1::HoldTaskResponse> reply) {
  auto task = find_live(context_, caller, request.task_id(), request.user_id());
  if (auto* problem = std::get_if<Problem>(&task)) return reply(std::move(*problem));
  control_and_answer(service::HoldTask{std::get<TaskNo>(task)}, std::move(reply));
}

void Handlers::release_task(const Caller& caller, const v1::ReleaseTaskRequest& request,
                            Reply<v1::ReleaseTaskResponse> reply) {
  auto task = find_live(context_, caller, request.task_id(), request.user_id());
  if (auto* problem = std::get_if<Problem>(&task)) return reply(std::move(*problem));
  control_and_answer(service::ReleaseTask{std::get<TaskNo>(task)}, std::move(reply));
}

void Handlers::resolve_dependency(const Caller& caller, const v1::ResolveDependencyRequest& request,
                                  Reply<v1::ResolveDependencyResponse> reply) {
  if (std::string flaw = flaw_in_name(request.signal()); !flaw.empty()) {
    return reply(bad_field("signal", std::move(flaw)));
  }
  auto tenant = tenant_of(caller, request.user_id());
  if (auto* problem = std::get_if<Problem>(&tenant)) return reply(std::move(*problem));
  control(
      service::ResolveSignal{std::get<std::string>(tenant), request.signal()},
      [reply](Problem&& problem) { reply(std::move(problem)); },
      [reply](const service::ControlOutcome& outcome) {
        v1::ResolveDependencyResponse response;
        response.set_released(outcome.count);
        reply(std::move(response));
      });
}

// A token is the place of the last signal of a page: the number of its tenant and its name.
void Handlers::list_signals(const Caller& caller, const v1::ListSignalsRequest& request,
                            Reply<v1::ListSignalsResponse> reply) {
  if (request.page_size() < 0) return reply(bad_field("page_size", "must not be negative"));
  service::ReadSignals wanted;
  if (!request.user_id().empty() || !sees_all(caller)) {
    auto tenant = tenant_of(caller, request.user_id());
    if (auto* problem = std::get_if<Problem>(&tenant)) return reply(std::move(*problem));
    wanted.tenant = std::get<std::string>(tenant);
  }
  wanted.most = kPageDefault;
  if (request.page_size() > 0) {
    wanted.most = static_cast<std::size_t>(std::min(request.page_size(), kPageMax));
  }
  if (const std::string& token = request.page_token(); !token.empty()) {
    const char* end = token.data() + token.size();
    TenantId tenant;
    const auto read = std::from_chars(token.data(), end, tenant.value);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != '/') {
      return reply(bad_field("page_token", "is not one of this question; ask for the first page"));
    }
    wanted.after = {tenant, std::string(read.ptr + 1, end)};
  }
  control(
      std::move(wanted), [reply](Problem&& problem) { reply(std::move(problem)); },
      [this, reply](const service::ControlOutcome& outcome) {
        v1::ListSignalsResponse response;
        context_.service.view().read([&](const service::Board& board) {
          for (const service::SignalLine& line : outcome.signals.signals) {
            v1::Signal& signal = *response.add_signals();
            signal.set_name(line.name);
            signal.set_user_id(board.names().tenants()[line.tenant.value].name);
            signal.set_given(line.given);
            signal.set_waiters(line.waiters);
            if (line.since != Time::never()) signal.set_since_unix_ms(unix_ms(line.since, board));
          }
        });
        if (outcome.signals.more) {
          const service::SignalLine& last = outcome.signals.signals.back();
          response.set_next_page_token(std::to_string(last.tenant.value) + "/" + last.name);
        }
        reply(std::move(response));
      });
}

void Handlers::reset_signal(const Caller& caller, const v1::ResetSignalRequest& request,
                            Reply<v1::ResetSignalResponse> reply) {
  if (std::string flaw = flaw_in_name(request.signal()); !flaw.empty()) {
    return reply(bad_field("signal", std::move(flaw)));
  }
  auto tenant = tenant_of(caller, request.user_id());
  if (auto* problem = std::get_if<Problem>(&tenant)) return reply(std::move(*problem));
  control_and_answer(service::ResetSignal{std::get<std::string>(tenant), request.signal()},
                     std::move(reply));
}

// ---- GPUs, queues, tenants ----------------------------------------------------------------------

void Handlers::drain_gpu(const Caller&, const v1::DrainGPURequest& request,
                         Reply<v1::DrainGPUResponse> reply) {
  control_and_answer(service::SetGpuDraining{request.gpu(), true}, std::move(reply));
}

void Handlers::resume_gpu(const Caller&, const v1::ResumeGPURequest& request,
                          Reply<v1::ResumeGPUResponse> reply) {
  control_and_answer(service::SetGpuDraining{request.gpu(), false}, std::move(reply));
}

void Handlers::pause(const Caller&, const v1::PauseRequest& request,
                     Reply<v1::PauseResponse> reply) {
  const bool queue = !request.task_type().empty();
  if (queue == !request.user_id().empty()) {
    return reply(bad_field("task_type", "give one of task_type and user_id, and only one"));
  }
  if (!queue && request.drain()) return reply(bad_field("drain", "is for queues"));
  if (!queue) {
    return control_and_answer(service::SetTenantPaused{request.user_id(), true}, std::move(reply));
  }
  if (request.drain()) {
    return control_and_answer(service::SetQueueDraining{request.task_type(), true},
                              std::move(reply));
  }
  control_and_answer(service::SetQueuePaused{request.task_type(), true}, std::move(reply));
}

void Handlers::resume(const Caller&, const v1::ResumeRequest& request,
                      Reply<v1::ResumeResponse> reply) {
  const bool queue = !request.task_type().empty();
  if (queue == !request.user_id().empty()) {
    return reply(bad_field("task_type", "give one of task_type and user_id, and only one"));
  }
  if (queue) {
    return control_and_answer(service::SetQueuePaused{request.task_type(), false},
                              std::move(reply));
  }
  control_and_answer(service::SetTenantPaused{request.user_id(), false}, std::move(reply));
}

}  // namespace berth::api
