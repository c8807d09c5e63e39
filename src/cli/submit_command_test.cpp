// berth submit against a canned server: what is sent, what is printed, how it ends.
#include <cstdio>
#include <thread>

#include <gtest/gtest.h>

#include "cli/testing/shell.h"

namespace berth::cli::submit_command_test {
namespace {

using client::testing::detailed;
using client::testing::Reply;
using testing::kNow;
using testing::Ran;
using testing::ServedShell;

v1::TaskStatus task_in(v1::TaskState state) {
  v1::TaskStatus task;
  task.set_task_id("t1");
  task.set_user_id("default");
  task.set_state(state);
  task.set_attempts(state >= v1::RUNNING ? 1 : 0);
  return task;
}

v1::LogChunk chunk(const std::string& text, v1::LogChunk::Stream stream = v1::LogChunk::STDOUT) {
  v1::LogChunk result;
  result.set_stream(stream);
  result.set_data(text);
  return result;
}

class Submit : public ::testing::Test, protected ServedShell {
 protected:
  Submit() {
    v1::SubmitTaskResponse response;
    response.set_task_id("t1");
    response.set_task_no(7);
    server.answer("SubmitTask", response);
    server.hang("TaskEvents");
  }
  v1::TaskSpec sent() { return server.request<v1::SubmitTaskRequest>("SubmitTask").task(); }
};

TEST_F(Submit, PrintsTheIdAndSaysWhatToDoNext) {
  const Ran ran = run({"submit", "--queue", "llm", "--vram", "8GB", "--", "echo", "--help"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, "t1\n");
  EXPECT_EQ(ran.err, "next: berth status t1\n");
  EXPECT_EQ(sent().task_type(), "llm");
  EXPECT_EQ(sent().gpu_memory_mb(), 8192);
  EXPECT_EQ(sent().command().argv_size(), 2);
  EXPECT_EQ(sent().command().argv(1), "--help");
  EXPECT_EQ(server.request<v1::SubmitTaskRequest>("SubmitTask").request_id().size(), 36U);
  EXPECT_FALSE(sent().has_tier());
  EXPECT_FALSE(sent().has_gpus());
  EXPECT_FALSE(sent().has_retry());
  EXPECT_EQ(sent().workdir(), "/home/ann/project");
  EXPECT_TRUE(sent().env().empty());
}

TEST_F(Submit, AnArrayIsNamedAnewEachTime) {
  ASSERT_EQ(run({"submit", "--queue", "q", "--array", "0-99%10", "--", "c"}).code, kOk);
  EXPECT_EQ(sent().array().indices(), "0-99");
  EXPECT_EQ(sent().array().at_once(), 10U);
  EXPECT_TRUE(sent().task_id().starts_with("array-")) << sent().task_id();
  ASSERT_EQ(run({"submit", "--queue", "q", "--array", "7", "--group", "g", "--", "c"}).code, kOk);
  EXPECT_TRUE(sent().task_id().starts_with("g-")) << sent().task_id();
  EXPECT_EQ(sent().group(), "");
  ASSERT_EQ(run({"submit", "--queue", "q", "--array", "7", "--id", "x", "--", "c"}).code, kOk);
  EXPECT_EQ(sent().task_id(), "x");
  const Ran wrong = run({"submit", "--queue", "q", "--array", "7%", "--follow", "--", "c"});
  EXPECT_EQ(wrong.code, kBadInput);
  EXPECT_NE(wrong.err.find("--array: expected a number"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("--follow shows the output of one task"), std::string::npos)
      << wrong.err;
}

// So that an activated environment is the one that runs.
TEST_F(Submit, ACommandRunsWhereItWasSubmittedWithTheEnvironmentThatIsActive) {
  environment["PATH"] = "/venv/bin:/usr/bin";
  environment["VIRTUAL_ENV"] = "/venv";
  environment["CONDA_PREFIX"] = "";
  environment["HF_TOKEN"] = "s3cret";
  ASSERT_EQ(run({"submit", "--queue", "q", "--env", "A=1", "--", "c"}).code, kOk);
  EXPECT_EQ(sent().workdir(), "/home/ann/project");
  EXPECT_EQ(sent().env_size(), 3);
  EXPECT_EQ(sent().env().at("PATH"), "/venv/bin:/usr/bin");
  EXPECT_EQ(sent().env().at("VIRTUAL_ENV"), "/venv");
  EXPECT_EQ(sent().env().at("A"), "1");
  ASSERT_EQ(
      run({"submit", "--queue", "q", "--env", "PATH=/bin", "--env", "HF_TOKEN", "--", "c"}).code,
      kOk);
  EXPECT_EQ(sent().env().at("PATH"), "/bin");
  EXPECT_EQ(sent().env().at("HF_TOKEN"), "s3cret");
  ASSERT_EQ(run({"submit", "--queue", "q", "--no-env", "--no-workdir", "--", "c"}).code, kOk);
  EXPECT_TRUE(sent().env().empty());
  EXPECT_EQ(sent().workdir(), "");
  ASSERT_EQ(run({"submit", "--queue", "q", "--payload", "p"}).code, kOk);
  EXPECT_TRUE(sent().env().empty()) << "these are for commands";
  EXPECT_EQ(sent().workdir(), "");
}

TEST_F(Submit, AFolderIsSentWhole) {
  for (const auto& [given, whole] :
       std::vector<std::pair<std::string, std::string>>{{"runs/7", "/home/ann/project/runs/7"},
                                                        {"../data/", "/home/ann/data"},
                                                        {".", "/home/ann/project"},
                                                        {"/scratch", "/scratch"}}) {
    ASSERT_EQ(run({"submit", "--queue", "q", "--workdir", given, "--", "c"}).code, kOk);
    EXPECT_EQ(sent().workdir(), whole);
  }
  Ran ran = run({"submit", "--queue", "q", "--workdir", "a", "--no-workdir", "--env", "NOT_SET",
                 "--env", "=x", "--", "c"});
  EXPECT_EQ(ran.err,
            "berth submit: --env: \"NOT_SET\" is not set here; give --env NOT_SET=VALUE\n"
            "berth submit: --env: expected KEY=VALUE, found \"=x\"\n"
            "berth submit: give --workdir or --no-workdir, not both\n"
            "Try 'berth submit --help'.\n");
  folder = "";  // somebody has removed it
  ran = run({"submit", "--queue", "q", "--", "c"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.err.find("--no-workdir"), std::string::npos) << ran.err;
}

TEST_F(Submit, OutputGoesToFilesThatAreNamedByTheTask) {
  ASSERT_EQ(run({"submit", "--queue", "q", "--group", "it's", "--output", "logs/%x-%j.out",
                 "--error", "e%%", "--", "echo", "hi"})
                .code,
            kOk);
  ASSERT_EQ(sent().command().argv_size(), 6);
  EXPECT_EQ(sent().command().argv(0), "/bin/sh");
  EXPECT_EQ(sent().command().argv(2),
            "exec \"$@\" >>'logs/it'\\''s-'\"$BERTH_TASK_ID\"'.out' 2>>'e%'");
  EXPECT_EQ(sent().command().argv(5), "hi");
  ASSERT_EQ(run({"submit", "--queue", "q", "--output", "o", "--", "c"}).code, kOk);
  EXPECT_EQ(sent().command().argv(2), "exec \"$@\" >>'o' 2>&1");
  EXPECT_NE(run({"submit", "--queue", "q", "--output", "%q", "--", "c"}).err.find("only %j"),
            std::string::npos);
}

TEST_F(Submit, ZeroIsTakenWhereItMeansSomething) {
  ASSERT_EQ(run({"submit", "--queue", "q", "--attempts", "2", "--backoff", "0s", "--restart-cost",
                 "0", "--checkpoint-interval", "0s", "--not-before", "+0s", "--", "c"})
                .code,
            kOk);
  EXPECT_EQ(sent().retry().backoff_ms(), 0);
  EXPECT_EQ(sent().not_before_unix_ms(), kNow);
  EXPECT_EQ(run({"submit", "--queue", "q", "--tolerated-wait", "0s", "--", "c"}).err,
            "berth submit: --tolerated-wait: expected a duration of 1ms or more, such as 500ms, "
            "90s, 5min or 2h, found \"0s\"\nTry 'berth submit --help'.\n");
}

TEST_F(Submit, EveryFlagReachesTheServer) {
  const Ran ran = run({"submit",
                       "--queue",
                       "q",
                       "--tenant",
                       "a",
                       "--gpus",
                       "2",
                       "--share",
                       "0.5",
                       "--gpu-kind",
                       "a100",
                       "--gpu-kind",
                       "h100",
                       "--groups",
                       "2",
                       "--within",
                       "node",
                       "--required",
                       "--mig-profile",
                       "1g.10gb",
                       "--cpus",
                       "2.5",
                       "--memory",
                       "16GB",
                       "--priority",
                       "-3",
                       "--tier",
                       "0",
                       "--depends-on",
                       "x",
                       "--depends-on",
                       "signal:s",
                       "--run-after-failure",
                       "--group",
                       "g",
                       "--label",
                       "k=v",
                       "--env",
                       "E=1",
                       "--workdir",
                       "/w",
                       "--id",
                       "mine",
                       "--request-id",
                       "r",
                       "--expected-run",
                       "1s",
                       "--run-limit",
                       "2s",
                       "--tolerated-wait",
                       "3s",
                       "--checkpoint-interval",
                       "10min",
                       "--restart-cost",
                       "30s",
                       "--not-before",
                       "+4s",
                       "--deadline",
                       "1970-01-01T00:00:05Z",
                       "--attempts",
                       "6",
                       "--backoff",
                       "7s",
                       "--retry-on",
                       "crash,out_of_memory",
                       "--at-most-once",
                       "--stop-signal",
                       "INT",
                       "--stop-grace",
                       "8s",
                       "--result-ttl",
                       "9s",
                       "--tokens",
                       "10",
                       "--held",
                       "--",
                       "c"});
  ASSERT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.err, "next: berth status t1 --tenant a\n");
  const v1::TaskSpec spec = sent();
  EXPECT_EQ(server.request<v1::SubmitTaskRequest>("SubmitTask").request_id(), "r");
  EXPECT_EQ(spec.user_id(), "a");
  EXPECT_EQ(spec.gpus(), 2U);
  EXPECT_EQ(spec.share_milli(), 500U);
  ASSERT_EQ(spec.gpu_kinds_size(), 2);
  EXPECT_EQ(spec.gpu_kinds(1), "h100");
  EXPECT_EQ(spec.groups(), 2U);
  EXPECT_EQ(spec.within(), "node");
  EXPECT_TRUE(spec.required());
  EXPECT_EQ(spec.mig_profile(), "1g.10gb");
  EXPECT_EQ(spec.cpus_milli(), 2500U);
  EXPECT_EQ(spec.memory_mb(), 16'384);
  EXPECT_EQ(spec.priority(), -3);
  EXPECT_TRUE(spec.has_tier());
  EXPECT_EQ(spec.depends_on(1), "signal:s");
  EXPECT_TRUE(spec.run_after_failure());
  EXPECT_EQ(spec.group(), "g");
  EXPECT_EQ(spec.labels().at("k"), "v");
  EXPECT_EQ(spec.env().at("E"), "1");
  EXPECT_EQ(spec.workdir(), "/w");
  EXPECT_EQ(spec.task_id(), "mine");
  EXPECT_EQ(spec.expected_run_ms(), 1000);
  EXPECT_EQ(spec.run_limit_ms(), 2000);
  EXPECT_EQ(spec.tolerated_wait_ms(), 3000);
  EXPECT_EQ(spec.checkpoint_interval_ms(), 600'000);
  EXPECT_EQ(spec.restart_cost_ms(), 30'000);
  EXPECT_EQ(spec.not_before_unix_ms(), kNow + 4000);
  EXPECT_EQ(spec.deadline_unix_ms(), 5000);
  EXPECT_EQ(spec.retry().attempts(), 6U);
  EXPECT_EQ(spec.retry().backoff_ms(), 7000);
  EXPECT_EQ(spec.retry().on(0), v1::CRASH);
  EXPECT_EQ(spec.retry().on(1), v1::OUT_OF_MEMORY);
  EXPECT_EQ(spec.start(), v1::AT_MOST_ONCE);
  EXPECT_EQ(spec.stop_signal(), "INT");
  EXPECT_EQ(spec.stop_grace_ms(), 8000);
  EXPECT_EQ(spec.result_ttl_ms(), 9000);
  EXPECT_EQ(spec.tokens(), 10U);
  EXPECT_TRUE(spec.held());
}

TEST_F(Submit, NoGpuIsSentAsNone) {
  ASSERT_EQ(run({"submit", "--queue", "q", "--gpus", "0", "--cpus", "4", "--", "c"}).code, kOk);
  EXPECT_TRUE(sent().has_gpus());
  EXPECT_EQ(sent().gpus(), 0U);
}

TEST_F(Submit, AllThatIsWrongIsSaidAtOnceAndNothingIsSent) {
  const Ran ran = run({"submit", "--vram", "8", "--memory", "lots", "--cpus", "0", "--tier", "4",
                       "--retry-on", "crsh", "--label", "x"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_EQ(ran.err,
            "berth submit: expected --queue QUEUE; 'berth queues' lists them\n"
            "berth submit: --label: expected KEY=VALUE, found \"x\"\n"
            "berth submit: --vram: expected a size such as 8GB or 512MB, found \"8\"\n"
            "berth submit: --cpus: expected a number of CPU cores from 0.001 to 1000000, such as 4 "
            "or 0.5, found \"0\"\n"
            "berth submit: --memory: expected a size such as 8GB or 512MB, found \"lots\"\n"
            "berth submit: --tier: expected an integer from 0 to 3, found \"4\"\n"
            "berth submit: --retry-on: no failure is named \"crsh\"; did you mean \"crash\"?\n"
            "berth submit: give a command behind --, a script, or --payload\n"
            "Try 'berth submit --help'.\n");
  EXPECT_EQ(server.calls("SubmitTask"), 0U);
  EXPECT_NE(run({"submit", "--queue", "q", "--payload", "p", "--", "c"})
                .err.find("give a command or --payload, not both"),
            std::string::npos);
  EXPECT_EQ(run({"submit", "--queue", "q", "--workdir", "w", "--payload", "p"}).err,
            "berth submit: --workdir is for commands, not for a --payload\n"
            "Try 'berth submit --help'.\n");
}

TEST_F(Submit, APayloadIsTextOrAFile) {
  ASSERT_EQ(run({"submit", "--queue", "q", "--payload", "{}"}).code, kOk);
  EXPECT_EQ(sent().payload(), "{}");
  EXPECT_FALSE(sent().has_command());
  const std::string path = ::testing::TempDir() + "berth_payload.bin";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite("a\0b", 1, 3, file);
  std::fclose(file);
  ASSERT_EQ(run({"submit", "--queue", "q", "--payload", "@" + path}).code, kOk);
  EXPECT_EQ(sent().payload(), std::string("a\0b", 3));
  std::remove(path.c_str());
  EXPECT_EQ(run({"submit", "--queue", "q", "--payload", "@" + path}).code, kBadInput);
  piped = "{\"prompt\": \"hi\"}\n";
  ASSERT_EQ(run({"submit", "--queue", "q", "--payload", "@-"}).code, kOk);
  EXPECT_EQ(sent().payload(), piped);
}

TEST_F(Submit, JsonIsTheAnswer) {
  const Ran ran = run({"submit", "--queue", "q", "-o", "json", "--", "c"});
  EXPECT_EQ(
      ran.out,
      "{\n \"task_id\": \"t1\",\n \"task_no\": \"7\",\n \"duplicate\": false,\n \"tasks\": 0\n}\n");
}

TEST_F(Submit, ARefusalNamesEachFieldAndAMisspelledQueueIsAnsweredWithTheNearest) {
  server.fail("SubmitTask",
              detailed(grpc::StatusCode::INVALID_ARGUMENT, "the task is not valid", "bad_spec",
                       {{"task.gpus", "at most 8"}, {"task.env", "no \x1b"}}));
  Ran ran = run({"submit", "--queue", "q", "--", "c"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_EQ(ran.err,
            "berth: error: cannot submit the task: the task is not valid\n"
            "  --gpus: at most 8\n"
            "  --env: no \\x1b\n");
  server.fail("SubmitTask",
              detailed(grpc::StatusCode::NOT_FOUND, "no queue is named \"lmm\"", "unknown_queue"));
  v1::GetQueueStatusResponse queues;
  queues.add_queues()->set_name("llm");
  queues.add_queues()->set_name("diffusion");
  server.answer("GetQueueStatus", queues);
  ran = run({"submit", "--queue", "lmm", "--", "c"});
  EXPECT_EQ(ran.code, kNotFound);
  EXPECT_EQ(ran.err,
            "berth: error: cannot submit the task: no queue is named \"lmm\"; did you mean "
            "\"llm\"?\n");
}

TEST_F(Submit, WaitPrintsTheOutputAndEndsAsTheTask) {
  server.answer("GetTaskStatus", task_in(v1::COMPLETED));
  server.stream("GetTaskLogs",
                std::vector{chunk("hi\n"), chunk("oops\n", v1::LogChunk::STDERR), chunk("you\n")});
  Ran ran = run({"submit", "--queue", "q", "--wait", "--", "c"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.out, "hi\nyou\n");
  EXPECT_EQ(ran.err, "submitted t1\noops\n");
  EXPECT_EQ(server.request<v1::GetTaskLogsRequest>("GetTaskLogs").attempt(), 1U);

  v1::TaskStatus failed = task_in(v1::FAILED);
  failed.mutable_reason()->set_message("failed and has no attempt left: exit status 3");
  server.answer("GetTaskStatus", failed);
  ran = run({"submit", "--queue", "q", "--wait", "--", "c"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "hi\nyou\n");
  EXPECT_NE(ran.err.find("berth: error: task t1 failed: failed and has no attempt left: exit "
                         "status 3\nnext: berth status t1\n"),
            std::string::npos)
      << ran.err;

  failed.mutable_result()->set_message("The command ended with status 3 after 905 ms.");
  server.answer("GetTaskStatus", failed);
  ran = run({"submit", "--queue", "q", "--wait", "--", "c"});
  EXPECT_NE(ran.err.find("task t1 failed: The command ended with status 3 after 905 ms\n"),
            std::string::npos)
      << "what it did, not that no attempt is left: " << ran.err;
}

TEST_F(Submit, TheExitCodeIsTheCommands) {
  server.stream("GetTaskLogs", std::vector<v1::LogChunk>());
  const auto code_of = [&](v1::TaskState state, int status, int signal,
                           v1::FailureKind kind = v1::ERROR, std::uint32_t attempts = 1) {
    v1::TaskStatus task = task_in(state);
    task.set_attempts(attempts);
    task.mutable_result()->set_exit_status(status);
    task.mutable_result()->set_term_signal(signal);
    task.mutable_result()->set_failure(kind);
    server.answer("GetTaskStatus", task);
    const int waited = run({"submit", "--queue", "q", "--wait", "--", "c"}).code;
    EXPECT_EQ(run({"submit", "--queue", "q", "--follow", "--", "c"}).code, waited);
    EXPECT_EQ(run({"wait", "t1"}).code, waited);
    return waited;
  };
  EXPECT_EQ(code_of(v1::FAILED, 3, 0), 3);
  EXPECT_EQ(code_of(v1::FAILED, 1, 0, v1::OUT_OF_MEMORY), 1);
  EXPECT_EQ(code_of(v1::FAILED, 0, 9, v1::CRASH), 137);
  EXPECT_EQ(code_of(v1::FAILED, 0, 15, v1::TIMEOUT), kTaskOverran);
  EXPECT_EQ(code_of(v1::FAILED, 0, 0, v1::TIMEOUT), kTaskOverran) << "it ended well in its grace";
  EXPECT_EQ(code_of(v1::FAILED, 0, 0, v1::INFRASTRUCTURE), kFailed);
  EXPECT_EQ(code_of(v1::FAILED, 0, 0, v1::FAILURE_KIND_UNSPECIFIED, 0), kFailed);
  EXPECT_EQ(code_of(v1::CANCELLED, 0, 15, v1::CRASH), kTaskCancelled);
  EXPECT_EQ(code_of(v1::EXPIRED, 0, 0), kTaskExpired);
  EXPECT_EQ(code_of(v1::COMPLETED, 0, 0), kOk);
}

TEST_F(Submit, ATaskThatTheServerHoldsEndsTheWaiting) {
  v1::TaskStatus task = task_in(v1::WAITING);
  task.set_attempts(3);
  task.mutable_reason()->set_code("poison_held");
  task.mutable_reason()->set_message("held after 3 failures of the same kind");
  task.mutable_result()->set_message("The command ended with status 3.");
  task.mutable_result()->set_exit_status(3);
  server.answer("GetTaskStatus", task);
  server.stream("GetTaskLogs", std::vector{chunk("so far\n")});
  for (const char* flag : {"--wait", "--follow"}) {
    const Ran ran =
        run({"submit", "--queue", "q", "--tenant", "a", "--timeout", "20s", flag, "--", "c"});
    EXPECT_EQ(ran.code, kTaskHeld);
    // --wait has the output of the last attempt, --follow that of each.
    EXPECT_EQ(ran.out, flag == std::string("--wait") ? "so far\n" : "so far\nso far\nso far\n");
    EXPECT_EQ(ran.err,
              "submitted t1 --tenant a\n"
              "berth: error: the server holds task t1: held after 3 failures of the same kind\n"
              "its last attempt: The command ended with status 3\n"
              "next: berth release t1 --tenant a lets it start again, berth cancel t1 --tenant a "
              "ends it\n");
  }
  task.mutable_reason()->set_code("task_held");  // by a person, who will release it
  server.answer("GetTaskStatus", task);
  EXPECT_EQ(run({"submit", "--queue", "q", "--wait", "--timeout", "100ms", "--", "c"}).code,
            kTimedOut);
}

TEST_F(Submit, WaitPrintsTheResultOfAPayload) {
  v1::TaskStatus done = task_in(v1::COMPLETED);
  done.mutable_result()->set_result("{\"text\": \"hi\"}");
  server.answer("GetTaskStatus", done);
  EXPECT_EQ(run({"submit", "--queue", "q", "--wait", "--payload", "p"}).out,
            "{\"text\": \"hi\"}\n");
}

TEST_F(Submit, WaitWithJsonIsOneDocument) {
  server.answer("GetTaskStatus", task_in(v1::COMPLETED));
  const Ran ran = run({"submit", "--queue", "q", "--wait", "-o", "json", "--", "c"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_TRUE(ran.out.starts_with("{\n \"task_id\": \"t1\",")) << ran.out;
  EXPECT_NE(ran.out.find("\"state\": \"COMPLETED\""), std::string::npos);
}

TEST_F(Submit, AnEventWakesTheWaiter) {
  std::atomic<int> asked = 0;
  server.on("GetTaskStatus", [&](const std::string&) {
    const auto state = ++asked == 1 ? v1::PENDING : v1::COMPLETED;
    return Reply{{task_in(state).SerializeAsString()}, {}};
  });
  server.stream("TaskEvents", std::vector<v1::TaskEvent>(1), Reply::Then::stay_open);
  EXPECT_EQ(run({"submit", "--queue", "q", "--wait", "--payload", "p"}).code, kOk);
  EXPECT_EQ(asked, 2);
  const auto request = server.request<v1::TaskEventsRequest>("TaskEvents");
  EXPECT_EQ(request.filter().task_ids(0), "t1");
  EXPECT_TRUE(request.follow());
}

TEST_F(Submit, AServerThatIsAwayForAMomentIsWaitedFor) {
  std::atomic<int> asked = 0;
  server.on("GetTaskStatus", [&](const std::string&) {
    if (++asked < 6) return Reply{{}, grpc::Status(grpc::StatusCode::UNAVAILABLE, "restart")};
    return Reply{{task_in(v1::COMPLETED).SerializeAsString()}, {}};
  });
  const Ran ran = run({"submit", "--queue", "q", "--wait", "--payload", "p"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "submitted t1\nthe server is away or busy; waiting for it\n");
}

TEST_F(Submit, ATimeoutEndsTheWaitNotTheTask) {
  server.answer("GetTaskStatus", task_in(v1::PENDING));
  const Ran ran = run({"submit", "--queue", "q", "--wait", "--timeout", "100ms", "--", "c"});
  EXPECT_EQ(ran.code, kTimedOut);
  EXPECT_NE(
      ran.err.find("task t1 did not end within --timeout; it goes on\nnext: berth status t1\n"),
      std::string::npos)
      << ran.err;
}

TEST_F(Submit, CtrlCDetachesAndSaysHowToLookAgain) {
  server.on("GetTaskStatus", [&](const std::string&) {
    interrupted = true;  // the key is pressed while it waits
    return Reply{{task_in(v1::PENDING).SerializeAsString()}, {}};
  });
  for (const char* flag : {"--wait", "--follow"}) {
    interrupted = false;
    const Ran ran = run({"submit", "--queue", "q", "--tenant", "a", flag, "--", "c"});
    EXPECT_EQ(ran.code, kDetached);
    EXPECT_EQ(ran.err,
              "submitted t1 --tenant a\n\ndetached; the task goes on. See it again:\n"
              "  berth status t1 --tenant a\n  berth logs t1 --tenant a --follow\n"
              "or end it: berth cancel t1 --tenant a\n");
  }
}

// It is put back for other work while it runs, and one attempt is over before anybody looks.
TEST_F(Submit, FollowGoesOnAfterAPreemption) {
  std::atomic<int> asked = 0;
  server.on("GetTaskStatus", [&](const std::string&) {
    const int number = ++asked;
    v1::TaskStatus task = task_in(number == 2   ? v1::PENDING
                                  : number == 3 ? v1::RUNNING
                                                : v1::COMPLETED);
    if (number == 1) task.set_state(v1::RUNNING);
    task.set_attempts(number < 3 ? 1 : 3);
    return Reply{{task.SerializeAsString()}, {}};
  });
  server.on("GetTaskLogs", [&](const std::string& bytes) {
    v1::GetTaskLogsRequest request;
    request.ParseFromString(bytes);
    EXPECT_EQ(request.follow(), request.attempt() != 2) << "only the last one may go on";
    const std::string text = "run " + std::to_string(request.attempt()) + "\n";
    return Reply{{chunk(text).SerializeAsString()}, {}};
  });
  const Ran ran = run({"submit", "--queue", "q", "--follow", "--", "c"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, "run 1\nrun 2\nrun 3\n");
}

TEST_F(Submit, FollowShowsEachAttemptOnceAndGoesOnAfterABreak) {
  std::atomic<int> asked = 0;
  server.on("GetTaskStatus", [&](const std::string&) {
    v1::TaskStatus task = task_in(v1::RUNNING);
    const int number = ++asked;
    if (number >= 2) task.set_attempts(2);
    if (number >= 3) task.set_state(v1::COMPLETED);
    return Reply{{task.SerializeAsString()}, {}};
  });
  std::atomic<int> streams = 0;
  server.on("GetTaskLogs", [&](const std::string& bytes) {
    v1::GetTaskLogsRequest request;
    request.ParseFromString(bytes);
    EXPECT_TRUE(request.follow());
    if (request.attempt() == 2) return Reply{{chunk("second\n").SerializeAsString()}, {}};
    Reply reply{{chunk("first ").SerializeAsString()}, {}};
    if (++streams == 1) {
      reply.status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "restart");
    } else {
      reply.messages.push_back(chunk("try\n").SerializeAsString());
    }
    return reply;
  });
  const Ran ran = run({"submit", "--queue", "q", "--follow", "--", "c"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, "first try\nsecond\n");
}

}  // namespace
}  // namespace berth::cli::submit_command_test
