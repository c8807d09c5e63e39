// The commands that ask a server, each against canned answers: tables, JSON, failures, exit codes.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "cli/session.h"
#include "cli/testing/shell.h"
#include "cli/testing/tasks.h"

namespace berth::cli::server_commands_test {
namespace {

using client::testing::detailed;
using client::testing::Reply;
using testing::kNow;
using testing::pending_task;
using testing::Ran;
using testing::running_task;
using testing::ServedShell;

class ServerCommands : public ::testing::Test, protected ServedShell {};

template <class Message>
Message from_json(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &message).ok()) << text;
  return message;
}

// ---- Tasks
// ---------------------------------------------------------------------------------------

TEST_F(ServerCommands, TasksAreATableWithAReasonForAllThatDoNotRun) {
  v1::ListTasksResponse answer;
  *answer.add_tasks() = pending_task();
  *answer.add_tasks() = running_task();
  *answer.add_tasks() = pending_task();
  answer.mutable_tasks(2)->clear_reason();
  server.answer("ListTasks", answer);
  const Ran ran = run({"tasks"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out,
            "TASK     TENANT    QUEUE  STATE      AGE  GPUS  REASON\n"
            "train-1  research  llm    pending  3m12s  -     no GPU has enough free VRAM: needs "
            "8192 MiB, a0 has 512\n"
            "run      research  llm    running  3m12s  a0    -\n"
            "train-1  research  llm    pending  3m12s  -     waits for its turn, position 3\n");
  EXPECT_EQ(run({"tasks", "-o", "name"}).out, "train-1\nrun\ntrain-1\n");
  EXPECT_FALSE(run({"tasks", "--no-headers"}).out.starts_with("TASK"));
  const std::string wide = run({"tasks", "-o", "wide"}).out;
  for (const char* text : {"POSITION", "PRIORITY", "8GB", "5.0s"})
    EXPECT_NE(wide.find(text), std::string::npos) << text;
  EXPECT_EQ(from_json<v1::ListTasksResponse>(run({"tasks", "-o", "json"}).out).tasks_size(), 3);
}

TEST_F(ServerCommands, TasksAreChosenByFlags) {
  server.answer("ListTasks", v1::ListTasksResponse());
  const Ran ran = run({"tasks", "--tenant", "a", "--queue", "q", "--group", "g", "--state",
                       "pending", "--state", "waiting", "--label", "k=v", "--limit", "7"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "no live task matches; --all shows ended ones\n");
  auto request = server.request<v1::ListTasksRequest>("ListTasks");
  EXPECT_EQ(request.filter().user_id(), "a");
  EXPECT_EQ(request.filter().task_type(), "q");
  EXPECT_EQ(request.filter().group(), "g");
  EXPECT_EQ(request.filter().states_size(), 2);
  EXPECT_EQ(request.filter().labels().at("k"), "v");
  EXPECT_EQ(request.page_size(), 7);
  EXPECT_FALSE(request.ended());
  EXPECT_EQ(run({"tasks", "--state", "failed"}).code, kOk);
  EXPECT_TRUE(server.request<v1::ListTasksRequest>("ListTasks").ended());
  const Ran wrong = run({"tasks", "--state", "runing", "--limit", "0"});
  EXPECT_EQ(wrong.code, kBadInput);
  EXPECT_EQ(wrong.err,
            "berth tasks: --state: no state is named \"runing\"; did you mean \"running\"?\n"
            "berth tasks: --limit: expected an integer from 1 to 1000000, found \"0\"\n"
            "Try 'berth tasks --help'.\n");
}

TEST_F(ServerCommands, PagesAreJoinedUpToTheLimit) {
  server.on("ListTasks", [](const std::string& bytes) {
    v1::ListTasksRequest request;
    request.ParseFromString(bytes);
    v1::ListTasksResponse page;
    for (int i = 0; i < std::min(request.page_size(), 2); ++i)
      *page.add_tasks() = pending_task();
    page.set_next_page_token(request.page_token() + "x");
    return client::testing::Reply{{page.SerializeAsString()}, {}};
  });
  const Ran ran = run({"tasks", "--limit", "5", "--no-headers"});
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 5);
  EXPECT_EQ(server.calls("ListTasks"), 3U);
  EXPECT_EQ(server.request<v1::ListTasksRequest>("ListTasks").page_token(), "xx");
  EXPECT_NE(ran.err.find("raise --limit"), std::string::npos);
}

TEST_F(ServerCommands, ColoursAreForTerminalsWithoutNoColor) {
  v1::ListTasksResponse answer;
  *answer.add_tasks() = pending_task();
  server.answer("ListTasks", answer);
  EXPECT_EQ(run({"tasks"}).out.find('\x1b'), std::string::npos);
  terminal = true;
  EXPECT_NE(run({"tasks"}).out.find("\x1b[33mpending\x1b[0m"), std::string::npos);
  EXPECT_EQ(run({"tasks", "-o", "json"}).out.find('\x1b'), std::string::npos);
  environment["NO_COLOR"] = "1";
  EXPECT_EQ(run({"tasks"}).out.find('\x1b'), std::string::npos);
}

TEST_F(ServerCommands, StatusShowsOneTask) {
  v1::TaskStatus task = running_task();
  task.set_state(v1::FAILED);
  task.set_ended_unix_ms(kNow - 1000);
  task.mutable_result()->set_exit_status(3);
  (*task.mutable_labels())["k"] = "\x1b[2J";
  v1::Attempt& attempt = *task.add_history();
  attempt.set_number(1);
  attempt.add_gpus("a0");
  attempt.set_started_unix_ms(kNow - 5000);
  attempt.set_ended_unix_ms(kNow - 1000);
  *attempt.mutable_result() = task.result();
  task.mutable_spec()->set_gpus(2);
  task.mutable_spec()->set_within("node");
  server.answer("GetTaskStatus", task);
  const Ran ran = run({"status", "run", "--tenant", "research"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.out,
            "task       run\n"
            "number     12\n"
            "tenant     research\n"
            "queue      llm\n"
            "state      failed\n"
            "reason     exit status 3\n"
            "tier       0\n"
            "priority   0\n"
            "needs      2 GPUs preferably within one node\n"
            "vram       8GB\n"
            "attempts   1\n"
            "gpus       a0\n"
            "submitted  2026-11-18 11:03:28Z (3m12s ago)\n"
            "started    2026-11-18 11:06:35Z (5s ago)\n"
            "ended      2026-11-18 11:06:39Z (1s ago)\n"
            "ran        4.0s\n"
            "label      k=\\x1b[2J\n"
            "attempt 1  on a0, 4.0s, exit status 3\n");
  const auto request = server.request<v1::GetTaskStatusRequest>("GetTaskStatus");
  EXPECT_EQ(request.task_id(), "run");
  EXPECT_EQ(request.user_id(), "research");
  EXPECT_TRUE(request.with_spec());
  EXPECT_EQ(from_json<v1::TaskStatus>(run({"status", "run", "-o", "json"}).out).state(),
            v1::FAILED);
  EXPECT_EQ(run({"status"}).err,
            "berth status: expected ID, a task's id; t-123 is the task numbered 123\n"
            "Try 'berth status --help'.\n");
}

// The status comes from what the server has at hand; why it waits, the engine says.
TEST_F(ServerCommands, TheStatusOfATaskThatWaitsIsExplained) {
  v1::TaskStatus task = pending_task();
  task.clear_reason();
  server.answer("GetTaskStatus", task);
  v1::ExplainTaskResponse answer;
  *answer.mutable_status() = pending_task();
  answer.mutable_status()->set_expected_start_unix_ms(kNow + 131'000);
  server.answer("ExplainTask", answer);
  const std::string out = run({"status", "train-1"}).out;
  EXPECT_NE(out.find("no GPU has enough free VRAM"), std::string::npos) << out;
  EXPECT_NE(out.find("(in 2m11s)"), std::string::npos) << out;
  EXPECT_EQ(server.request<v1::ExplainTaskRequest>("ExplainTask").task_id(), "t-12");
  answer.mutable_status()->set_state(v1::RUNNING);  // it has started between the two
  server.answer("ExplainTask", answer);
  EXPECT_EQ(run({"status", "train-1"}).out.find("no GPU has"), std::string::npos);
}

TEST_F(ServerCommands, StatusShowsWhatStoppingItCosts) {
  v1::TaskStatus task = running_task();
  server.answer("GetTaskStatus", task);
  EXPECT_EQ(run({"status", "run"}).out.find("checkpoints"), std::string::npos);
  EXPECT_EQ(run({"status", "run"}).out.find("restart cost"), std::string::npos);
  task.mutable_spec()->set_checkpoint_interval_ms(600'000);
  task.mutable_spec()->set_restart_cost_ms(30'000);
  server.answer("GetTaskStatus", task);
  const std::string out = run({"status", "run"}).out;
  EXPECT_NE(out.find("checkpoints   every 10m00s\n"), std::string::npos) << out;
  EXPECT_NE(out.find("restart cost  30s\n"), std::string::npos) << out;
}

TEST_F(ServerCommands, ExplainPrintsEachReasonAsASentence) {
  v1::ExplainTaskResponse answer;
  *answer.mutable_status() = pending_task();
  *answer.add_binding() = pending_task().reason();
  v1::Reason& bare = *answer.add_binding();
  bare.set_code("tenant_at_max");
  bare.set_need(3000);
  bare.set_have(1000);
  bare.set_unit("milli-GPUs");
  bare.set_subject("research");
  bare.set_never(true);
  answer.mutable_status()->set_position(2);
  answer.set_ahead_in_flow(1);
  answer.set_ahead_in_queue(2);
  answer.set_holder_gpu("a0");
  answer.set_holder_ends_unix_ms(kNow + 130'000);
  answer.set_expected_start_unix_ms(kNow + 131'000);
  answer.set_earliest_start_unix_ms(kNow + 65'500);
  answer.set_latest_start_unix_ms(kNow + 262'000);
  server.answer("ExplainTask", answer);
  EXPECT_EQ(
      run({"explain", "train-1"}).out,
      "task train-1 of tenant research in queue llm is pending.\n"
      "  1. no GPU has enough free VRAM: needs 8192 MiB, a0 has 512 [vram_short]\n"
      "  2. tenant_at_max: asked for 3000 milli-GPUs, available or allowed: 1000 milli-GPUs "
      "(research) (waiting cannot help)\n"
      "Ahead of it: 1 task of its tenant. It is number 2 of 3 in its queue.\n"
      "It can move on when the work on a0 ends, expected 2026-11-18 11:08:50Z (in "
      "2m10s).\n"
      "Expected start: 2026-11-18 11:08:51Z (in 2m11s), between 2026-11-18 11:07:45Z (in 1m05s) "
      "and 2026-11-18 11:11:02Z (in 4m22s).\n");
  EXPECT_EQ(run({"explain", "train-1", "-o", "name"}).out, "vram_short\ntenant_at_max\n");
  EXPECT_EQ(
      from_json<v1::ExplainTaskResponse>(run({"explain", "t", "-o", "json"}).out).binding_size(),
      2);
}

// ---- Changes
// -------------------------------------------------------------------------------------

v1::CancelTaskResponse cancelled(std::uint64_t count) {
  v1::CancelTaskResponse answer;
  answer.set_matched(count);
  answer.set_cancelled(count);
  return answer;
}

TEST_F(ServerCommands, OneTaskIsCancelledWithoutAQuestion) {
  server.answer("CancelTask", cancelled(1));
  const Ran ran = run({"cancel", "t1", "--tenant", "a"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "cancelled 1 task\n");
  const auto request = server.request<v1::CancelTaskRequest>("CancelTask");
  EXPECT_EQ(request.task_id(), "t1");
  EXPECT_EQ(request.user_id(), "a");
}

TEST_F(ServerCommands, WhatStillRunsAfterACancelIsSaid) {
  v1::CancelTaskResponse answer = cancelled(1);
  answer.set_stopping(1);
  server.answer("CancelTask", answer);
  EXPECT_EQ(run({"cancel", "t1"}).err,
            "cancelled 1 task; it runs until the processes have ended\n");
  answer = cancelled(5);
  answer.set_stopping(2);
  server.answer("CancelTask", answer);
  EXPECT_EQ(run({"cancel", "t1"}).err, "cancelled 5 tasks; 2 run until the processes have ended\n");
}

TEST_F(ServerCommands, ATaskThatIsBeingCancelledIsShownAsSuch) {
  v1::TaskStatus task;
  task.set_task_id("t1");
  task.set_state(v1::RUNNING);
  task.mutable_reason()->set_code("cancelling");
  task.mutable_reason()->set_message("is being cancelled");
  server.answer("GetTaskStatus", task);
  const Ran ran = run({"status", "t1"});
  EXPECT_NE(ran.out.find("cancelling"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("running"), std::string::npos) << ran.out;
}

TEST_F(ServerCommands, SeveralIdsNeedAYes) {
  server.answer("CancelTask", cancelled(1));
  EXPECT_EQ(run({"cancel", "t1", "t2"}).code, kBadInput);
  EXPECT_EQ(server.calls("CancelTask"), 0U);
  EXPECT_EQ(run({"cancel", "t1", "t2", "--yes"}).err, "cancelled 2 tasks\n");
  EXPECT_EQ(server.calls("CancelTask"), 2U);
}

TEST_F(ServerCommands, AGroupIsCountedThenAskedAboutThenCancelled) {
  server.answer("CancelTask", cancelled(3));
  Ran ran = run({"cancel", "--group", "g"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_EQ(ran.err,
            "3 tasks match\nberth: error: not confirmed: 3 tasks would be cancelled; nothing was "
            "done. Add --yes to do it.\n");
  EXPECT_TRUE(server.request<v1::CancelTaskRequest>("CancelTask").dry_run());
  terminal = true;
  input = "n\n";
  EXPECT_EQ(run({"cancel", "--group", "g"}).code, kBadInput);
  EXPECT_TRUE(server.request<v1::CancelTaskRequest>("CancelTask").dry_run());
  input = "y\n";
  ran = run({"cancel", "--group", "g"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "3 tasks match\ncancel 3 tasks? [y/N] cancelled 3 tasks\n");
  const auto request = server.request<v1::CancelTaskRequest>("CancelTask");
  EXPECT_FALSE(request.dry_run());
  EXPECT_EQ(request.group(), "g");
  EXPECT_FALSE(request.has_filter());
}

TEST_F(ServerCommands, ADryRunOfIdsAsksForEach) {
  server.on("CancelTask", [](const std::string& bytes) {
    v1::CancelTaskRequest request;
    request.ParseFromString(bytes);
    if (!request.dry_run()) return Reply{{cancelled(1).SerializeAsString()}};
    v1::CancelTaskResponse counted;
    counted.set_matched(1);
    if (request.task_id() == "t2")
      return Reply{{}, detailed(grpc::StatusCode::NOT_FOUND, "there is no task \"t2\"", "")};
    return Reply{{counted.SerializeAsString()}};
  });
  const Ran ran = run({"cancel", "t1", "t2", "t3", "--dry-run"});
  EXPECT_EQ(ran.code, kNotFound);
  EXPECT_EQ(ran.out, "2\n");
  EXPECT_EQ(ran.err, "berth: error: cannot cancel task t2: there is no task \"t2\"\n");
}

TEST_F(ServerCommands, AFilterIsSentWhole) {
  server.answer("CancelTask", cancelled(2));
  EXPECT_EQ(run({"cancel", "--group", "g", "--state", "pending", "--yes"}).code, kOk);
  const auto request = server.request<v1::CancelTaskRequest>("CancelTask");
  EXPECT_EQ(request.filter().group(), "g");
  EXPECT_EQ(request.filter().states(0), v1::PENDING);
  EXPECT_EQ(run({"cancel", "--queue", "q", "--dry-run"}).out, "2\n");
  EXPECT_TRUE(server.request<v1::CancelTaskRequest>("CancelTask").dry_run());
  server.answer("CancelTask", cancelled(0));
  EXPECT_EQ(run({"cancel", "--queue", "q"}).err, "no task matches; nothing was cancelled\n");
  EXPECT_EQ(run({"cancel"}).code, kBadInput);
  EXPECT_EQ(run({"cancel", "t1", "--group", "g"}).code, kBadInput);
}

TEST_F(ServerCommands, HoldAndReleaseGoThroughAllIds) {
  server.on("HoldTask", [](const std::string& bytes) {
    v1::HoldTaskRequest request;
    request.ParseFromString(bytes);
    if (request.task_id() != "gone") return client::testing::Reply{{""}, {}};
    return client::testing::Reply{{}, grpc::Status(grpc::StatusCode::NOT_FOUND, "no such task")};
  });
  server.answer("ReleaseTask", v1::ReleaseTaskResponse());
  const Ran ran = run({"hold", "gone", "t2"});
  EXPECT_EQ(ran.code, kNotFound);
  EXPECT_EQ(ran.err, "berth: error: cannot hold task gone: no such task\n");
  EXPECT_EQ(server.request<v1::HoldTaskRequest>("HoldTask").task_id(), "t2");
  EXPECT_EQ(run({"release", "t1"}).err, "released; next: berth status t1\n");
}

TEST_F(ServerCommands, AnUpdateSendsWhatIsNamedAndNothingElse) {
  server.on("UpdateTask", [](const std::string& bytes) {
    v1::UpdateTaskRequest request;
    request.ParseFromString(bytes);
    v1::UpdateTaskResponse answer;
    answer.mutable_status()->set_task_id(request.task_id());
    answer.mutable_status()->set_state(v1::PENDING);
    if (request.task_id() != "gone") return Reply{{answer.SerializeAsString()}, {}};
    return Reply{{}, grpc::Status(grpc::StatusCode::NOT_FOUND, "no such task")};
  });
  // Zero means something: the server's limit, and for ever.
  Ran ran = run({"update", "t1", "--run-limit", "0s", "--tolerated-wait", "0"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.err, "updated; next: berth status t1\n");
  auto sent = server.request<v1::UpdateTaskRequest>("UpdateTask");
  EXPECT_TRUE(sent.has_run_limit_ms() && sent.has_tolerated_wait_ms());
  EXPECT_EQ(sent.run_limit_ms() + sent.tolerated_wait_ms(), 0);
  EXPECT_FALSE(sent.has_priority() || sent.has_task_type() || sent.has_gpu_memory_mb());

  ran = run({"update", "t1", "--run-limit", "2h", "--priority", "-32768", "--queue", "q", "--vram",
             "4GB", "--tenant", "a"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  sent = server.request<v1::UpdateTaskRequest>("UpdateTask");
  EXPECT_EQ(sent.run_limit_ms(), 7'200'000);
  EXPECT_EQ(sent.priority(), -32768);
  EXPECT_EQ(sent.task_type(), "q");
  EXPECT_EQ(sent.gpu_memory_mb(), 4096);
  EXPECT_EQ(sent.user_id(), "a");
  EXPECT_FALSE(sent.has_tolerated_wait_ms());

  // Several: each is tried, and the document has those that were changed.
  ran = run({"update", "t1", "gone", "t2", "--priority", "1", "-o", "name"});
  EXPECT_EQ(ran.code, kNotFound);
  EXPECT_EQ(ran.out, "t1\nt2\n");
  ran = run({"update", "t1", "--priority", "1", "-o", "json"});
  EXPECT_EQ(ran.code, kOk);
  v1::ListTasksResponse updated;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ran.out, &updated).ok()) << ran.out;
  ASSERT_EQ(updated.tasks_size(), 1);
  EXPECT_EQ(updated.tasks(0).task_id(), "t1");

  EXPECT_EQ(run({"update", "t1"}).code, kBadInput);
}

// Submit and update take the same numbers, and the server no others.
TEST_F(ServerCommands, PrioritiesHaveOneRange) {
  for (const std::string number : {"32768", "-32769"}) {
    for (const auto& words :
         {std::vector<std::string>{"update", "t1"}, {"submit", "--queue", "q", "--payload", "x"}}) {
      auto all = words;
      all.insert(all.end(), {"--priority", number});
      const Ran ran = run(all);
      EXPECT_EQ(ran.code, kBadInput);
      EXPECT_NE(ran.err.find("-32768 to 32767"), std::string::npos) << ran.err;
    }
  }
}

TEST_F(ServerCommands, ResolveSaysHowManyWaited) {
  v1::ResolveDependencyResponse answer;
  answer.set_released(2);
  server.answer("ResolveDependency", answer);
  EXPECT_EQ(run({"resolve", "data"}).err, "resolved; 2 tasks waited for it\n");
  EXPECT_EQ(server.request<v1::ResolveDependencyRequest>("ResolveDependency").signal(), "data");
}

// ---- Streams
// -------------------------------------------------------------------------------------

std::vector<v1::TaskEvent> two_events() {
  std::vector<v1::TaskEvent> events(2);
  for (std::size_t i = 0; i < 2; ++i) {
    events[i].set_sequence(40 + i);
    events[i].set_at_unix_ms(kNow);
    events[i].set_task_id("t1");
    events[i].set_user_id("user-123");
    events[i].set_task_type("llm");
    events[i].set_state(i == 0 ? v1::PENDING : v1::RUNNING);
  }
  return events;
}

TEST_F(ServerCommands, EventsAreLines) {
  server.stream("TaskEvents", two_events());
  const Ran ran = run({"events", "--task", "t1"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(
      ran.out,
      "     SEQUENCE  TIME                  TASK                TENANT        QUEUE         STATE  "
      "    GPUS     REASON\n"
      "           40  2026-11-18 11:06:40Z  t1                  user-123      llm           pending"
      "    -        -\n"
      "           41  2026-11-18 11:06:40Z  t1                  user-123      llm           running"
      "    -        -\n");
  auto request = server.request<v1::TaskEventsRequest>("TaskEvents");
  EXPECT_TRUE(request.from_start());
  EXPECT_FALSE(request.follow());
  EXPECT_EQ(request.filter().task_ids(0), "t1");
  const std::string json = run({"events", "--follow", "--from", "40", "-o", "json"}).out;
  EXPECT_EQ(from_json<v1::TaskEvent>(json.substr(0, json.find('\n'))).sequence(), 40U);
  EXPECT_EQ(std::ranges::count(json, '\n'), 2);
  request = server.request<v1::TaskEventsRequest>("TaskEvents");
  EXPECT_EQ(request.after_sequence(), 39U);
  EXPECT_FALSE(request.from_start());
  EXPECT_EQ(run({"events", "--follow", "-o", "name"}).out, "t1\nt1\n");
  const std::string yaml = run({"events", "--watch", "-o", "yaml"}).out;
  EXPECT_TRUE(yaml.starts_with("---\nsequence: \"40\"\n")) << yaml;
  EXPECT_NE(yaml.find("\n---\nsequence: \"41\"\n"), std::string::npos) << yaml;
  EXPECT_TRUE(server.request<v1::TaskEventsRequest>("TaskEvents").follow());
}

TEST_F(ServerCommands, CtrlCEndsTheWatchAndSaysWhereItStopped) {
  server.stream("TaskEvents", two_events(), client::testing::Reply::Then::stay_open);
  on_flush = [this](const std::string& out) {
    if (out.find("      41  ") != std::string::npos) interrupted = true;  // the key is pressed
  };
  const Ran ran = run({"events", "--follow"});
  EXPECT_EQ(ran.code, kDetached);
  EXPECT_EQ(ran.err, "\nstopped watching; all goes on\nnext: berth events --follow --from 42\n");
}

TEST_F(ServerCommands, LogsGoWhereTheTaskWroteThem) {
  std::vector<v1::LogChunk> chunks(3);
  chunks[0].set_data("out\xff\n");
  chunks[1].set_data("err\n");
  chunks[1].set_stream(v1::LogChunk::STDERR);
  chunks[2].set_truncated(true);
  server.stream("GetTaskLogs", chunks);
  Ran ran = run({"logs", "t1", "--attempt", "2", "--follow"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.out, "out\xff\n");
  EXPECT_EQ(ran.err, "err\nberth: the output passed its limit and was cut here\n");
  auto request = server.request<v1::GetTaskLogsRequest>("GetTaskLogs");
  EXPECT_EQ(request.attempt(), 2U);
  EXPECT_TRUE(request.follow());
  chunks = {chunks[1]};
  server.stream("GetTaskLogs", chunks);
  EXPECT_EQ(run({"logs", "t1", "--stderr"}).out, "err\n");
  EXPECT_TRUE(server.request<v1::GetTaskLogsRequest>("GetTaskLogs").stderr_only());
  EXPECT_EQ(run({"logs", "t1", "--stderr", "--stdout"}).code, kBadInput);
  server.fail("GetTaskLogs", grpc::Status(grpc::StatusCode::NOT_FOUND, "no such task"));
  EXPECT_EQ(run({"logs", "t1"}).code, kNotFound);
}

// ---- The way to the server
// -----------------------------------------------------------------------

TEST_F(ServerCommands, EveryCodeOfTheServerHasItsExitCode) {
  using enum grpc::StatusCode;
  const std::vector<std::pair<grpc::StatusCode, int>> table = {
      {INVALID_ARGUMENT, kBadInput},      {NOT_FOUND, kNotFound},
      {PERMISSION_DENIED, kDenied},       {UNAUTHENTICATED, kDenied},
      {RESOURCE_EXHAUSTED, kUnavailable}, {ALREADY_EXISTS, kConflict},
      {FAILED_PRECONDITION, kConflict},   {ABORTED, kConflict},
      {DEADLINE_EXCEEDED, kTimedOut},     {INTERNAL, kFailed},
      {UNIMPLEMENTED, kFailed},           {OUT_OF_RANGE, kFailed}};
  for (const auto& [code, exit] : table) {
    server.fail("GetServerInfo", grpc::Status(code, "why"));
    const Ran ran = run({"info"});
    EXPECT_EQ(ran.code, exit) << client::code_name(code);
    EXPECT_TRUE(ran.err.starts_with("berth: error: cannot ask the server about itself: why"));
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(exit_code_of(UNAVAILABLE), kUnavailable);
}

TEST_F(ServerCommands, AFailureSaysWhatHelps) {
  server.fail("GetServerInfo", detailed(grpc::StatusCode::RESOURCE_EXHAUSTED, "full",
                                        "cluster_queue_full", {}, 2000));
  EXPECT_NE(run({"info"}).err.find("\nTry again in 2.0s.\n"), std::string::npos);
  server.hang("GetServerInfo");
  const Ran slow = run({"info", "--timeout", "50ms"});
  EXPECT_EQ(slow.code, kTimedOut);
  EXPECT_NE(slow.err.find("Give it longer with --timeout."), std::string::npos);
  server.stop();
  const Ran away = run({"info"});
  EXPECT_EQ(away.code, kUnavailable);
  EXPECT_EQ(away.err, "berth: error: cannot ask the server about itself: no server answers at " +
                          server.address() +
                          "\nStart a server with 'berth serve', or name another with --server or "
                          "BERTH_SERVER.\n");
}

TEST_F(ServerCommands, TheTokenIsSentAndNeverPrinted) {
  server.fail("GetServerInfo", grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "who are you"));
  environment["BERTH_TOKEN"] = "from-environment";
  Ran ran = run({"info"});
  EXPECT_EQ(server.authorization(), "Bearer from-environment");
  EXPECT_EQ((ran.out + ran.err).find("from-environment"), std::string::npos);
  ran = run({"info", "--token", "from-flag"});
  EXPECT_EQ(server.authorization(), "Bearer from-flag");
  EXPECT_EQ((ran.out + ran.err).find("from-flag"), std::string::npos);
  ran = run({"info", "--server", "192.0.2.1:1"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.err.find("would send the token unencrypted"), std::string::npos);
}

TEST_F(ServerCommands, FlagsOfTheConnectionAreChecked) {
  EXPECT_EQ(run({"info", "-o", "jsn", "--timeout", "5"}).err,
            "berth info: -o: no format is named \"jsn\"; did you mean \"json\"?\n"
            "berth info: --timeout: expected a duration of 1ms or more, such as 500ms, 90s, 5min "
            "or 2h, found \"5\"\nTry 'berth info --help'.\n");
  EXPECT_EQ(run({"info", "--ca", "/no/such"}).code, kBadInput);
  EXPECT_EQ(run({"info", "--sever", "x"}).err,
            "berth info: unknown option --sever; did you mean --server?\n"
            "Try 'berth info --help'.\n");
}

}  // namespace
}  // namespace berth::cli::server_commands_test
