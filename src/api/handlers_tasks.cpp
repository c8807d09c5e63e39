// Reads of tasks: status, list, explanation, events, output.
#include <charconv>
#include <vector>

#include "api/arrays.h"
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

// A page of a list as it is filled. Of an array that is to be folded it takes a task in its place,
// and goes on behind the array.
class PageFiller {
 public:
  PageFiller(const ApiContext& context, const v1::ListTasksRequest& request, std::string tenant,
             bool sees_all)
      : context_(context), request_(request), tenant_(std::move(tenant)), sees_all_(sees_all) {
    const std::int32_t size = request.page_size() == 0 ? kPageDefault : request.page_size();
    most_ = static_cast<std::size_t>(std::min(size, kPageMax));
  }

  bool is_full() const { return size() >= most_; }
  v1::ListTasksResponse& response() { return response_; }

  // The next live tasks from `first` on. Answers where to go on; 0: there are no more.
  std::uint64_t add_live(std::uint64_t first) {
    const TaskMatcher matcher(request_.filter(), tenant_);
    std::size_t visited = 0;
    for (std::uint64_t next = first;;) {
      std::optional<FoundArray> array;
      const std::uint64_t stopped_at =
          context_.service.view().read([&](const service::Board& board) {
            std::uint64_t at = 0;
            board.tasks().each_from(TaskNo{next}, [&](const service::TaskLine& line) {
              if (array || is_full() || visited >= kVisitedMax) {
                at = line.card->task.value;
                return false;
              }
              ++visited;
              if (!matcher.matches(*line.card, line.state, board.names())) return true;
              fill_status(*response_.add_tasks(), line, {.sees_all = sees_all_}, board);
              array = array_of(line, board);
              return true;
            });
            return at;
          });
      if (array) fold_last(*array);
      if (stopped_at == 0) return 0;
      next = array ? std::max(stopped_at, behind(*array)) : stopped_at;
      if (!array) return next;
    }
  }

  // The next ended ones below this number; 0: from the newest. As above, or an error.
  Result<std::uint64_t> add_ended(std::uint64_t below) {
    for (;;) {
      Result<EndedPage> page =
          list_ended(context_, request_.filter(), tenant_, below, most_ - size());
      if (!page) return page.error();
      std::optional<FoundArray> array;
      for (v1::TaskStatus& task : page->tasks) {
        *response_.add_tasks() = std::move(task);
        array = array_of(response_.tasks().rbegin()[0]);
        if (array) break;
      }
      if (!array) return page->next;
      fold_last(*array);
      // One that goes on stands among those.
      const v1::TaskStatus& whole = response_.tasks().rbegin()[0];
      if (whole.state() < v1::COMPLETED && wants_live(request_.filter())) {
        response_.mutable_tasks()->RemoveLast();
      }
      below = array->tasks.first.value;
      if (below == 0 || is_full()) return below;
    }
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(response_.tasks_size()); }
  static std::uint64_t behind(const FoundArray& array) {
    return array.tasks.first.value + array.tasks.count;
  }

  std::optional<FoundArray> array_of(const service::TaskLine& line, const service::Board& board) {
    const service::TaskCard& card = *line.card;
    if (!request_.fold_arrays() || card.group_name.empty()) return std::nullopt;
    FoundArray found{card.group_name, {}, board.names().array(card.tenant, card.group_name)};
    if (!found.tasks || !found.tasks.has(card.task)) return std::nullopt;
    found.tenant = board.names().tenants()[card.tenant.value].name;
    return found;
  }
  std::optional<FoundArray> array_of(const v1::TaskStatus& task) {
    if (!request_.fold_arrays() || task.group().empty()) return std::nullopt;
    const auto found = find_array(context_, task.user_id(), task.group());
    const bool is_of_it = found && found->tasks.has(TaskNo{task.task_no()});
    return is_of_it ? found : std::nullopt;
  }
  // Where its other tasks cannot be read, the one stays that was.
  void fold_last(const FoundArray& array) {
    auto status = array_status(context_, array);
    if (status && *status) response_.mutable_tasks()->rbegin()[0] = std::move(**status);
  }

  const ApiContext& context_;
  const v1::ListTasksRequest& request_;
  const std::string tenant_;
  const bool sees_all_;
  std::size_t most_ = 0;
  v1::ListTasksResponse response_;
};

}  // namespace

void Handlers::get_task_status(const Caller& caller, const v1::GetTaskStatusRequest& request,
                               Reply<v1::TaskStatus> reply) {
  auto found = find_task(context_, caller,
                         {.task_id = request.task_id(),
                          .user_id = request.user_id(),
                          .with_spec = request.with_spec(),
                          .with_history = request.with_history()});
  auto* problem = std::get_if<Problem>(&found);
  if (problem == nullptr) return reply(std::move(std::get<FoundTask>(found).status));
  const auto array = find_array(context_, caller, request.task_id(), request.user_id());
  if (!array) return reply(std::move(*problem));
  auto status = array_status(context_, *array);
  if (!status) return reply(damaged_history(status.error()));
  if (!*status) return reply(std::move(*problem));
  reply(std::move(**status));
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
  const std::uint64_t question = digest_of(request);
  Cursor cursor{.ended = !wants_live(request.filter()), .question = question};
  if (!request.page_token().empty()) {
    const auto given = cursor_of(request.page_token());
    if (!given || given->question != question) {
      return reply(bad_field("page_token", "is not one of this question; ask for the first page"));
    }
    cursor = *given;
  }
  PageFiller page(context_, request, std::get<std::string>(tenant), sees_all(caller));
  v1::ListTasksResponse& response = page.response();
  if (!cursor.ended) {
    if (const std::uint64_t next = page.add_live(cursor.number); next != 0) {
      response.set_next_page_token(token_of({false, next, question}));
      return reply(std::move(response));
    }
    cursor = {true, 0, question};
  }
  if (wants_ended(request)) {
    if (page.is_full()) {
      response.set_next_page_token(token_of(cursor));
      return reply(std::move(response));
    }
    const Result<std::uint64_t> next = page.add_ended(cursor.number);
    if (!next) return reply(damaged_history(next.error()));
    if (*next != 0) response.set_next_page_token(token_of({true, *next, question}));
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
