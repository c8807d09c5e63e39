// berth submit: a task from the command line, and its end if that is waited for.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/retry_kinds.h"
#include "cli/session.h"
#include "cli/task_filter.h"
#include "cli/text.h"
#include "cli/values.h"
#include "cli/watch.h"
#include "config/diagnostics.h"

namespace berth::cli {
namespace {

constexpr std::array kFlags = {
    Flag{"--queue", "QUEUE", "the queue; required"},
    Flag{"--tenant", "TENANT", "who it is for (default: the token's, or \"default\")"},
    Flag{"--vram", "SIZE", "VRAM on each GPU: 8GB (default: the model's)"},
    Flag{"--gpus", "N", "GPUs at once (default 1); 0: CPUs and memory alone"},
    Flag{"--share", "PART", "of each GPU: 0.5 or 50% (default 1)"},
    Flag{"--gpu-kind", "GPU-KIND", "that its GPUs may be of; may be repeated (default: any)"},
    Flag{"--groups", "N", "its GPUs in so many groups of equal size (default 1)"},
    Flag{"--within", "island|node|rack|cluster", "where a group lies together (default cluster)"},
    Flag{"--required", "", "--within is a must; else a wider domain will do"},
    Flag{"--mig-profile", "PROFILE", "one MIG instance of one GPU: 1g.10gb"},
    Flag{"--cpus", "N", "CPU cores for the whole task: 4 or 0.5 (default: none asked for)"},
    Flag{"--memory", "SIZE", "of the node, for the whole task: 16GB (default: none asked for)"},
    Flag{"--priority", "N", "higher first among the tenant's own (default 0)"},
    Flag{"--tier", "0|1|2|3", "0 goes first (default: the tenant's)"},
    Flag{"--depends-on", "ID", "starts after this task, or signal:NAME; may be repeated"},
    Flag{"--run-after-failure", "", "start even if a dependency did not complete"},
    Flag{"--group", "GROUP", "a name to list, watch and cancel by"},
    Flag{"--label", "KEY=VALUE", "may be repeated"},
    Flag{"--env", "KEY=VALUE", "environment of the command; may be repeated"},
    Flag{"--workdir", "DIR", "where the command runs (default: a folder of its own)"},
    Flag{"--id", "NAME", "the task's id, unique in its tenant (default: made by the server)"},
    Flag{"--request-id", "UUID", "makes a repeated submit safe (default: made here)"},
    Flag{"--payload", "TEXT|@FILE", "for the queue's executor, instead of a command"},
    Flag{"--expected-run", "DURATION", "how long it will run (default: learned)"},
    Flag{"--run-limit", "DURATION", "stop an attempt that runs longer"},
    Flag{"--tolerated-wait", "DURATION", "expire when it waits longer"},
    Flag{"--checkpoint-interval", "DURATION",
         "its work is safe at every whole one of its run (default: it never is)"},
    Flag{"--restart-cost", "DURATION", "what starting it again costs besides (default 0s)"},
    Flag{"--not-before", "INSTANT", "2026-11-15T12:00:00Z, or +10min"},
    Flag{"--deadline", "INSTANT", "useless after it: expires or is stopped"},
    Flag{"--attempts", "N", "in all, the first included (default 1)"},
    Flag{"--backoff", "DURATION", "before the second attempt; doubled after each"},
    Flag{"--retry-on", "KIND,...",
         "error, out_of_memory, timeout, crash, infrastructure (default: all)"},
    Flag{"--at-most-once", "", "never start it twice, even if its GPU is lost"},
    Flag{"--stop-signal", "TERM|INT|HUP|QUIT|USR1|USR2", "how it is told to stop (default TERM)"},
    Flag{"--stop-grace", "DURATION", "from the stop signal to KILL (default 10s)"},
    Flag{"--result-ttl", "DURATION", "how long its result and output are kept"},
    Flag{"--tokens", "N", "taken from the tenant's bucket (default 1)"},
    Flag{"--held", "", "wait until released"},
    Flag{"--wait", "", "wait for its end, print its output, end 0 if it completed, else 1"},
    Flag{"--follow", "", "as --wait, with its output while it runs"},
};
constexpr std::array kCommandWords = {
    Positional{"COMMAND", "the program and its arguments, behind --; no shell", false, true}};

constexpr std::array<std::string_view, 7> kSubmitExamples = {
    "berth submit --queue llm --vram 8GB --wait -- echo hi",
    "berth submit --queue llm --vram 20GB --gpus 2 --follow -- python3 train.py --lr 0.1",
    "berth submit --queue train --gpus 16 --groups 2 --within island --required -- ./pretrain",
    "berth submit --queue prepare --gpus 0 --cpus 8 --memory 32GB -- python3 tokenize.py",
    "berth submit --queue embedding --payload @texts.json",
    "berth submit --queue llm --depends-on train-1 --attempts 3 --backoff 30s -- ./evaluate",
    "berth submit --queue diffusion --share 0.5 --deadline +2h -- ./render frame-12",
};

void read_retry_kinds(const std::string& list, v1::RetryRule& retry, Values& values) {
  const std::vector<std::string> names = retry_kind_names();
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) {
      values.note("--retry-on: no failure is named " + config::quoted(word) +
                  config::suggestion(word, names));
    } else {
      retry.add_on(retry_kind(static_cast<std::size_t>(found - names.begin())));
    }
  }
}

