// berth cancel, update, hold, release, resolve: what changes the course of tasks.
#include <array>
#include <string>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/task_filter.h"
#include "cli/task_listing.h"
#include "cli/text.h"
#include "cli/values.h"

namespace berth::cli {
namespace {

constexpr std::array kCancelFlags = {
    kTenantFlag,
    kQueueFlag,
    kGroupFlag,
    kStateFlag,
    kLabelFlag,
    Flag{"--yes", "", "do not ask; without a terminal, several tasks need it"},
    Flag{"--dry-run", "", "only count the tasks"},
};
constexpr std::array kTenantOfId = {
    Flag{"--tenant", "TENANT", "the tenant of the tasks (default: the token's, or \"default\")"},
};
constexpr std::array kUpdateFlags = {
    Flag{"--queue", "QUEUE", "move it to this queue; it keeps its age"},
    Flag{"--priority", "N", "-32768 to 32767, higher first among its tenant's"},
    Flag{"--vram", "SIZE", "VRAM that it needs on each GPU; 0: what its model says"},
    Flag{"--run-limit", "DURATION", "stop it when it has run so long; 0s: the default"},
    Flag{"--tolerated-wait", "DURATION", "it expires when it waits longer; 0s: never"},
    Flag{"--tenant", "TENANT", "the tenant of the tasks (default: the token's, or \"default\")"},
};
constexpr std::array kTenantOfSignal = {
    Flag{"--tenant", "TENANT", "the tenant of the signal (default: the token's, or \"default\")"},
};
constexpr std::array kIds = {
    Positional{"ID", "a task's id; t-123 is the task numbered 123", true, true}};
constexpr std::array kAnyIds = {
    Positional{"ID", "a task's id; t-123 is the task numbered 123", false, true}};
constexpr std::array kSignal = {Positional{"SIGNAL", "the NAME in --depends-on signal:NAME"}};

constexpr std::array<std::string_view, 3> kCancelExamples = {
    "berth cancel train-1",
    "berth cancel --group night",
    "berth cancel --queue llm --state pending --yes",
};
constexpr std::array<std::string_view, 2> kUpdateExamples = {
    "berth update train-1 --priority 5", "berth update train-1 train-2 --queue night"};
constexpr std::array<std::string_view, 1> kHoldExamples = {"berth hold train-1 train-2"};
constexpr std::array<std::string_view, 1> kReleaseExamples = {"berth release train-1"};
constexpr std::array<std::string_view, 2> kResolveExamples = {
    "berth submit --queue llm --depends-on signal:data-ready -- ./train",
    "berth resolve data-ready"};

// Whether so many tasks may be cancelled: one always, more if --yes or a person says so.
bool is_confirmed(const Call& call, std::uint64_t count) {
  if (count <= 1 || call.args.has("--yes")) return true;
  Console& console = call.console;
  if (console.in == nullptr || !console.err_is_terminal) return false;
  console.err << "cancel " << plural(count, "task") << "? [y/N] " << std::flush;
  std::string answer;
  std::getline(*console.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int refuse_unconfirmed(const Call& call, std::uint64_t count) {
  return complain(call.console,
                  "not confirmed: " + plural(count, "task") +
                      " would be cancelled; nothing was done. Add --yes to do it.",
                  kBadInput);
}

// What was asked for, and what of it still lives through its grace.
std::string cancelled_text(const v1::CancelTaskResponse& answer) {
  std::string text = "cancelled " + plural(answer.cancelled(), "task");
  if (answer.stopping() == 0) return text;
  const bool all = answer.stopping() == answer.cancelled();
  const std::string which =
      all ? (answer.stopping() == 1 ? "it runs" : "they run")
          : std::to_string(answer.stopping()) + (answer.stopping() == 1 ? " runs" : " run");
  return text + "; " + which + " until the processes have ended";
}

// Calls `change` for each id; all are tried, and the first failure gives the exit code.
int for_each_id(Session& session, const std::string& verb, const auto& change) {
  int code = kOk;
  for (const std::string& id : session.args().positional()) {
    const auto answer = change(id);
    const int ended =
        answer ? kOk
               : session.fail(std::string(verb).append(" task ").append(id), answer.failure());
    if (code == kOk) code = ended;
    if (session.interrupted()) break;
  }
  return code;
}

int cancel_by_id(Session& session) {
  const Call& call = session.call();
  const std::size_t count = call.args.positional().size();
  const bool dry_run = call.args.has("--dry-run");
  if (!dry_run && !is_confirmed(call, count)) return refuse_unconfirmed(call, count);
  v1::CancelTaskResponse sum;
  const int code = for_each_id(session, "cancel", [&](const std::string& id) {
    v1::CancelTaskRequest request;
    request.set_task_id(id);
    request.set_user_id(call.args.value("--tenant").value_or(""));
    request.set_dry_run(dry_run);
    auto answer = session.client().cancel(request);
    if (answer) {
      sum.set_matched(sum.matched() + answer->matched());
      sum.set_cancelled(sum.cancelled() + answer->cancelled());
      sum.set_stopping(sum.stopping() + answer->stopping());
    }
    return answer;
  });
  if (session.as_document())
    session.print_document(sum);
  else if (dry_run)
    call.console.out << sum.matched() << "\n";
  else if (sum.cancelled() > 0 || code == kOk)
    session.say(cancelled_text(sum));
  return code;
}

int cancel_by_filter(Session& session, const v1::TaskFilter& filter) {
  const Call& call = session.call();
  v1::CancelTaskRequest request;
  const bool by_group_alone = !filter.group().empty() && filter.task_type().empty() &&
                              filter.states().empty() && filter.labels().empty();
  if (by_group_alone) {
    request.set_group(filter.group());
    request.set_user_id(filter.user_id());
  } else {
    *request.mutable_filter() = filter;
  }
  request.set_dry_run(true);
  auto answer = session.client().cancel(request);
  if (!answer) return session.fail("count the tasks to cancel", answer.failure());
  const std::uint64_t count = answer->matched();
  if (!call.args.has("--dry-run") && count > 0) {
    session.say(plural(count, "task") + (count == 1 ? " matches" : " match"));
    if (!is_confirmed(call, count)) return refuse_unconfirmed(call, count);
    request.set_dry_run(false);
    answer = session.client().cancel(request);
    if (!answer) return session.fail("cancel the tasks", answer.failure());
  }
  if (session.as_document())
    session.print_document(*answer);
  else if (call.args.has("--dry-run"))
    call.console.out << count << "\n";
  else if (count == 0)
    session.say("no task matches; nothing was cancelled");
  else
    session.say(cancelled_text(*answer));
  return kOk;
}

int run_cancel(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  Values values(call);
  const v1::TaskFilter filter = read_filter(call, values);
  const bool has_ids = !call.args.positional().empty();
  bool chooses = false;
  for (const std::string_view flag : {"--queue", "--group", "--state", "--label"})
    chooses = chooses || values.has(flag);
  if (has_ids && chooses) values.note("give ids, or flags that choose tasks, not both");
  if (!has_ids && !chooses && !values.has("--tenant"))
    values.note("expected an ID, or --group, --queue, --tenant, --state or --label");
  if (!values.ok()) return values.refuse();
  return has_ids ? cancel_by_id(*session) : cancel_by_filter(*session, filter);
}

template <class Request>
Request request_for(const Call& call, const std::string& id) {
  Request request;
  request.set_task_id(id);
  request.set_user_id(call.args.value("--tenant").value_or(""));
  return request;
}

int run_update(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  Values values(call);
  v1::UpdateTaskRequest change;
  if (values.has("--queue")) change.set_task_type(values.text("--queue"));
  if (const auto priority = values.integer("--priority", kPriorityMin, kPriorityMax)) {
    change.set_priority(static_cast<std::int32_t>(*priority));
  }
  if (const auto vram = values.size_mb("--vram")) change.set_gpu_memory_mb(*vram);
  if (const auto limit = values.duration_ms("--run-limit", 0)) change.set_run_limit_ms(*limit);
  if (const auto wait = values.duration_ms("--tolerated-wait", 0)) {
    change.set_tolerated_wait_ms(*wait);
  }
  if (values.ok() && change.ByteSizeLong() == 0) {
    values.note(
        "nothing to change: give --queue, --priority, --vram, --run-limit or "
        "--tolerated-wait");
  }
  if (!values.ok()) return values.refuse();
  v1::ListTasksResponse updated;
  code = for_each_id(*session, "update", [&](const std::string& id) {
    v1::UpdateTaskRequest request = change;
    request.set_task_id(id);
    request.set_user_id(call.args.value("--tenant").value_or(""));
    auto answer = session->client().update(request);
    if (answer) *updated.add_tasks() = answer->status();
    return answer;
  });
  if (!session->as_table()) {
    Listing listing = list_of(updated, session->now_unix_ms());
    const int shown = session->show(updated, listing);
    return code == kOk ? shown : code;
  }
  if (code == kOk)
    session->say("updated; next: berth status " + shell_word(call.args.positional().front()) +
                 tenant_words(call));
  return code;
}

int run_hold(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  code = for_each_id(*session, "hold", [&](const std::string& id) {
    return session->client().hold(request_for<v1::HoldTaskRequest>(call, id));
  });
  if (code == kOk)
    session->say("held; next: berth release " + shell_word(call.args.positional().front()) +
                 tenant_words(call));
  return code;
}

int run_release(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  code = for_each_id(*session, "release", [&](const std::string& id) {
    return session->client().release(request_for<v1::ReleaseTaskRequest>(call, id));
  });
  if (code == kOk)
    session->say("released; next: berth status " + shell_word(call.args.positional().front()) +
                 tenant_words(call));
  return code;
}

int run_resolve(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const std::string& signal = call.args.positional().front();
  v1::ResolveDependencyRequest request;
  request.set_signal(signal);
  request.set_user_id(call.args.value("--tenant").value_or(""));
  const auto answer = session->client().resolve(request);
  if (!answer) return session->fail("resolve signal " + signal, answer.failure());
  if (session->as_document())
    session->print_document(*answer);
  else
    session->say("resolved; " + plural(answer->released(), "task") + " waited for it");
  return kOk;
}

constexpr std::array kChangeCommands = {
    Command{
        .name = "cancel",
        .group = Group::work,
        .summary = "cancel tasks: by their ids, or all that match",
        .usage = "ID... [OPTIONS]\n[--group GROUP] [--queue QUEUE] [--tenant TENANT] [OPTIONS]",
        .run = run_cancel,
        .reach = Reach::server,
        .flags = kCancelFlags,
        .positional = kAnyIds,
        .description =
            "Says how many tasks match, and asks before it cancels more than one. A running task\n"
            "gets its stop signal; it ends when its processes have ended. The id of an array\n"
            "stands for all its tasks.",
        .examples = kCancelExamples},
    Command{.name = "update",
            .group = Group::work,
            .summary = "change tasks that have not started",
            .usage = "ID... [OPTIONS]",
            .run = run_update,
            .reach = Reach::server,
            .flags = kUpdateFlags,
            .positional = kIds,
            .description =
                "What you do not name stays as it is. With -o json or yaml it prints the\n"
                "tasks as they are now, as 'berth tasks' does.",
            .examples = kUpdateExamples},
    Command{.name = "hold",
            .group = Group::work,
            .summary = "hold tasks: they do not start until they are released",
            .usage = "ID... [OPTIONS]",
            .run = run_hold,
            .reach = Reach::server,
            .flags = kTenantOfId,
            .positional = kIds,
            .examples = kHoldExamples},
    Command{.name = "release",
            .group = Group::work,
            .summary = "let held tasks start",
            .usage = "ID... [OPTIONS]",
            .run = run_release,
            .reach = Reach::server,
            .flags = kTenantOfId,
            .positional = kIds,
            .examples = kReleaseExamples},
    Command{.name = "resolve",
            .group = Group::work,
            .summary = "give the signal that tasks wait for",
            .usage = "SIGNAL [OPTIONS]",
            .run = run_resolve,
            .reach = Reach::server,
            .flags = kTenantOfSignal,
            .positional = kSignal,
            .examples = kResolveExamples},
};

}  // namespace

std::span<const Command> change_commands() { return kChangeCommands; }

}  // namespace berth::cli
