// berth tasks, status, explain: what is known of tasks.
#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/needs_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/task_end.h"
#include "cli/task_filter.h"
#include "cli/task_listing.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

constexpr std::int32_t kPageSize = 1000;
constexpr std::int64_t kDefaultLimit = 100;
constexpr int kExplainedMax = 20;  // tasks of a list for which the engine is asked

constexpr std::array kTasksFlags = {
    kTenantFlag,
    kQueueFlag,
    kGroupFlag,
    kStateFlag,
    kLabelFlag,
    Flag{"--all", "", "show ended tasks too, newest first"},
    Flag{"--unfold", "", "list each task of an array; without it an array is one line"},
    Flag{"--limit", "N", "show at most N tasks (default 100)"},
};
constexpr std::array kTenantOfId = {
    Flag{"--tenant", "TENANT", "the tenant of the task (default: the token's, or \"default\")"},
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

// What only the engine knows of a task that has not started. Without an answer the status stays as
// it is. False: the engine cannot be asked.
bool add_explanation(Session& session, v1::TaskStatus& task) {
  v1::ExplainTaskRequest request;
  request.set_task_id("t-" + std::to_string(task.task_no()));
  request.set_user_id(task.user_id());
  auto answer = session.client().explain(request);
  if (!answer) return answer.failure().code == grpc::StatusCode::NOT_FOUND;
  if (answer->status().state() != task.state()) return true;
  v1::TaskStatus& known = *answer->mutable_status();
  if (known.has_reason()) task.mutable_reason()->Swap(known.mutable_reason());
  if (known.has_position()) task.set_position(known.position());
  task.set_expected_start_unix_ms(known.expected_start_unix_ms());
  return true;
}

bool waits_to_start(const v1::TaskStatus& task) {
  if (task.has_array()) return false;  // its tasks wait, each for its own reason
  return task.state() == v1::WAITING || task.state() == v1::PENDING;
}

// A list has the last reason that was recorded; of the first pending tasks it tells the real one.
// Why a task waits is recorded when it begins to.
void explain_first(Session& session, v1::ListTasksResponse& list) {
  int asked = 0;
  for (v1::TaskStatus& task : *list.mutable_tasks()) {
    const bool is_known = task.state() == v1::WAITING && task.has_reason();
    if (!waits_to_start(task) || is_known) continue;
    if (++asked > kExplainedMax || !add_explanation(session, task)) return;
  }
}

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
  request.set_fold_arrays(!values.has("--unfold"));
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
  if (session->format() != Format::name) {
    explain_first(*session, all);
  } else {
    for (v1::TaskStatus& task : *all.mutable_tasks())  // a name is what other commands take
      if (task.has_array()) task.mutable_array()->clear_indices();
  }
  Listing listing = list_of(all, session->now_unix_ms());
  code = session->show(all, listing);
  if (code != kOk || !session->as_table()) return code;
  if (!all.next_page_token().empty())
    session->say("there are more tasks: raise --limit, or choose with --state, --queue, …");
  if (all.tasks().empty())
    session->say(request.ended() ? "no task matches"
                                 : "no live task matches; --all shows ended ones");
  return kOk;
}

std::string instant_and_age(std::int64_t unix_ms, std::int64_t now) {
  if (unix_ms == 0) return {};
  const bool future = unix_ms > now;
  return instant_text(unix_ms) + (future ? " (in " + time_text(unix_ms - now) + ")"
                                         : " (" + age_text(now - unix_ms) + " ago)");
}

Facts facts_of_array(const v1::TaskStatus& array, std::int64_t now) {
  Facts facts;
  facts.add("array", shown_id(array));
  facts.add("tenant", array.user_id());
  facts.add("queue", array.task_type());
  facts.add("state", state_cell_of(array));
  facts.add("tasks", std::to_string(array.array().tasks()) + ": " + counts_text(array.array()));
  facts.add("tier", std::to_string(array.tier()));
  facts.add("priority", std::to_string(array.priority()));
  facts.add("vram", vram_or_nothing(array.gpu_memory_mb()));
  facts.add("submitted", instant_and_age(array.submitted_unix_ms(), now));
  facts.add("ended", instant_and_age(array.ended_unix_ms(), now));
  return facts;
}

