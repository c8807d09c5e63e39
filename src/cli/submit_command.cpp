// berth submit: a task from the command line or from a script, and its end if that is waited for.
#include <array>

#include "cli/batch_script.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/submit_flags.h"
#include "cli/task_end.h"
#include "cli/task_filter.h"
#include "cli/task_request.h"
#include "cli/text.h"
#include "cli/watch.h"

namespace berth::cli {
namespace {

constexpr std::array kCommandWords = {Positional{
    "COMMAND", "a script with its arguments; or, behind --, a program with its arguments", false,
    true}};

constexpr std::array<std::string_view, 9> kSubmitExamples = {
    "berth submit --queue llm --vram 8GB --wait -- echo hi",
    "berth submit --queue llm --vram 20GB --gpus 2 --follow -- python3 train.py --lr 0.1",
    "berth submit --queue llm --gpus 2 train.sh --lr 0.1",
    "berth submit --queue train --gpus 16 --groups 2 --within island --required -- ./pretrain",
    "berth submit --queue prepare --gpus 0 --cpus 8 --memory 32GB -- python3 tokenize.py",
    "berth submit --queue embedding --payload @texts.json",
    "berth submit --queue llm --depends-on train-1 --attempts 3 --backoff 30s -- ./evaluate",
    "berth submit --queue diffusion --share 0.5 --deadline +2h -- ./render frame-12",
    "berth submit --queue llm --id sweep --array 0-99%10 -- ./train",
};

// What the executor gave back, with a line end so that the shell's prompt stands alone.
void print_result(const Session& session, const v1::TaskStatus& task) {
  const std::string& result = task.result().result();
  if (result.empty()) return;
  session.console().out << result << (result.ends_with('\n') ? "" : "\n");
}

// Waits for the task's end and shows what it gave.
int see_through(Session& session, const TaskName& name, bool is_command) {
  Watch watch(session, name);
  const bool follow = session.args().has("--follow");
  session.say("submitted" + words_of(name));
  const auto task = follow ? watch.follow_to_end() : watch.wait_until(is_settled);
  if (!task) return watch.code();
  const bool has_output = is_command && task->attempts() > 0;
  const bool as_text = !session.as_document();
  if (!follow && as_text && has_output && !watch.print_output(task->attempts(), false))
    return watch.code();
  if (as_text && !is_command) print_result(session, *task);
  if (session.as_document()) session.print_document(*task, follow);
  if (task->has_array() && task->state() == v1::COMPLETED)
    session.say("array " + name.id + ": " + counts_text(task->array()));
  return tell_end(session, name, *task);
}

int submit(const Call& call, const BatchScript* script) {
  Values values(call);
  const v1::SubmitTaskRequest request = read_task_request(call, script, values);
  if (!values.ok()) return values.refuse();
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const auto answer = session->client().submit(request);
  if (!answer) return session->fail("submit the task", answer.failure());
  const TaskName name{answer->task_id(), request.task().user_id()};
  if (call.args.has("--wait") || call.args.has("--follow"))
    return see_through(*session, name, request.task().has_command());
  if (session->as_document())
    session->print_document(*answer);
  else
    call.console.out << harmless(answer->task_id()) << "\n";
  if (answer->duplicate()) session->say("it was submitted before; nothing new was made");
  session->say("next: berth status" + words_of(name));
  return kOk;
}

// The command line's flags over the script's. What one says of the folder replaces what the other
// says of it.
Arguments over_script(Arguments line, Arguments script) {
  for (const std::string_view flag : {"--workdir", "--no-workdir"}) {
    if (!line.has(flag)) continue;
    script.drop("--workdir");
    script.drop("--no-workdir");
  }
  line.put_over(script, kJoinedFlags);
  return line;
}

int submit_script(const Call& call) {
  const std::string folder = call.console.folder ? call.console.folder() : "";
  const auto script = read_batch_script(call.args.positional().front(), folder);
  if (!script) return bad_usage(call, script.error().message);
  const ScriptFlags flags = flags_of(*script, call.command.flags);
  Values values(call);
  for (const std::string& error : flags.errors)
    values.note(error);
  if (!values.ok()) return values.refuse();
  for (const std::string& sentence : flags.ignored)
    call.console.err << "berth submit: " << harmless(sentence) << "\n";
  const Arguments all = over_script(call.args, flags.flags);
  return submit({call.command, all, call.console, call.commands}, &*script);
}

int run_submit(const Call& call) {
  return call.args.before_dashes() > 0 ? submit_script(call) : submit(call, nullptr);
}

constexpr std::array kSubmitCommands = {
    Command{
        .name = "submit",
        .group = Group::work,
        .summary = "submit a task: a command, a script, or a payload for the queue's executor",
        .usage = "--queue QUEUE [OPTIONS] -- COMMAND [ARGUMENT]...\n"
                 "[OPTIONS] SCRIPT [ARGUMENT]...\n"
                 "--queue QUEUE [OPTIONS] --payload TEXT|@FILE|@-",
        .run = run_submit,
        .reach = Reach::server,
        .flags = kSubmitFlags,
        .positional = kCommandWords,
        .description =
            "Prints the task's id. The command runs in the current folder, with the PATH and the\n"
            "Python environment of this shell; no shell interprets its words. If it cannot enter\n"
            "that folder, as on another machine, use --no-workdir.\n"
            "\n"
            "A script is copied, so you may change it afterwards. Lines '#BERTH --gpus 2 …' at\n"
            "its top hold options; options on the command line win. Berth reads '#SBATCH' lines\n"
            "too, and says which it ignores. All that follows the script's name belongs to it.\n"
            "\n"
            "With --wait or --follow it prints the task's output instead of the id, and ends with\n"
            "the exit status of the command, or 128 plus the signal that ended it. --timeout says\n"
            "how long to wait. Ctrl-C ends the waiting, not the task. Of an array --wait waits "
            "for\n"
            "all tasks and prints no output; the exit code is 0 if all of them completed.",
        .examples = kSubmitExamples,
        .waits = true,
        .flags_end = FlagsEnd::at_first_word},
};

}  // namespace

std::span<const Command> submit_commands() { return kSubmitCommands; }

}  // namespace berth::cli
