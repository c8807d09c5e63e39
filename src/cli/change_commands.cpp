// berth cancel, hold, release, resolve: what changes the course of tasks.
#include <array>
#include <string>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/task_filter.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

constexpr std::array kCancelFlags = {
    kTenantFlag,
    kQueueFlag,
    kGroupFlag,
    kStateFlag,
    kLabelFlag,
    Flag{"--yes", "", "do not ask; needed for more than one task where nobody can be asked"},
    Flag{"--dry-run", "", "only say how many it would be"},
};
constexpr std::array kTenantOfId = {
    Flag{"--tenant", "TENANT", "whose tasks they are (default: the token's)"},
};
constexpr std::array kTenantOfSignal = {
    Flag{"--tenant", "TENANT", "whose signal it is (default: the token's)"},
};
constexpr std::array kIds = {
    Positional{"ID", "a task's id; t-123 is the task numbered 123", true, true}};
constexpr std::array kAnyIds = {
    Positional{"ID", "a task's id; t-123 is the task numbered 123", false, true}};
constexpr std::array kSignal = {Positional{"SIGNAL", "the NAME of a dependency \"signal:NAME\""}};

constexpr std::array<std::string_view, 3> kCancelExamples = {
    "berth cancel train-1",
    "berth cancel --group night",
    "berth cancel --queue llm --state pending --yes",
};
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
                      " would be cancelled; nothing was done. Say --yes to do it.",
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
    const int ended = answer ? kOk : session.fail(verb + " task " + id, answer.failure());
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
  if (session.format() == Format::json)
    session.print_json(sum);
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
  if (session.format() == Format::json)
    session.print_json(*answer);
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
  if (session->format() == Format::json)
    session->print_json(*answer);
  else
    session->say("resolved; " + plural(answer->released(), "task") + " waited for it");
  return kOk;
}

constexpr std::array kChangeCommands = {
    Command{.name = "cancel",
            .group = Group::work,
            .summary = "end tasks by request, one or all that match",
            .usage = "ID... [OPTIONS]\n[--group GROUP] [--queue QUEUE] [--tenant TENANT] [OPTIONS]",
            .run = run_cancel,
            .reach = Reach::server,
            .flags = kCancelFlags,
            .positional = kAnyIds,
            .description =
                "Says how many tasks match, and asks before it cancels more than one. Running\n"
                "tasks get their stop signal and end when their agent says so.",
            .examples = kCancelExamples},
    Command{.name = "hold",
            .group = Group::work,
            .summary = "keep tasks that have not started from starting",
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
