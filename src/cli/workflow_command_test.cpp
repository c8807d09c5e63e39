// berth workflow: what is read from files, what is sent, what is printed, how it ends.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "cli/testing/shell.h"
#include "cli/workflow_file.h"

namespace berth::cli::workflow_command_test {
namespace {

using client::testing::Reply;
using testing::kNow;
using testing::Ran;
using testing::ServedShell;

constexpr const char* kTwo = R"(
[defaults]
queue = "llm"
group = "night"
vram = "4GB"
env = { A = "1" }

[[tasks]]
id = "a"
command = ["echo", ""]

[[tasks]]
id = "b"
queue = "embedding"
depends_on = ["a", "signal:go", "elsewhere"]
vram_gb = 8
share = 0.5
env = { B = "2" }
retry = { attempts = 3, backoff = "30s", on = ["crash", "timeout"] }
not_before = "+10min"
start = "at_most_once"
payload = "text"
)";

std::string errors_in(const std::string& text, const std::string& name = "w.toml") {
  config::Diagnostics diagnostics;
  const auto read = read_workflow({name, text, "."}, "", kNow, diagnostics);
  EXPECT_FALSE(read);
  std::string errors;
  for (const config::Diagnostic& error : diagnostics.sorted())
    errors += diagnostics.place(error.at) + ": " + error.message + "\n";
  return errors;
}

v1::SubmitWorkflowRequest read(const std::string& text, const std::string& prefix = "",
                               const std::string& name = "w.toml") {
  config::Diagnostics diagnostics;
  const auto request = read_workflow({name, text, "."}, prefix, kNow, diagnostics);
  EXPECT_TRUE(request) << diagnostics.text();
  return request.value_or(v1::SubmitWorkflowRequest());
}

TEST(WorkflowFile, TasksHaveTheirOwnWordsOverTheDefaults) {
  const v1::SubmitWorkflowRequest request = read(kTwo);
  ASSERT_EQ(request.tasks_size(), 2);
  const v1::TaskSpec& a = request.tasks(0);
  EXPECT_EQ(a.task_type(), "llm");
  EXPECT_EQ(a.gpu_memory_mb(), 4096);
  EXPECT_EQ(a.command().argv_size(), 2);
  EXPECT_FALSE(a.has_retry());
  const v1::TaskSpec& b = request.tasks(1);
  EXPECT_EQ(b.task_type(), "embedding");
  EXPECT_EQ(b.group(), "night");
  EXPECT_EQ(b.gpu_memory_mb(), 8192);
  EXPECT_EQ(b.share_milli(), 500U);
  EXPECT_EQ(b.env().size(), 2U);
  EXPECT_EQ(b.depends_on_size(), 3);
  EXPECT_EQ(b.retry().attempts(), 3U);
  EXPECT_EQ(b.retry().backoff_ms(), 30'000);
  ASSERT_EQ(b.retry().on_size(), 2);
  EXPECT_EQ(b.retry().on(0), v1::CRASH);
  EXPECT_EQ(b.not_before_unix_ms(), kNow + 600'000);
  EXPECT_EQ(b.start(), v1::AT_MOST_ONCE);
  EXPECT_EQ(b.payload(), "text");
  EXPECT_FALSE(b.has_command());
}

TEST(WorkflowFile, ATaskSaysWhatStoppingItCosts) {
  const v1::SubmitWorkflowRequest request = read(R"(
[defaults]
queue = "train"
checkpoint_interval = "10min"

[[tasks]]
restart_cost = "30s"

[[tasks]]
checkpoint_interval_s = 5
)");
  ASSERT_EQ(request.tasks_size(), 2);
  EXPECT_EQ(request.tasks(0).checkpoint_interval_ms(), 600'000);
  EXPECT_EQ(request.tasks(0).restart_cost_ms(), 30'000);
  EXPECT_EQ(request.tasks(1).checkpoint_interval_ms(), 5000);
  EXPECT_EQ(request.tasks(1).restart_cost_ms(), 0);
}

TEST(WorkflowFile, ATaskSaysWhatItAsksOfTheHardware) {
  const v1::SubmitWorkflowRequest request = read(R"(
[defaults]
queue = "train"
gpu_kinds = ["h100", "h200"]
required = true

[[tasks]]
gpus = 16
groups = 2
within = "island"
cpus = 32.5
memory = "128GB"

[[tasks]]
gpus = 0
gpu_kinds = "a100"
required = false
cpus = 1
memory_mb = 512

[[tasks]]
gpu_kinds = []
mig_profile = "3g.40gb"
)");
  ASSERT_EQ(request.tasks_size(), 3);
  const v1::TaskSpec& gang = request.tasks(0);
  EXPECT_EQ(gang.gpus(), 16U);
  EXPECT_EQ(gang.groups(), 2U);
  EXPECT_EQ(gang.within(), "island");
  EXPECT_TRUE(gang.required());
  ASSERT_EQ(gang.gpu_kinds_size(), 2);
  EXPECT_EQ(gang.gpu_kinds(1), "h200");
  EXPECT_EQ(gang.cpus_milli(), 32'500U);
  EXPECT_EQ(gang.memory_mb(), 131'072);
  const v1::TaskSpec& none = request.tasks(1);
  EXPECT_TRUE(none.has_gpus());
  EXPECT_EQ(none.gpus(), 0U);
  ASSERT_EQ(none.gpu_kinds_size(), 1) << "its own replace the defaults";
  EXPECT_EQ(none.gpu_kinds(0), "a100");
  EXPECT_FALSE(none.required());
  EXPECT_EQ(none.memory_mb(), 512);
  EXPECT_FALSE(request.tasks(2).has_gpus());
  EXPECT_EQ(request.tasks(2).gpu_kinds_size(), 0);
  EXPECT_EQ(request.tasks(2).mig_profile(), "3g.40gb");
}

TEST(WorkflowFile, WrongWordsForTheHardwareAreAnsweredWithTheNearest) {
  EXPECT_EQ(errors_in("[[tasks]]\n"
                      "queue = \"q\"\n"
                      "within = \"nod\"\n"
                      "cpus = -1\n"
                      "gpu_kind = \"a100\"\n"),
            "w.toml:3:10: tasks[0].within: expected one of \"island\", \"node\", \"rack\", "
            "\"cluster\", found the string \"nod\"; did you mean \"node\"?\n"
            "w.toml:4:8: tasks[0].cpus: expected a number from 0 to 1000000, found the integer -1\n"
            "w.toml:5:1: unknown key \"gpu_kind\" in tasks[0]; did you mean \"gpu_kinds\"?\n");
}

TEST(WorkflowFile, APrefixRenamesTheFilesOwnTasksAndNoOthers) {
  const v1::SubmitWorkflowRequest request = read(kTwo, "monday-");
  EXPECT_EQ(request.tasks(0).task_id(), "monday-a");
  const v1::TaskSpec& b = request.tasks(1);
  EXPECT_EQ(b.task_id(), "monday-b");
  EXPECT_EQ(b.depends_on(0), "monday-a");
  EXPECT_EQ(b.depends_on(1), "signal:go");
  EXPECT_EQ(b.depends_on(2), "elsewhere");
}

TEST(WorkflowFile, JsonIsReadAlike) {
  const v1::SubmitWorkflowRequest request = read(
      R"({"defaults": {"queue": "llm", "vram": "1GB"},
          "tasks": [{"id": "a", "command": ["true"], "priority": -3, "share": 0.25},
                    {"id": "b", "depends_on": "a", "held": true, "group": null}]})",
      "", "w.json");
  ASSERT_EQ(request.tasks_size(), 2);
  EXPECT_EQ(request.tasks(0).priority(), -3);
  EXPECT_EQ(request.tasks(0).share_milli(), 250U);
  EXPECT_EQ(request.tasks(1).gpu_memory_mb(), 1024);
  EXPECT_TRUE(request.tasks(1).held());
}

TEST(WorkflowFile, EveryErrorIsSaidAtItsPlace) {
  EXPECT_EQ(errors_in("[[tasks]]\n"
                      "id = \"a\"\n"
                      "queu = \"llm\"\n"
                      "vram = 8\n"
                      "command = \"echo hi\"\n"
                      "[[tasks]]\n"
                      "id = \"a\"\n"
                      "queue = \"llm\"\n"
                      "depends_on = \"a\"\n"
                      "retry = { on = \"crsh\" }\n"
                      "deadline = \"tomorrow\"\n"),
            "w.toml:1:1: missing tasks[0].queue: expected the name of a queue, here or in "
            "[defaults]\n"
            "w.toml:3:1: unknown key \"queu\" in tasks[0]; did you mean \"queue\"?\n"
            "w.toml:4:8: tasks[0].vram: expected an amount of VRAM such as \"8GB\", from 0MB to "
            "1048576GB, found the integer 8; write the unit as in \"1GB\" or in the key as in "
            "vram_gb\n"
            "w.toml:5:11: tasks[0].command: expected the program and its arguments as a list of "
            "strings, such as [\"python3\", \"train.py\"], found the string \"echo hi\"\n"
            "w.toml:7:6: tasks[1].id: \"a\" is also the id of tasks[0]\n"
            "w.toml:9:14: tasks[1].depends_on: the task waits for itself\n"
            "w.toml:10:16: tasks[1].retry.on: no failure is named \"crsh\"; did you mean "
            "\"crash\"?\n"
            "w.toml:11:12: tasks[1].deadline: expected an instant as a string, such as "
            "\"2026-11-15T12:00:00Z\" or \"+10min\", found the string \"tomorrow\"\n");
}

TEST(WorkflowFile, WhatIsNoWorkflowIsSaid) {
  EXPECT_EQ(errors_in("tasks = 3\n"),
            "w.toml:1:9: tasks: expected a block [[tasks]] for each task\n");
  EXPECT_EQ(errors_in(""), "w.toml:1:1: tasks: expected a block [[tasks]] for each task\n");
  EXPECT_TRUE(errors_in("{\"tasks\": [", "w.json").starts_with("w.json: not JSON: "));
  EXPECT_EQ(errors_in("{\"tasks\": [{\"queue\": \"q\", \"gpus\": 0.5}]}", "w.json"),
            "w.json: tasks[0].gpus: expected an integer from 0 to 65535, found the number 0.5\n");
  EXPECT_EQ(errors_in("[[tasks]]\nqueue = \"q\"\npayload = \"@nowhere\"\n"),
            "w.toml:3:11: tasks[0].payload: cannot read ./nowhere\n");
}

TEST(WorkflowFile, APayloadMayBeATable) {
  const v1::SubmitWorkflowRequest toml = read(R"(
[[tasks]]
queue = "llm"
payload = { prompt = "say \"hi\"", max = 3, heat = 1e-7, on = true, stop = ["a", 2.5] }
)");
  EXPECT_EQ(toml.tasks(0).payload(),
            R"({"heat":1e-07,"max":3,"on":true,"prompt":"say \"hi\"","stop":["a",2.5]})");
  const v1::SubmitWorkflowRequest json =
      read(R"({"tasks": [{"queue": "llm", "payload": {"b": {}, "a": []}}]})", "", "w.json");
  EXPECT_EQ(json.tasks(0).payload(), R"({"a":[],"b":{}})") << "the same bytes each time";
}

TEST(WorkflowFile, ZeroIsTakenWhereItMeansSomething) {
  const v1::SubmitWorkflowRequest request = read(R"(
[[tasks]]
queue = "q"
restart_cost = "0s"
checkpoint_interval = "0s"
retry = { attempts = 2, backoff = "0s" }
)");
  EXPECT_EQ(request.tasks(0).retry().backoff_ms(), 0);
  EXPECT_NE(errors_in("[[tasks]]\nqueue = \"q\"\nrun_limit = \"0s\"\n").find("from 1ms"),
            std::string::npos);
}

class Workflow : public ::testing::Test, protected ServedShell {
 protected:
  Workflow() {
    v1::SubmitWorkflowResponse response;
    for (const char* id : {"a", "b"})
      response.add_task_ids(id);
    server.answer("SubmitWorkflow", response);
    server.hang("TaskEvents");
  }
  ~Workflow() override { std::filesystem::remove(path_); }

  std::string file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  void tasks_end(v1::TaskState b) {
    server.on("GetTaskStatus", [b](const std::string& bytes) {
      v1::GetTaskStatusRequest request;
      request.ParseFromString(bytes);
      v1::TaskStatus status;
      status.set_task_id(request.task_id());
      status.set_state(request.task_id() == "b" ? b : v1::COMPLETED);
      return Reply{{status.SerializeAsString()}};
    });
  }

  const std::string path_ = ::testing::TempDir() + "workflow-" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".toml";
};

TEST_F(Workflow, PrintsTheIdsAndTheWayBack) {
  const Ran ran = run({"workflow", file(kTwo)});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, "a\nb\n");
  EXPECT_EQ(ran.err, "next: berth tasks --all --group night\n");
  EXPECT_EQ(server.request<v1::SubmitWorkflowRequest>("SubmitWorkflow").request_id().size(), 36U);
}

TEST_F(Workflow, TheWayBackIsTheGroupThatAllHave) {
  const std::string same = "[defaults]\nqueue = \"q\"\ngroup = \"night\"\ntenant = \"x y\"\n";
  const Ran ran = run({"workflow", file(same + "[[tasks]]\n[[tasks]]\n")});
  EXPECT_EQ(ran.err, "next: berth tasks --all --group night --tenant 'x y'\n");
  const std::string apart = "[defaults]\nqueue = \"q\"\n[[tasks]]\ngroup = \"night\"\n[[tasks]]\n";
  EXPECT_EQ(run({"workflow", file(apart)}).err, "next: berth tasks --all\n");
}

TEST_F(Workflow, OneThatWasSubmittedBeforeIsSaidToBe) {
  v1::SubmitWorkflowResponse response;
  response.add_task_ids("a");
  response.set_duplicate(true);
  server.answer("SubmitWorkflow", response);
  const Ran ran = run({"workflow", file("[[tasks]]\nid = \"a\"\nqueue = \"q\"\n")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err,
            "it was submitted before; nothing new was made (see --prefix)\n"
            "next: berth tasks --all\n");
}

TEST_F(Workflow, WaitShowsHowEachTaskEnded) {
  tasks_end(v1::COMPLETED);
  Ran ran = run({"workflow", file(kTwo), "--wait"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_NE(ran.out.find("completed"), std::string::npos) << ran.out;
  tasks_end(v1::FAILED);
  ran = run({"workflow", file(kTwo), "--wait"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_NE(ran.err.find("1 of 2 tasks did not complete"), std::string::npos) << ran.err;
}

TEST_F(Workflow, CommandsRunInTheFolderOfTheFileWithTheEnvironmentThatIsActive) {
  environment["PATH"] = "/venv/bin";
  const std::string text =
      "[defaults]\nqueue = \"q\"\n[[tasks]]\ncommand = [\"a\"]\n"
      "[[tasks]]\ncommand = [\"b\"]\nworkdir = \"sub\"\nenv = { PATH = \"/bin\" }\n"
      "[[tasks]]\npayload = \"p\"\n";
  const auto sent = [&] { return server.request<v1::SubmitWorkflowRequest>("SubmitWorkflow"); };
  const std::string of_file =
      std::filesystem::path(file(text)).parent_path().lexically_normal().string();
  ASSERT_EQ(run({"workflow", path_}).code, kOk);
  EXPECT_EQ(sent().tasks(0).workdir(), of_file);
  EXPECT_EQ(sent().tasks(0).env().at("PATH"), "/venv/bin");
  EXPECT_EQ(sent().tasks(1).workdir(), of_file + "/sub");
  EXPECT_EQ(sent().tasks(1).env().at("PATH"), "/bin");
  EXPECT_EQ(sent().tasks(2).workdir(), "");
  EXPECT_TRUE(sent().tasks(2).env().empty());
  ASSERT_EQ(run({"workflow", path_, "--no-env", "--no-workdir"}).code, kOk);
  EXPECT_EQ(sent().tasks(0).workdir(), "");
  EXPECT_TRUE(sent().tasks(0).env().empty());
  EXPECT_EQ(sent().tasks(1).workdir(), of_file + "/sub");
}

// Even if the task that waits for it stands before it in the file.
TEST_F(Workflow, ATaskThatTheServerHoldsEndsTheWaiting) {
  server.on("GetTaskStatus", [](const std::string& bytes) {
    v1::GetTaskStatusRequest request;
    request.ParseFromString(bytes);
    v1::TaskStatus status;
    status.set_task_id(request.task_id());
    status.set_state(v1::WAITING);
    status.mutable_reason()->set_code(request.task_id() == "b" ? "poison_held" : "waits_for_task");
    return Reply{{status.SerializeAsString()}};
  });
  const Ran ran = run({"workflow",
                       file("[defaults]\nqueue = \"q\"\n[[tasks]]\nid = \"a\"\ndepends_on = \"b\"\n"
                            "[[tasks]]\nid = \"b\"\n"),
                       "--wait", "--timeout", "20s"});
  EXPECT_EQ(ran.code, kTaskHeld);
  EXPECT_NE(ran.err.find("the server holds task b"), std::string::npos) << ran.err;
}

TEST_F(Workflow, CtrlCDetachesFromAllOfIt) {
  tasks_end(v1::RUNNING);
  server.on("TaskEvents", [this](const std::string&) {
    interrupted = true;
    return Reply{{}, {}, Reply::Then::stay_open};
  });
  const Ran ran = run({"workflow", file(kTwo), "--wait"});
  EXPECT_EQ(ran.code, kDetached);
  EXPECT_NE(ran.err.find("detached; the workflow goes on"), std::string::npos) << ran.err;
}

TEST_F(Workflow, DryRunSendsNothing) {
  const Ran ran = run({"workflow", file(kTwo), "--dry-run", "--prefix", "x-"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_NE(ran.out.find("\"task_id\": \"x-b\""), std::string::npos) << ran.out;
  EXPECT_EQ(server.calls("SubmitWorkflow"), 0U);
}

TEST_F(Workflow, AWrongFileSendsNothing) {
  Ran ran = run({"workflow", file("[[tasks]]\n")});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.err.find(":1:1: missing tasks[0].queue"), std::string::npos) << ran.err;
  ran = run({"workflow", "/no/such.toml"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_EQ(ran.err, "berth: error: cannot read the workflow in /no/such.toml\n");
  EXPECT_EQ(server.calls("SubmitWorkflow"), 0U);
}

}  // namespace
}  // namespace berth::cli::workflow_command_test