Facts facts_of(const v1::TaskStatus& task, std::int64_t now) {
  if (task.has_array()) return facts_of_array(task, now);
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
  if (const auto ran = ran_ms(task, now)) facts.add("ran", time_text(*ran));
  for (const auto& [key, value] : std::map(task.labels().begin(), task.labels().end()))
    facts.add("label", std::string(key).append("=").append(value));
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
  if (waits_to_start(*task)) add_explanation(*session, *task);
  if (session->as_document()) {
    session->print_document(*task);
  } else if (session->format() == Format::name) {
    call.console.out << harmless(task->task_id()) << "\n";
  } else {
    facts_of(*task, session->now_unix_ms()).print(call.console.out, session->look());
    if (task->has_array())
      session->say("next: berth tasks --unfold --all --group " + shell_word(id) +
                   tenant_words(call));
    else if (is_held_by_server(*task))
      session->say("next: berth release " + shell_word(id) + tenant_words(call) +
                   " lets it start again");
    else if (waits_to_start(*task))
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
      out << "Nothing is in its way: it starts next.\n";
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
    out << "Ahead of it: " << plural(answer.ahead_in_flow(), "task") << " of its tenant.";
    if (answer.status().has_position())
      out << " It is number " << answer.status().position() << " of " << answer.ahead_in_queue() + 1
          << " in its queue.";
    out << "\n";
  }
  if (!answer.holder_gpu().empty()) {
    out << "It can move on when the work on " << harmless(answer.holder_gpu()) << " ends";
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
  if (session->as_document()) {
    session->print_document(*answer);
  } else if (session->format() == Format::name) {
    for (const v1::Reason& reason : answer->binding())
      call.console.out << reason.code() << "\n";
  } else {
    print_explanation(*answer, session->now_unix_ms(), call.console.out);
  }
  return kOk;
}

constexpr std::array kTaskCommands = {
    Command{
        .name = "tasks",
        .group = Group::work,
        .summary = "list tasks, and say why each of them waits or did not complete",
        .usage = "[OPTIONS]",
        .run = run_tasks,
        .reach = Reach::server,
        .flags = kTasksFlags,
        .description =
            "Shows your tenant's tasks; the tasks of all tenants to an administrator or a reader,\n"
            "and to everybody where the server asks for no tokens. Of the first 20 pending tasks\n"
            "it says why they wait now; of the others, what was last recorded. --sort sorts what\n"
            "--limit lets through.\n"
            "\n"
            "An array is one line, with the number of its tasks in each state; -o json and yaml\n"
            "have it as one task whose field 'array' has these numbers, -o name its id. --unfold\n"
            "lists each of its tasks instead.",
        .examples = kTasksExamples,
        .shows = Shows::list},
    Command{.name = "status",
            .group = Group::work,
            .summary = "show one task, its times and its attempts",
            .usage = "ID [OPTIONS]",
            .run = run_status,
            .reach = Reach::server,
            .flags = kTenantOfId,
            .positional = kId,
            .description = "The id of an array shows how many of its tasks are in which state.",
            .examples = kStatusExamples,
            .shows = Shows::one},
    Command{.name = "explain",
            .group = Group::work,
            .summary = "say why a task does not run; the nearest obstacle comes first",
            .usage = "ID [OPTIONS]",
            .run = run_explain,
            .reach = Reach::server,
            .flags = kTenantOfId,
            .positional = kId,
            .description = "With -o name it prints only the names of the reasons.",
            .examples = kExplainExamples,
            .shows = Shows::one},
};

}  // namespace

std::span<const Command> task_commands() { return kTaskCommands; }

}  // namespace berth::cli
