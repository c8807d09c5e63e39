// berth workflow: the tasks of a file, all of them or none, and their ends if those are waited for.
#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/surroundings.h"
#include "cli/table.h"
#include "cli/task_end.h"
#include "cli/task_listing.h"
#include "cli/text.h"
#include "cli/values.h"
#include "cli/watch.h"
#include "cli/workflow_file.h"

namespace berth::cli {
namespace {

constexpr std::array kFlags = {
    Flag{"--wait", "", "wait until every task has ended; end with 0 if all completed, else with 1"},
    Flag{"--prefix", "TEXT", "put this before the ids of the file, so that it can run again"},
    Flag{"--no-env", "", "do not send PATH, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH, HF_HOME"},
    Flag{"--no-workdir", "", "run commands without a workdir in an empty folder of their own"},
    Flag{"--dry-run", "", "only read the file, and print what would be sent"},
    Flag{"--request-id", "UUID", "makes a repeated submit safe (default: made here)"},
};
constexpr std::array kFile = {Positional{"FILE", "the tasks: TOML, or JSON if it ends in .json"}};
constexpr std::array<std::string_view, 3> kWorkflowExamples = {
    "berth workflow examples/workflows/train.toml --wait",
    "berth workflow train.toml --prefix monday-",
    "berth workflow train.toml --dry-run",
};

// A command runs in the folder of the file, unless the file says where, and with the environment of
// this shell.
void surround(const Call& call, const std::string& folder, v1::TaskSpec& task) {
  if (!task.has_command()) return;
  if (!call.args.has("--no-env")) carry_variables(call.console, task);
  const bool is_given = !task.workdir().empty();
  if (is_given || !call.args.has("--no-workdir"))
    task.set_workdir(absolute_path(is_given ? task.workdir() : ".", folder));
}

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
  if (!request) {
    call.console.err << diagnostics.text();
    return std::nullopt;
  }
  request->set_request_id(call.args.value("--request-id").value_or(""));
  const std::string here = call.console.folder ? call.console.folder() : "";
  const std::string folder =
      absolute_path(std::filesystem::path(path).parent_path().string(), here);
  for (v1::TaskSpec& task : *request->mutable_tasks())
    surround(call, folder, task);
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

// The places of the tasks, each behind those it waits for: a task that the server holds is then
// seen before those that wait for it.
std::vector<int> by_dependency(const v1::SubmitWorkflowRequest& request) {
  std::vector<int> order;
  std::set<std::string> left;  // ids of tasks that have no place yet
  for (const v1::TaskSpec& task : request.tasks())
    left.insert(task.task_id());
  std::vector<bool> placed(static_cast<std::size_t>(request.tasks_size()), false);
  for (bool found = true; found;) {
    found = false;
    for (int i = 0; i < request.tasks_size(); ++i) {
      const v1::TaskSpec& task = request.tasks(i);
      const bool waits = std::ranges::any_of(
          task.depends_on(), [&](const std::string& id) { return left.contains(id); });
      if (placed[static_cast<std::size_t>(i)] || waits) continue;
      placed[static_cast<std::size_t>(i)] = found = true;
      order.push_back(i);
      left.erase(task.task_id());
    }
  }
  return order;
}

// One task after the other; the last to end decides how long it takes.
int see_through(Session& session, const v1::SubmitWorkflowRequest& request,
                const std::vector<TaskName>& names, const std::string& back) {
  v1::ListTasksResponse ended;
  for (std::size_t i = 0; i < names.size(); ++i)
    ended.add_tasks();
  const auto until = session.patience();
  for (const int place : by_dependency(request)) {
    const TaskName& name = names[static_cast<std::size_t>(place)];
    Watch watch(session, name, until);
    watch.say_on_leaving("the workflow goes on. See it again:\n  " + back);
    const auto task = watch.wait_until(is_settled);
    if (!task) return watch.code();
    if (!has_ended(task->state())) return tell_end(session, name, *task);
    *ended.mutable_tasks(place) = *task;
  }
  Listing listing = list_of(ended, session.now_unix_ms());
  session.show(ended, listing);
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
    session->print_document(*request);
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
    return see_through(*session, *request, names, way_back(*request));
  }
  if (session->as_document()) {
    session->print_document(*answer);
  } else {
    for (const TaskName& name : names)
      call.console.out << harmless(name.id) << "\n";
  }
  session->say("next: " + way_back(*request));
  return kOk;
}

constexpr std::array kWorkflowCommands = {
    Command{
        .name = "workflow",
        .group = Group::work,
        .summary = "submit the tasks of a file, all or none; they may wait for one another",
        .usage = "FILE [OPTIONS]",
        .run = run_workflow,
        .reach = Reach::server,
        .flags = kFlags,
        .positional = kFile,
        .description =
            "The file has a block [[tasks]] for each task, with the words of 'berth submit':\n"
            "id, queue, vram, command, depends_on, …; [defaults] holds what they share. The\n"
            "guide (workflows.md) lists all keys. A command runs in the folder of the file, with\n"
            "the PATH and the Python environment of this shell.\n"
            "\n"
            "Prints the ids in the order of the file; with --wait it prints how each task ended.\n"
            "Ctrl-C ends the waiting, not the tasks.",
        .examples = kWorkflowExamples,
        .waits = true},
};

}  // namespace

std::span<const Command> workflow_commands() { return kWorkflowCommands; }

}  // namespace berth::cli