std::string read_payload(const std::string& given, Values& values) {
  if (!given.starts_with('@')) return given;
  std::ifstream file(given.substr(1), std::ios::binary);
  std::ostringstream bytes;
  if (file) bytes << file.rdbuf();
  if (!file || file.bad()) values.note("--payload: cannot read " + config::quoted(given.substr(1)));
  return bytes.str();
}

void read_retry(v1::TaskSpec& spec, Values& values) {
  if (const auto attempts = values.integer("--attempts", 1, 255))
    spec.mutable_retry()->set_attempts(static_cast<std::uint32_t>(*attempts));
  if (const auto backoff = values.duration_ms("--backoff"))
    spec.mutable_retry()->set_backoff_ms(*backoff);
  if (values.has("--retry-on"))
    read_retry_kinds(values.text("--retry-on"), *spec.mutable_retry(), values);
}

void read_times(v1::TaskSpec& spec, Values& values) {
  spec.set_expected_run_ms(values.duration_ms("--expected-run").value_or(0));
  spec.set_run_limit_ms(values.duration_ms("--run-limit").value_or(0));
  spec.set_tolerated_wait_ms(values.duration_ms("--tolerated-wait").value_or(0));
  spec.set_checkpoint_interval_ms(values.duration_ms("--checkpoint-interval").value_or(0));
  spec.set_restart_cost_ms(values.duration_ms("--restart-cost").value_or(0));
  spec.set_not_before_unix_ms(values.instant_ms("--not-before").value_or(0));
  spec.set_deadline_unix_ms(values.instant_ms("--deadline").value_or(0));
  spec.set_stop_grace_ms(values.duration_ms("--stop-grace").value_or(0));
  spec.set_result_ttl_ms(values.duration_ms("--result-ttl").value_or(0));
}

void read_needs(const Call& call, v1::TaskSpec& spec, Values& values) {
  spec.set_gpu_memory_mb(values.size_mb("--vram").value_or(0));
  if (const auto gpus = values.integer("--gpus", 0, 1'000'000))
    spec.set_gpus(static_cast<std::uint32_t>(*gpus));
  spec.set_share_milli(static_cast<std::uint32_t>(values.share_milli("--share").value_or(0)));
  for (const std::string& kind : call.args.values("--gpu-kind"))
    spec.add_gpu_kinds(kind);
  spec.set_groups(static_cast<std::uint32_t>(values.integer("--groups", 1, 1'000'000).value_or(0)));
  spec.set_within(values.text("--within"));
  spec.set_required(values.has("--required"));
  spec.set_mig_profile(values.text("--mig-profile"));
  spec.set_cpus_milli(static_cast<std::uint32_t>(values.cpus_milli("--cpus").value_or(0)));
  spec.set_memory_mb(values.size_mb("--memory").value_or(0));
}

void read_order(v1::TaskSpec& spec, Values& values) {
  spec.set_priority(
      static_cast<std::int32_t>(values.integer("--priority", INT32_MIN, INT32_MAX).value_or(0)));
  if (const auto tier = values.integer("--tier", 0, 3))
    spec.set_tier(static_cast<std::uint32_t>(*tier));
  spec.set_tokens(
      static_cast<std::uint32_t>(values.integer("--tokens", 1, UINT32_MAX).value_or(0)));
}

