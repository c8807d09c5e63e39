// Reads of tasks: status, list, explanation, events, output.
#include <charconv>

#include "api/ended_tasks.h"
#include "api/event_source.h"
#include "api/handlers.h"
#include "api/log_source.h"
#include "api/outcomes.h"
#include "api/task_finder.h"
#include "api/task_status.h"
#include "journal/running_hash.h"

namespace berth::api {
namespace {

constexpr std::size_t kVisitedMax = 20'000;

// What the engine says of a task that has not started.
void add_explanation(v1::TaskStatus& status, const core::Explanation& why,
                     const service::ReasonFor& whom, const service::Board& board) {
  if (!why.binding.empty())
    *status.mutable_reason() = reason_message(why.binding.front(), board, whom);
  if (why.position) status.set_position(*why.position);
  if (why.start) status.set_expected_start_unix_ms(unix_ms(why.start->likely, board));
}

v1::ExplainTaskResponse explanation_message(v1::TaskStatus status, const core::Explanation& why,
                                            const service::ReasonFor& whom,
                                            const service::Board& board) {
  v1::ExplainTaskResponse response;
  add_explanation(status, why, whom, board);
  for (const core::Reason& reason : why.binding)
    *response.add_binding() = reason_message(reason, board, whom);
  *response.mutable_status() = std::move(status);
  response.set_ahead_in_flow(why.ahead_in_flow);
  response.set_ahead_in_queue(why.ahead_in_queue);
  if (why.holder) {
    const auto& gpus = board.names().gpus();
    if (why.holder->gpu.value < gpus.size()) {
      response.set_holder_gpu(gpus[why.holder->gpu.value].name);
    }
    if (why.holder->expected_end != Time::never()) {
      response.set_holder_ends_unix_ms(unix_ms(why.holder->expected_end, board));
    }
  }
  if (why.start) {
    response.set_expected_start_unix_ms(unix_ms(why.start->likely, board));
    response.set_earliest_start_unix_ms(unix_ms(why.start->low, board));
    response.set_latest_start_unix_ms(unix_ms(why.start->high, board));
  }
  return response;
}

// ---- Pages --------------------------------------------------------------------------------------

// Where a page ended: among live tasks (upwards) or ended ones (downwards), for which question.
struct Cursor {
  bool ended = false;
  std::uint64_t number = 0;
  std::uint64_t question = 0;
};

std::uint64_t digest_of(const v1::ListTasksRequest& request) {
  v1::ListTasksRequest question = request;
  question.clear_page_token();
  question.clear_page_size();
  const std::string bytes = question.SerializeAsString();
  return journal::hash_bytes(std::as_bytes(std::span(bytes)));
}

std::string token_of(const Cursor& cursor) {
  return std::string(cursor.ended ? "e" : "l") + std::to_string(cursor.number) + "." +
         std::to_string(cursor.question);
}

std::optional<Cursor> cursor_of(const std::string& token) {
  if (token.empty() || (token[0] != 'l' && token[0] != 'e')) return std::nullopt;
  Cursor cursor{.ended = token[0] == 'e'};
  const char* end = token.data() + token.size();
  const auto number = std::from_chars(token.data() + 1, end, cursor.number);
  if (number.ec != std::errc{} || number.ptr == end || *number.ptr != '.') return std::nullopt;
  const auto question = std::from_chars(number.ptr + 1, end, cursor.question);
  if (question.ec != std::errc{} || question.ptr != end) return std::nullopt;
  return cursor;
}

bool wants_live(const v1::TaskFilter& filter) {
  if (filter.states().empty()) return true;
  return std::ranges::any_of(filter.states(), [](int state) { return state < v1::COMPLETED; });
}
bool wants_ended(const v1::ListTasksRequest& request) {
  if (request.ended()) return true;
  return std::ranges::any_of(request.filter().states(),
                             [](int state) { return state >= v1::COMPLETED; });
}

// The next live tasks from `first` on. Answers where to go on; 0: there are no more.
std::uint64_t list_live(const ApiContext& context, const TaskMatcher& matcher, bool sees_all,
                        std::uint64_t first, std::size_t most, v1::ListTasksResponse& response) {
  return context.service.view().read([&](const service::Board& board) {
    std::uint64_t next = 0;
    std::size_t visited = 0;
    board.tasks().each_from(TaskNo{first}, [&](const service::TaskLine& line) {
      if (static_cast<std::size_t>(response.tasks_size()) >= most || visited >= kVisitedMax) {
        next = line.card->task.value;
        return false;
      }
      ++visited;
      if (matcher.matches(*line.card, line.state, board.names())) {
        fill_status(*response.add_tasks(), line, {.sees_all = sees_all}, board);
      }
      return true;
    });
    return next;
  });
}

}  // namespace

void Handlers::get_task_status(const Caller& caller, const v1::GetTaskStatusRequest& request,
                               Reply<v1::TaskStatus> reply) {
  auto found = find_task(context_, caller,
                         {.task_id = request.task_id(),
                          .user_id = request.user_id(),
                          .with_spec = request.with_spec(),
                          .with_history = request.with_history()});
  if (auto* problem = std::get_if<Problem>(&found)) return reply(std::move(*problem));
  reply(std::move(std::get<FoundTask>(found).status));
}

void Handlers::explain_task(const Caller& caller, const v1::ExplainTaskRequest& request,
                            Reply<v1::ExplainTaskResponse> reply) {
  auto found =
      find_task(context_, caller, {.task_id = request.task_id(), .user_id = request.user_id()});
  if (auto* problem = std::get_if<Problem>(&found)) return reply(std::move(*problem));
  auto& task = std::get<FoundTask>(found);
  const auto status = std::make_shared<v1::TaskStatus>(std::move(task.status));
  const auto answer_as_it_is = [reply, status] {
    v1::ExplainTaskResponse response;
    *response.mutable_status() = std::move(*status);
    reply(std::move(response));
  };
  if (!task.live) return answer_as_it_is();
  const service::ReasonFor whom = reader_of(*task.card, sees_all(caller));
  control(
      service::ExplainTask{TaskNo{status->task_no()}},
      [reply](Problem&& problem) { reply(std::move(problem)); },
      [this, reply, status, whom, answer_as_it_is](const service::ControlOutcome& outcome) {
        if (!outcome.explanation) return answer_as_it_is();
        reply(context_.service.view().read([&](const service::Board& board) {
          return explanation_message(std::move(*status), *outcome.explanation, whom, board);
        }));
      });
}

void Handlers::list_tasks(const Caller& caller, const v1::ListTasksRequest& request,
                          Reply<v1::ListTasksResponse> reply) {
  if (request.page_size() < 0) return reply(bad_field("page_size", "must not be negative"));
  auto tenant = tenant_in_filter(context_, caller, request.filter());
  if (auto* problem = std::get_if<Problem>(&tenant)) return reply(std::move(*problem));
  const std::string& only = std::get<std::string>(tenant);
  const std::size_t most = static_cast<std::size_t>(
      std::min(request.page_size() == 0 ? kPageDefault : request.page_size(), kPageMax));
  const std::uint64_t question = digest_of(request);
  Cursor cursor{.ended = !wants_live(request.filter()), .question = question};
  if (!request.page_token().empty()) {
    const auto given = cursor_of(request.page_token());
    if (!given || given->question != question) {
      return reply(bad_field("page_token", "is not one of this question; ask for the first page"));
    }
    cursor = *given;
  }
  v1::ListTasksResponse response;
  if (!cursor.ended) {
    const TaskMatcher matcher(request.filter(), only);
    const std::uint64_t next =
        list_live(context_, matcher, sees_all(caller), cursor.number, most, response);
    if (next != 0) {
      response.set_next_page_token(token_of({false, next, question}));
      return reply(std::move(response));
    }
    cursor = {true, 0, question};
  }
  if (wants_ended(request)) {
    const std::size_t room = most - static_cast<std::size_t>(response.tasks_size());
    if (room == 0) {
      response.set_next_page_token(token_of(cursor));
      return reply(std::move(response));
    }
    Result<EndedPage> page = list_ended(context_, request.filter(), only, cursor.number, room);
    if (!page) return reply(damaged_history(page.error()));
    for (v1::TaskStatus& status : page->tasks)
      *response.add_tasks() = std::move(status);
    if (page->next != 0) response.set_next_page_token(token_of({true, page->next, question}));
  }
  reply(std::move(response));
}

template <class Message>
SourcePtr<Message> Handlers::guarded(const Caller& caller, SourcePtr<Message> source) {
  return std::make_shared<GuardedSource<Message>>(
      context_.guards, [this, caller] { return context_.objection(caller); }, std::move(source));
}

Answer<SourcePtr<v1::TaskEvent>> Handlers::task_events(const Caller& caller,
                                                       const v1::TaskEventsRequest& request) {
  auto tenant = tenant_in_filter(context_, caller, request.filter());
  if (auto* problem = std::get_if<Problem>(&tenant)) return std::move(*problem);
  return guarded<v1::TaskEvent>(
      caller, std::make_shared<EventSource>(context_, request, std::get<std::string>(tenant),
                                            sees_all(caller)));
}

Answer<SourcePtr<v1::LogChunk>> Handlers::get_task_logs(const Caller& caller,
                                                        const v1::GetTaskLogsRequest& request) {
  if (request.stderr_only() && request.stdout_only()) {
    return bad_field("stderr_only", "not together with stdout_only");
  }
  auto found =
      find_task(context_, caller, {.task_id = request.task_id(), .user_id = request.user_id()});
  if (auto* problem = std::get_if<Problem>(&found)) return std::move(*problem);
  const v1::TaskStatus& status = std::get<FoundTask>(found).status;
  if (status.attempts() == 0 && !request.follow()) {
    return Problem{.code = Code::failed_precondition,
                   .reason = "not_started",
                   .message = "task \"" + status.task_id() + "\" has not started: no output yet",
                   .metadata = {{"subject", status.task_id()}}};
  }
  return guarded<v1::LogChunk>(caller, std::make_shared<LogSource>(context_, status, request));
}

}  // namespace berth::api
