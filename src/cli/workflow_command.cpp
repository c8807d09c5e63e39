// berth workflow: the tasks of a file, all of them or none, and their ends if those are waited for.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/task_listing.h"
#include "cli/text.h"
#include "cli/values.h"
#include "cli/watch.h"
#include "cli/workflow_file.h"

namespace berth::cli {
namespace {

constexpr std::array kFlags = {
    Flag{"--wait", "", "wait for the end of every task, end 0 if all completed, else 1"},
    Flag{"--prefix", "TEXT", "put before the ids of the file, so that it can run again"},
    Flag{"--dry-run", "", "only read the file, and print the tasks as the server would get them"},
    Flag{"--request-id", "UUID", "makes a repeated submit safe (default: made here)"},
};
constexpr std::array kFile = {Positional{"FILE", "the tasks: TOML, or JSON if it ends in .json"}};
constexpr std::array<std::string_view, 3> kWorkflowExamples = {
    "berth workflow examples/workflows/train.toml --wait",
    "berth workflow train.toml --prefix monday-",
    "berth workflow train.toml --dry-run",
};

// None: what is wrong has been printed.
std::optional<v1::SubmitWorkflowRequest> read_request(const Call& call) {
  const std::string& path = call.args.positional().front();
  config::Diagnostics diagnostics;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    complain(call.console, "cannot read the workflow in " + path);
    return std::nullopt;
  }
  auto request = read_workflow({path, text.str(), std::filesystem::path(path).parent_path()},
                               call.args.value("--prefix").value_or(""), call.console.now_unix_ms(),
                               diagnostics);
  if (!request) call.console.err << diagnostics.text();
  if (request) request->set_request_id(call.args.value("--request-id").value_or(""));
  return request;
}

std::vector<TaskName> names_of(const v1::SubmitWorkflowRequest& request,
                               const v1::SubmitWorkflowResponse& answer) {
  std::vector<TaskName> names;
  for (int i = 0; i < answer.task_ids_size(); ++i)
    names.push_back({answer.task_ids(i), request.tasks(i).user_id()});
  return names;
}

// A command that shows the tasks: by their group, if they have one.
std::string way_back(const v1::SubmitWorkflowRequest& request) {
  const std::string& group = request.tasks(0).group();
  const bool shared = !group.empty() && std::ranges::all_of(request.tasks(), [&](const auto& task) {
    return task.group() == group;
  });
  const std::string& tenant = request.tasks(0).user_id();
  return "berth tasks --all" + (shared ? " --group " + shell_word(group) : "") +
         (tenant.empty() ? "" : " --tenant " + shell_word(tenant));
}

// One task after the other; the last to end decides how long it takes.
int see_through(Session& session, const std::vector<TaskName>& names, const std::string& back) {
  v1::ListTasksResponse ended;
  const auto until = session.patience();
  for (const TaskName& name : names) {
    Watch watch(session, name, until);
    watch.say_on_leaving("the workflow goes on. See it again:\n  " + back);
    const auto task = watch.wait_until([](const auto& now) { return has_ended(now.state()); });
    if (!task) return watch.code();
    *ended.add_tasks() = *task;
  }
  session.show(ended, list_of(ended, session.now_unix_ms()));
  const auto failed = std::ranges::count_if(
      ended.tasks(), [](const auto& task) { return task.state() != v1::COMPLETED; });
  if (failed == 0) return kOk;
  return complain(session.console(),
                  std::to_string(failed) + " of " + plural(names.size(), "task") +
                      " did not complete\nnext: " + back,
                  kFailed);
}

int run_workflow(const Call& call) {
  const auto request = read_request(call);
  if (!request) return kBadInput;
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  if (call.args.has("--dry-run")) {
    session->print_json(*request);
    return kOk;
  }
  const auto answer = session->client().submit_workflow(*request);
  if (!answer) return session->fail("submit the workflow", answer.failure());
  const std::vector<TaskName> names = names_of(*request, *answer);
  if (answer->duplicate()) {
    session->say("it was submitted before; nothing new was made" +
                 std::string(call.args.has("--prefix") ? "" : " (see --prefix)"));
  }
  if (call.args.has("--wait")) {
    if (!answer->duplicate()) session->say("submitted " + plural(names.size(), "task"));
    return see_through(*session, names, way_back(*request));
  }
  if (session->format() == Format::json) {
    session->print_json(*answer);
  } else {
    for (const TaskName& name : names)
      call.console.out << harmless(name.id) << "\n";
  }
  session->say("next: " + way_back(*request));
  return kOk;
}

constexpr std::array kWorkflowCommands = {
    Command{.name = "workflow",
            .group = Group::work,
            .summary = "submit the tasks of a file that wait for one another, all or none",
            .usage = "FILE [OPTIONS]",
            .run = run_workflow,
            .reach = Reach::server,
            .flags = kFlags,
            .positional = kFile,
            .description =
                "The file has a block [[tasks]] for each task, with the words of 'berth submit':\n"
                "id, queue, vram, command, depends_on, …; [defaults] holds what they share. The\n"
                "guide (workflows.md) lists all keys. Prints the ids in the order of the file;\n"
                "with --wait how each task ended. Ctrl-C then detaches, the tasks go on.",
            .examples = kWorkflowExamples},
};

}  // namespace

std::span<const Command> workflow_commands() { return kWorkflowCommands; }

}  // namespace berth::cli
