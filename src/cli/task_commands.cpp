// berth tasks, status, explain: what is known of tasks.
#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/needs_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/task_filter.h"
#include "cli/task_listing.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

constexpr std::int32_t kPageSize = 1000;
constexpr std::int64_t kDefaultLimit = 100;

constexpr std::array kTasksFlags = {
    kTenantFlag,
    kQueueFlag,
    kGroupFlag,
    kStateFlag,
    kLabelFlag,
    Flag{"--all", "", "also tasks that have ended, newest first"},
    Flag{"--limit", "N", "show so many at most (default 100)"},
};
constexpr std::array kTenantOfId = {
    Flag{"--tenant", "TENANT", "whose task it is (default: the token's)"},
};
constexpr std::array kId = {Positional{"ID", "a task's id; t-123 is the task numbered 123"}};

constexpr std::array<std::string_view, 3> kTasksExamples = {
    "berth tasks --queue llm",
    "berth tasks --state failed --state expired -o wide",
    "berth cancel $(berth tasks --group night -o name) --yes",
};
constexpr std::array<std::string_view, 2> kStatusExamples = {"berth status train-1",
                                                             "berth status t-123 -o json"};
constexpr std::array<std::string_view, 1> kExplainExamples = {"berth explain train-1"};

int run_tasks(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  Values values(call);
  v1::ListTasksRequest request;
  *request.mutable_filter() = read_filter(call, values);
  const std::int64_t limit = values.integer("--limit", 1, 1'000'000).value_or(kDefaultLimit);
  if (!values.ok()) return values.refuse();
  request.set_ended(values.has("--all") ||
                    std::ranges::any_of(request.filter().states(), [](int state) {
                      return has_ended(static_cast<v1::TaskState>(state));
                    }));
  v1::ListTasksResponse all;
  do {
    const std::int64_t left = limit - all.tasks_size();
    request.set_page_size(static_cast<std::int32_t>(std::min<std::int64_t>(left, kPageSize)));
    request.set_page_token(all.next_page_token());
    auto page = session->client().list_tasks(request);
    if (!page) return session->fail("list the tasks", page.failure());
    all.MergeFrom(*page);
    all.set_next_page_token(page->next_page_token());
  } while (!all.next_page_token().empty() && all.tasks_size() < limit);
  session->show(all, list_of(all, session->now_unix_ms()));
  if (session->format() == Format::json || session->format() == Format::name) return kOk;
  if (!all.next_page_token().empty())
    session->say("there are more: raise --limit, or choose with --state, --queue, …");
  if (all.tasks().empty())
    session->say(request.ended() ? "no task matches" : "no live task matches; --all shows ended");
  return kOk;
}

std::string instant_and_age(std::int64_t unix_ms, std::int64_t now) {
  if (unix_ms == 0) return {};
  const bool future = unix_ms > now;
  return instant_text(unix_ms) + (future ? " (in " + time_text(unix_ms - now) + ")"
                                         : " (" + age_text(now - unix_ms) + " ago)");
}

Facts facts_of(const v1::TaskStatus& task, std::int64_t now) {
  Facts facts;
  facts.add("task", task.task_id());
  facts.add("number", std::to_string(task.task_no()));
  facts.add("tenant", task.user_id());
  facts.add("queue", task.task_type());
  facts.add("group", task.group());
  facts.add("state", state_cell_of(task));
  facts.add("reason", reason_text(task));
  if (task.has_position()) facts.add("position", std::to_string(task.position()));
  facts.add("tier", std::to_string(task.tier()));
  facts.add("priority", std::to_string(task.priority()));
  facts.add("needs", needs_text(task.spec()));
  facts.add("vram", vram_or_nothing(task.gpu_memory_mb()));
  if (const std::int64_t interval = task.spec().checkpoint_interval_ms(); interval > 0)
    facts.add("checkpoints", "every " + time_text(interval));
  if (const std::int64_t cost = task.spec().restart_cost_ms(); cost > 0)
    facts.add("restart cost", time_text(cost));
  facts.add("attempts", std::to_string(task.attempts()));
  facts.add("gpus", joined(task.gpus()));
  facts.add("submitted", instant_and_age(task.submitted_unix_ms(), now));
  facts.add("eligible", instant_and_age(task.eligible_unix_ms(), now));
  facts.add("expected start", instant_and_age(task.expected_start_unix_ms(), now));
  facts.add("started", instant_and_age(task.started_unix_ms(), now));
  facts.add("ended", instant_and_age(task.ended_unix_ms(), now));
  facts.add("ran", ran_text(task, now));
  for (const auto& [key, value] : std::map(task.labels().begin(), task.labels().end()))
    facts.add("label", key + "=" + value);
  if (has_ended(task.state()) && task.state() != v1::FAILED && task.attempts() > 0)
    facts.add("result", result_text(task.result()));
  for (const v1::Attempt& attempt : task.history()) {
    const std::int64_t end = attempt.ended_unix_ms() > 0 ? attempt.ended_unix_ms() : now;
    facts.add("attempt " + std::to_string(attempt.number()),
              "on " + joined(attempt.gpus()) + ", " + time_text(end - attempt.started_unix_ms()) +
                  (attempt.ended_unix_ms() == 0   ? ", runs"
                   : attempt.result().completed() ? ", completed"
                                                  : ", " + result_text(attempt.result())));
  }
  return facts;
}

