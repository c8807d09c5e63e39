// berth events, logs: what happens to tasks, and what they write.
#include <array>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/task_filter.h"
#include "cli/text.h"
#include "cli/watch.h"

namespace berth::cli {
namespace {

using client::Next;

constexpr std::array kEventsFlags = {
    Flag{"--follow", "", "then go on with what happens, until Ctrl-C"},
    Flag{"--watch", "", "the same as --follow"},
    Flag{"--task", "ID", "only this task's; may be repeated"},
    kTenantFlag,
    kQueueFlag,
    kGroupFlag,
    kStateFlag,
    kLabelFlag,
    Flag{"--from", "N", "start at this sequence number (default: the oldest; with --follow: now)"},
};
constexpr std::array kLogsFlags = {
    Flag{"--follow", "", "go on until the task ends"},
    Flag{"--attempt", "N", "the output of this attempt (default: the last)"},
    Flag{"--stderr", "", "only what it wrote to stderr, printed to stdout"},
    Flag{"--stdout", "", "only what it wrote to stdout"},
    Flag{"--tenant", "TENANT", "the tenant of the task (default: the token's, or \"default\")"},
};
constexpr std::array kStreamedId = {
    Positional{"ID", "a task's id; t-123 is the task numbered 123"}};
constexpr std::array<std::string_view, 3> kEventsExamples = {
    "berth events --follow --group night",
    "berth events --task train-1",
    "berth events --follow --from 1099516870656 -o json",
};
constexpr std::array<std::string_view, 2> kLogsExamples = {"berth logs train-1 --follow",
                                                           "berth logs train-1 --attempt 1"};

// A line of a table that never ends: columns of fixed width, longer texts push the rest.
std::string event_line(const std::array<Cell, 8>& cells, bool colours) {
  constexpr std::array<std::size_t, 8> kWidths = {13, 20, 18, 12, 12, 9, 7, 0};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string text = harmless(cells[i].text);
    if (text.empty()) text = "-";
    const std::string space(kWidths[i] - std::min(kWidths[i], width_of(text)), ' ');
    line +=
        (i == 0 ? space : "  ") + painted(text, cells[i].colour, colours) + (i == 0 ? "" : space);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

void print_event(const Session& session, const v1::TaskEvent& event) {
  std::ostream& out = session.console().out;
  if (session.as_document()) {
    session.print_document(event, true);
  } else if (session.format() == Format::name) {
    out << harmless(event.task_id()) << "\n";
  } else {
    const std::string reason = sentence_of(event.reason());
    out << event_line(
        {std::to_string(event.sequence()), instant_text(event.at_unix_ms()), event.task_id(),
         event.user_id(), event.task_type(), state_cell_of(event), joined(event.gpus()), reason},
        session.look().colours);
  }
  out.flush();
}

// Prints until the stream ends; notes how far it came in the request.
std::optional<client::Failure> print_events(Session& session, v1::TaskEventsRequest& request,
                                            client::Clock::time_point until) {
  const auto stream = session.client().events(request, until);
  while (stream->next() == Next::message) {
    print_event(session, stream->message());
    request.set_after_sequence(stream->message().sequence());
    request.set_from_start(false);
  }
  return stream->failure();
}

int run_events(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  Values values(call);
  v1::TaskEventsRequest request;
  *request.mutable_filter() = read_filter(call, values);
  request.set_follow(values.has("--follow") || values.has("--watch"));
  const auto from = values.integer("--from", 0, INT64_MAX);
  if (!values.ok()) return values.refuse();
  if (from && *from > 1) request.set_after_sequence(static_cast<std::uint64_t>(*from - 1));
  request.set_from_start(from ? *from <= 1 : !request.follow());

  if (session->as_table() && session->look().headers)
    call.console.out << event_line({"SEQUENCE", "TIME", "TASK", "TENANT", "QUEUE", "STATE", "GPUS",
                                    "REASON"},
                                   false)
                     << std::flush;
  const auto failure = print_events(*session, request, session->patience());
  if (!failure) return kOk;
  const bool can_resume = request.after_sequence() > 0;
  const std::string next = can_resume ? "next: berth events --follow --from " +
                                            std::to_string(request.after_sequence() + 1)
                                      : "";
  if (session->interrupted()) {
    session->say("\nstopped watching; all goes on" + (next.empty() ? "" : "\n" + next));
    return kDetached;
  }
  code = session->fail("watch the events", *failure);
  if (failure->code == grpc::StatusCode::UNAVAILABLE && can_resume) session->say(next);
  return code;
}

int run_logs(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  Values values(call);
  const TaskName name{call.args.positional().front(), values.text("--tenant")};
  v1::GetTaskLogsRequest request;
  request.set_task_id(name.id);
  request.set_user_id(name.tenant);
  request.set_follow(values.has("--follow"));
  request.set_stderr_only(values.has("--stderr"));
  request.set_stdout_only(values.has("--stdout"));
  request.set_attempt(
      static_cast<std::uint32_t>(values.integer("--attempt", 1, UINT32_MAX).value_or(0)));
  if (request.stderr_only() && request.stdout_only())
    values.note("--stderr and --stdout: give one; without them both are printed");
  if (!values.ok()) return values.refuse();
  const auto stream = session->client().logs(request, session->patience());
  while (stream->next() == Next::message)
    print_chunk(*session, stream->message(), stream->message().data(), request.stderr_only());
  const auto failure = stream->failure();
  if (!failure) return kOk;
  if (session->interrupted()) {
    session->say("\nstopped watching; the task goes on\nnext: berth logs" + words_of(name) +
                 " --follow");
    return kDetached;
  }
  return session->fail("read the output of task " + name.id, *failure);
}

constexpr std::array kStreamCommands = {
    Command{.name = "events",
            .group = Group::work,
            .summary = "show what happened to tasks; with --follow, what happens",
            .usage = "[OPTIONS]",
            .run = run_events,
            .reach = Reach::server,
            .flags = kEventsFlags,
            .description = "With -o json each event is a line, with -o yaml a document.",
            .examples = kEventsExamples},
    Command{.name = "logs",
            .group = Group::work,
            .summary = "print what a task wrote",
            .usage = "ID [OPTIONS]",
            .run = run_logs,
            .reach = Reach::server,
            .flags = kLogsFlags,
            .positional = kStreamedId,
            .description = "The task's stdout goes to stdout, its stderr to stderr, byte for byte.",
            .examples = kLogsExamples},
};

}  // namespace

std::span<const Command> stream_commands() { return kStreamCommands; }

}  // namespace berth::cli
