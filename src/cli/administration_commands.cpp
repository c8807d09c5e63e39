// berth pause, resume, drain, undrain, reload, backup: how the cluster is run.
#include <array>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/values.h"

namespace berth::cli {
namespace {

constexpr Flag kQueue{"--queue", "QUEUE", "this queue"};
constexpr Flag kTenant{"--tenant", "TENANT", "this tenant"};
constexpr std::array kPauseFlags = {
    kQueue,
    kTenant,
    Flag{"--drain", "", "for a queue: run the tasks it has, refuse new ones"},
};
constexpr std::array kResumeFlags = {kQueue, kTenant};
constexpr std::array kGpu = {Positional{"GPU", "its name, as 'berth gpus' shows it"}};
constexpr std::array kReloadFlags = {
    Flag{"--dry-run", "", "only say what would change"},
};
constexpr std::array kPath = {Positional{"PATH", "a folder on the server that does not exist yet"}};

constexpr std::array<std::string_view, 2> kPauseExamples = {"berth pause --queue llm",
                                                            "berth pause --queue llm --drain"};
constexpr std::array<std::string_view, 1> kResumeExamples = {"berth resume --queue llm"};
constexpr std::array<std::string_view, 1> kDrainExamples = {"berth drain a100-0"};
constexpr std::array<std::string_view, 1> kUndrainExamples = {"berth undrain a100-0"};
constexpr std::array<std::string_view, 2> kReloadExamples = {"berth reload --dry-run",
                                                             "berth reload"};
constexpr std::array<std::string_view, 1> kBackupExamples = {"berth backup /var/backups/berth-1"};

// Exactly one of --queue and --tenant, read into the request.
void read_target(Values& values, auto& request) {
  request.set_task_type(values.text("--queue"));
  request.set_user_id(values.text("--tenant"));
  if (request.task_type().empty() == request.user_id().empty())
    values.note("expected one of --queue QUEUE and --tenant TENANT");
}

std::string target_words(const auto& request) {
  return request.task_type().empty() ? "tenant " + request.user_id()
                                     : "queue " + request.task_type();
}

// Makes the change, and says what was done; `verb` finishes "cannot …".
int change(const Call& call, const std::string& verb, const std::string& done, const auto& make) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const auto answer = make(session->client());
  if (!answer) return session->fail(verb, answer.failure());
  if (session->as_document()) session->print_document(*answer);
  session->say(done);
  return kOk;
}

int run_pause(const Call& call) {
  Values values(call);
  v1::PauseRequest request;
  read_target(values, request);
  request.set_drain(values.has("--drain"));
  if (request.drain() && !request.user_id().empty()) values.note("--drain is for queues only");
  if (!values.ok()) return values.refuse();
  const std::string target = target_words(request);
  const std::string words = request.task_type().empty()
                                ? "--tenant " + shell_word(request.user_id())
                                : "--queue " + shell_word(request.task_type());
  return change(
      call, (request.drain() ? "drain " : "pause ") + target,
      target + (request.drain() ? " drains" : " is paused") + "; next: berth resume " + words,
      [&](client::Client& client) { return client.pause(request); });
}

int run_resume(const Call& call) {
  Values values(call);
  v1::ResumeRequest request;
  read_target(values, request);
  if (!values.ok()) return values.refuse();
  return change(call, "resume " + target_words(request), target_words(request) + " is open",
                [&](client::Client& client) { return client.resume(request); });
}

int run_drain(const Call& call) {
  const std::string& gpu = call.args.positional().front();
  v1::DrainGPURequest request;
  request.set_gpu(gpu);
  return change(call, "drain GPU " + gpu,
                "GPU " + gpu + " drains: what runs ends, nothing new starts; next: berth undrain " +
                    shell_word(gpu),
                [&](client::Client& client) { return client.drain_gpu(request); });
}

int run_undrain(const Call& call) {
  const std::string& gpu = call.args.positional().front();
  v1::ResumeGPURequest request;
  request.set_gpu(gpu);
  return change(call, "resume GPU " + gpu, "GPU " + gpu + " takes work again",
                [&](client::Client& client) { return client.resume_gpu(request); });
}

int run_reload(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  v1::ReloadConfigRequest request;
  request.set_dry_run(call.args.has("--dry-run"));
  const auto answer = session->client().reload(request);
  if (!answer) return session->fail("reload the configuration", answer.failure());
  const auto refused = static_cast<std::uint64_t>(answer->refused_size());
  const int done = refused > 0 ? kConflict : kOk;
  if (session->as_document()) {
    session->print_document(*answer);
    return done;
  }
  for (const std::string& sentence : answer->changes())
    call.console.out << harmless(sentence) << "\n";
  for (const std::string& sentence : answer->refused())
    call.console.err << "refused: " << harmless(sentence) << "\n";
  const auto count = static_cast<std::uint64_t>(answer->changes_size());
  std::string words =
      count == 0 ? "nothing to change"
                 : plural(count, "change") + (request.dry_run() ? "; next: berth reload" : " made");
  if (refused > 0) words += "; " + std::to_string(refused) + " refused";
  session->say(words);
  return done;
}

int run_backup(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  v1::BackupRequest request;
  request.set_path(call.args.positional().front());
  const auto answer = session->client().backup(request);
  if (!answer) return session->fail("back up to " + request.path(), answer.failure());
  if (session->as_document()) {
    session->print_document(*answer);
  } else {
    call.console.out << harmless(answer->path()) << "\n";
    session->say(bytes_text(answer->bytes()) + ", up to event " +
                 std::to_string(answer->sequence()) + "; next: berth restore " +
                 shell_word(answer->path()));
  }
  return kOk;
}

constexpr Command command(std::string_view name, std::string_view summary, std::string_view usage,
                          int (*run)(const Call&), std::span<const Flag> flags,
                          std::span<const Positional> positional,
                          std::span<const std::string_view> examples) {
  return {.name = name,
          .group = Group::administration,
          .summary = summary,
          .usage = usage,
          .run = run,
          .reach = Reach::server,
          .flags = flags,
          .positional = positional,
          .examples = examples};
}

constexpr std::array kAdministrationCommands = {
    command("pause", "pause a queue or a tenant: its tasks do not start",
            "--queue QUEUE [--drain] [OPTIONS]\n--tenant TENANT [OPTIONS]", run_pause, kPauseFlags,
            {}, kPauseExamples),
    command("resume", "resume a queue or a tenant: its tasks start again",
            "--queue QUEUE [OPTIONS]\n--tenant TENANT [OPTIONS]", run_resume, kResumeFlags, {},
            kResumeExamples),
    command("drain", "drain a GPU: what runs there ends, and nothing new starts", "GPU [OPTIONS]",
            run_drain, {}, kGpu, kDrainExamples),
    command("undrain", "let a drained GPU take work again", "GPU [OPTIONS]", run_undrain, {}, kGpu,
            kUndrainExamples),
    command("reload", "let the server read its configuration file again", "[OPTIONS]", run_reload,
            kReloadFlags, {}, kReloadExamples),
    command("backup", "write a copy of the server's data to a folder on the server",
            "PATH [OPTIONS]", run_backup, {}, kPath, kBackupExamples),
};

}  // namespace

std::span<const Command> administration_commands() { return kAdministrationCommands; }

}  // namespace berth::cli