void read_work(const Call& call, v1::TaskSpec& spec, Values& values) {
  const std::vector<std::string>& words = call.args.positional();
  if (call.args.before_dashes() > 0) {
    values.note("unexpected argument " + config::quoted(words.front()) +
                "; the command stands behind --");
  } else if (!words.empty() && values.has("--payload")) {
    values.note("give a command or --payload, not both");
  }
  for (const std::string& word : words)
    spec.mutable_command()->add_argv(word);
  if (values.has("--payload")) spec.set_payload(read_payload(values.text("--payload"), values));
  for (auto& [key, value] : values.pairs("--env"))
    (*spec.mutable_env())[key] = value;
  spec.set_workdir(values.text("--workdir"));
  spec.set_stop_signal(values.text("--stop-signal"));
}

v1::SubmitTaskRequest read_request(const Call& call, Values& values) {
  v1::SubmitTaskRequest request;
  request.set_request_id(values.text("--request-id"));
  v1::TaskSpec& spec = *request.mutable_task();
  spec.set_task_id(values.text("--id"));
  spec.set_user_id(values.text("--tenant"));
  spec.set_task_type(values.text("--queue"));
  if (spec.task_type().empty()) values.note("expected --queue QUEUE; 'berth queues' lists them");
  spec.set_group(values.text("--group"));
  for (auto& [key, value] : values.pairs("--label"))
    (*spec.mutable_labels())[key] = value;
  for (const std::string& id : call.args.values("--depends-on"))
    spec.add_depends_on(id);
  spec.set_run_after_failure(values.has("--run-after-failure"));
  spec.set_held(values.has("--held"));
  if (values.has("--at-most-once")) spec.set_start(v1::AT_MOST_ONCE);
  read_needs(call, spec, values);
  read_order(spec, values);
  read_times(spec, values);
  read_retry(spec, values);
  read_work(call, spec, values);
  return request;
}

// What the executor gave back, with a line end so that the shell's prompt stands alone.
void print_result(const Session& session, const v1::TaskStatus& task) {
  const std::string& result = task.result().result();
  if (result.empty()) return;
  session.console().out << result << (result.ends_with('\n') ? "" : "\n");
}

int finish(Session& session, const TaskName& name, const v1::TaskStatus& task) {
  if (session.format() == Format::json) session.print_json(task, session.args().has("--follow"));
  if (task.state() == v1::COMPLETED) return kOk;
  return complain(session.console(),
                  "task " + name.id + " " + state_name(task.state()) + ": " +
                      harmless(reason_text(task)) + "\nnext: berth status" + words_of(name),
                  kFailed);
}

// Waits for the task's end and shows what it gave.
int see_through(Session& session, const TaskName& name, bool is_command) {
  Watch watch(session, name);
  const bool follow = session.args().has("--follow");
  const bool as_json = session.format() == Format::json;
  session.say("submitted" + words_of(name));
  const auto task = follow
                        ? watch.follow_to_end()
                        : watch.wait_until([](const auto& now) { return has_ended(now.state()); });
  if (!task) return watch.code();
  const bool has_output = is_command && task->attempts() > 0;
  if (!follow && !as_json && has_output && !watch.print_output(task->attempts(), false))
    return watch.code();
  if (!as_json && !is_command) print_result(session, *task);
  return finish(session, name, *task);
}

int run_submit(const Call& call) {
  Values values(call);
  const v1::SubmitTaskRequest request = read_request(call, values);
  if (!values.ok()) return values.refuse();
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const auto answer = session->client().submit(request);
  if (!answer) return session->fail("submit the task", answer.failure());
  const TaskName name{answer->task_id(), request.task().user_id()};
  if (call.args.has("--wait") || call.args.has("--follow"))
    return see_through(*session, name, request.task().has_command());
  if (session->format() == Format::json)
    session->print_json(*answer);
  else
    call.console.out << harmless(answer->task_id()) << "\n";
  if (answer->duplicate()) session->say("it was submitted before; nothing new was made");
  session->say("next: berth status" + words_of(name));
  return kOk;
}

constexpr std::array kSubmitCommands = {
    Command{.name = "submit",
            .group = Group::work,
            .summary = "submit a task: a command, or a payload for the queue's executor",
            .usage = "--queue QUEUE [OPTIONS] -- COMMAND [ARGUMENT]...\n"
                     "--queue QUEUE [OPTIONS] --payload TEXT|@FILE",
            .run = run_submit,
            .reach = Reach::server,
            .flags = kFlags,
            .positional = kCommandWords,
            .description =
                "Prints the task's id. With --wait or --follow prints the task's output instead;\n"
                "Ctrl-C then detaches, the task goes on. With these two, --timeout says how long\n"
                "to wait for the end.",
            .examples = kSubmitExamples},
};

}  // namespace

std::span<const Command> submit_commands() { return kSubmitCommands; }

}  // namespace berth::cli
