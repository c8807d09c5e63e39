// berth wait: until tasks have ended.
#include <array>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/task_end.h"
#include "cli/task_listing.h"
#include "cli/watch.h"

namespace berth::cli {
namespace {

constexpr std::array kWaitFlags = {
    Flag{"--tenant", "TENANT", "the tenant of the tasks (default: the token's, or \"default\")"},
};
constexpr std::array kWaitIds = {
    Positional{"ID", "a task's id; t-123 is the task numbered 123", true, true}};
constexpr std::array<std::string_view, 2> kWaitExamples = {
    "berth wait train-1", "berth wait train-1 train-2 --timeout 1h"};

int run_wait(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const std::string tenant = call.args.value("--tenant").value_or("");
  const auto until = session->patience();
  v1::ListTasksResponse ended;
  for (const std::string& id : call.args.positional()) {
    Watch watch(*session, {id, tenant}, until);
    const auto task = watch.wait_until(is_settled);
    if (!task) return watch.code();
    *ended.add_tasks() = *task;
  }
  Listing listing = list_of(ended, session->now_unix_ms());
  session->show(ended, listing);
  for (int i = 0; i < ended.tasks_size(); ++i) {
    const std::string& id = call.args.positional()[static_cast<std::size_t>(i)];
    const int ends = tell_end(*session, {id, tenant}, ended.tasks(i));
    if (code == kOk) code = ends;
  }
  return code;
}

constexpr std::array kWaitCommands = {
    Command{
        .name = "wait",
        .group = Group::work,
        .summary = "wait until tasks have ended",
        .usage = "ID... [OPTIONS]",
        .run = run_wait,
        .reach = Reach::server,
        .flags = kWaitFlags,
        .positional = kWaitIds,
        .description =
            "The exit code is the exit status of the task's command, or 128 plus the signal that\n"
            "ended it; of several tasks it is that of the first that did not complete. --timeout\n"
            "says how long to wait. Ctrl-C ends the waiting, not the tasks. The id of an array\n"
            "waits for all its tasks, and the exit code is 0 if all of them completed.",
        .examples = kWaitExamples,
        .waits = true},
};

}  // namespace

std::span<const Command> wait_commands() { return kWaitCommands; }

}  // namespace berth::cli