// What only the engine knows of a task that has not started. Without an answer the status stays as
// it is.
void add_explanation(Session& session, v1::TaskStatus& task) {
  if (task.state() != v1::WAITING && task.state() != v1::PENDING) return;
  v1::ExplainTaskRequest request;
  request.set_task_id("t-" + std::to_string(task.task_no()));
  request.set_user_id(task.user_id());
  auto answer = session.client().explain(request);
  if (!answer || answer->status().state() != task.state()) return;
  v1::TaskStatus& known = *answer->mutable_status();
  if (known.has_reason()) task.mutable_reason()->Swap(known.mutable_reason());
  if (known.has_position()) task.set_position(known.position());
  task.set_expected_start_unix_ms(known.expected_start_unix_ms());
}

int run_status(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const std::string& id = call.args.positional().front();
  v1::GetTaskStatusRequest request;
  request.set_task_id(id);
  request.set_user_id(call.args.value("--tenant").value_or(""));
  request.set_with_history(true);
  request.set_with_spec(true);
  auto task = session->client().task_status(request);
  if (!task) return session->fail("show task " + id, task.failure());
  add_explanation(*session, *task);
  if (session->format() == Format::json) {
    session->print_json(*task);
  } else if (session->format() == Format::name) {
    call.console.out << harmless(task->task_id()) << "\n";
  } else {
    facts_of(*task, session->now_unix_ms()).print(call.console.out, session->look());
    if (task->state() == v1::WAITING || task->state() == v1::PENDING)
      session->say("next: berth explain " + shell_word(id) + tenant_words(call));
  }
  return kOk;
}

void print_explanation(const v1::ExplainTaskResponse& answer, std::int64_t now, std::ostream& out) {
  const v1::TaskStatus& task = answer.status();
  out << "task " << harmless(task.task_id()) << " of tenant " << harmless(task.user_id())
      << " in queue " << harmless(task.task_type()) << " is " << state_cell_of(task).text << ".\n";
  if (answer.binding().empty()) {
    const std::string why = reason_text(task);
    if (task.state() == v1::PENDING)
      out << "Nothing binds: it starts next.\n";
    else if (!why.empty())
      out << harmless(why) << "\n";
  }
  int number = 0;
  for (const v1::Reason& reason : answer.binding()) {
    out << "  " << ++number << ". " << harmless(sentence_of(reason));
    if (!reason.code().empty() && !reason.message().empty()) out << " [" << reason.code() << "]";
    if (reason.never()) out << " (waiting cannot help)";
    if (reason.retry_at_unix_ms() > now)
      out << " (until " << instant_and_age(reason.retry_at_unix_ms(), now) << ")";
    out << "\n";
  }
  if (answer.ahead_in_queue() > 0 || answer.ahead_in_flow() > 0) {
    out << "Ahead of it: " << plural(answer.ahead_in_flow(), "task") << " of its tenant, "
        << plural(answer.ahead_in_queue(), "task") << " in its queue.\n";
  }
  if (!answer.holder_gpu().empty()) {
    out << "The first help is the end of what runs on " << harmless(answer.holder_gpu());
    if (answer.holder_ends_unix_ms() > 0)
      out << ", expected " << instant_and_age(answer.holder_ends_unix_ms(), now);
    out << ".\n";
  }
  if (answer.expected_start_unix_ms() > 0) {
    out << "Expected start: " << instant_and_age(answer.expected_start_unix_ms(), now);
    if (answer.earliest_start_unix_ms() < answer.latest_start_unix_ms()) {
      out << ", between " << instant_and_age(answer.earliest_start_unix_ms(), now) << " and "
          << instant_and_age(answer.latest_start_unix_ms(), now);
    }
    out << ".\n";
  }
}

int run_explain(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const std::string& id = call.args.positional().front();
  v1::ExplainTaskRequest request;
  request.set_task_id(id);
  request.set_user_id(call.args.value("--tenant").value_or(""));
  const auto answer = session->client().explain(request);
  if (!answer) return session->fail("explain task " + id, answer.failure());
  if (session->format() == Format::json) {
    session->print_json(*answer);
  } else if (session->format() == Format::name) {
    for (const v1::Reason& reason : answer->binding())
      call.console.out << reason.code() << "\n";
  } else {
    print_explanation(*answer, session->now_unix_ms(), call.console.out);
  }
  return kOk;
}

constexpr std::array kTaskCommands = {
    Command{.name = "tasks",
            .group = Group::work,
            .summary = "list tasks, with the reason of all that do not run",
            .usage = "[OPTIONS]",
            .run = run_tasks,
            .reach = Reach::server,
            .flags = kTasksFlags,
            .examples = kTasksExamples},
    Command{.name = "status",
            .group = Group::work,
            .summary = "show one task, its times and its attempts",
            .usage = "ID [OPTIONS]",
            .run = run_status,
            .reach = Reach::server,
            .flags = kTenantOfId,
            .positional = kId,
            .examples = kStatusExamples},
    Command{.name = "explain",
            .group = Group::work,
            .summary = "say why a task does not run, nearest obstacle first",
            .usage = "ID [OPTIONS]",
            .run = run_explain,
            .reach = Reach::server,
            .flags = kTenantOfId,
            .positional = kId,
            .description = "With -o name only the names of the reasons are printed.",
            .examples = kExplainExamples},
};

}  // namespace

std::span<const Command> task_commands() { return kTaskCommands; }

}  // namespace berth::cli
