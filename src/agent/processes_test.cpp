// Real commands under real shims.
#include "agent/processes.h"

#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/file_limit.h"
#include "agent/testing/commands.h"

namespace berth::agent::processes_test {
namespace {

using berth::v1::Report;
using berth::v1::TaskResult;
using testing::command_lease;
using testing::command_options;
using testing::content;
using testing::exit_of;
using testing::parent_of;
using testing::process_exists;
using testing::RunningAgent;
using testing::script_lease;
using testing::shim_of;
using testing::wait_until;
using testing::welcome;
using testing::written_pid;

class ProcessesTest : public ::testing::Test {
 protected:
  AgentOptions options() { return command_options(folder_.path() / "agent"); }
  TaskFiles task(std::uint64_t lease, std::uint64_t no = 1) {
    return LeaseStore(folder_.path() / "agent").files(lease, no);
  }
  // Runs one lease of one task to its end.
  TaskResult run(berth::v1::Lease lease) { return run(options(), std::move(lease)); }
  TaskResult run(const AgentOptions& given, berth::v1::Lease lease) {
    RunningAgent agent(given);
    agent.give(welcome());
    const std::uint64_t id = lease.id();
    agent.give(std::move(lease));
    return agent.sent.outcomes(id).at(0).result();
  }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }

  testing::TemporaryFolder folder_;
};

TEST_F(ProcessesTest, RunsACommandAndKeepsItsOutput) {
  const TaskResult result = run(command_lease(1, {"echo", "hi", "$HOME"}));
  EXPECT_TRUE(result.completed());
  EXPECT_EQ(result.exit_status(), 0);
  EXPECT_FALSE(result.simulated());
  EXPECT_EQ(content(task(1).out()), "hi $HOME\n");
  EXPECT_FALSE(std::filesystem::exists(task(1).err()));  // it wrote none
}

TEST_F(ProcessesTest, AStatusOtherThanZeroIsAnError) {
  const TaskResult result = run(script_lease(1, "echo oh >&2; exit 3"));
  EXPECT_FALSE(result.completed());
  EXPECT_EQ(result.failure(), berth::v1::ERROR);
  EXPECT_EQ(result.exit_status(), 3);
  EXPECT_EQ(content(task(1).err()), "oh\n");
}

TEST_F(ProcessesTest, ASignalIsACrash) {
  const TaskResult result = run(script_lease(1, "kill -SEGV $$"));
  EXPECT_EQ(result.failure(), berth::v1::CRASH);
  EXPECT_EQ(result.term_signal(), SIGSEGV);
  EXPECT_NE(result.message().find("SIGSEGV"), std::string::npos);
}

TEST_F(ProcessesTest, WordsOfCudaAreTakenAsOutOfMemory) {
  const TaskResult result =
      run(script_lease(1, "echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1"));
  EXPECT_EQ(result.failure(), berth::v1::OUT_OF_MEMORY);
}

TEST_F(ProcessesTest, AProgramThatIsNotThereIsNamed) {
  const TaskResult result = run(command_lease(1, {"berth-no-such-program"}));
  EXPECT_EQ(result.failure(), berth::v1::ERROR);
  EXPECT_EQ(result.exit_status(), 127);
  EXPECT_NE(result.message().find("\"berth-no-such-program\" was not found"), std::string::npos);
}

TEST_F(ProcessesTest, AFileThatIsNoProgramIsNotGivenToAShell) {
  ASSERT_TRUE(write_file_durably(file("text"), "echo started\n").ok());
  std::filesystem::permissions(file("text"), std::filesystem::perms::owner_all);
  const TaskResult result = run(command_lease(1, {file("text")}));
  EXPECT_EQ(result.failure(), berth::v1::ERROR);
  EXPECT_NE(result.message().find("Exec format error"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(task(1).out()));
}

TEST_F(ProcessesTest, AMissingWorkingFolderIsNamed) {
  berth::v1::Lease lease = command_lease(1, {"pwd"});
  lease.mutable_tasks(0)->mutable_spec()->set_workdir(file("nowhere"));
  const TaskResult result = run(lease);
  EXPECT_EQ(result.failure(), berth::v1::ERROR);
  EXPECT_NE(result.message().find("working folder"), std::string::npos);
}

TEST_F(ProcessesTest, TheTaskSeesItsEnvironmentAndNoMore) {
  ::setenv("LD_CANARY", "seen", 1);
  ::setenv("BERTH_CANARY_TOKEN", "seen", 1);
  ::setenv("UNLISTED_CANARY", "seen", 1);
  AgentOptions given = options();
  given.passthrough_env.push_back("LD_CANARY");
  given.passthrough_env.push_back("BERTH_CANARY_TOKEN");
  berth::v1::Lease lease = command_lease(5, {"env"});
  lease.add_gpus("SIM-l4-0");
  auto& spec = *lease.mutable_tasks(0)->mutable_spec();
  (*spec.mutable_env())["COLOUR"] = "blue\nsky";
  (*spec.mutable_env())["BERTH_LEASE"] = "forged";
  spec.set_group("sweep");
  spec.mutable_array()->set_indices("7");
  EXPECT_TRUE(run(given, lease).completed());
  const std::string out = "\n" + content(task(5).out());
  for (const char* line :
       {"\nCOLOUR=blue\nsky\n", "\nCUDA_VISIBLE_DEVICES=0,2\n", "\nBERTH_TASK_ID=task-1\n",
        "\nBERTH_ATTEMPT=1\n", "\nBERTH_TENANT=ada\n", "\nBERTH_QUEUE=llm\n", "\nBERTH_LEASE=5\n",
        "\nBERTH_ARRAY_ID=sweep\n", "\nBERTH_ARRAY_INDEX=7\n", "\nPATH="}) {
    EXPECT_NE(out.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(out.find("CANARY"), std::string::npos) << out;
}

TEST_F(ProcessesTest, WorksInAFolderOfItsOwnUnlessToldOtherwise) {
  EXPECT_TRUE(run(command_lease(1, {"pwd"})).completed());
  EXPECT_EQ(content(task(1).out()), task(1).work() + "\n");
  berth::v1::Lease lease = command_lease(2, {"pwd"});
  lease.mutable_tasks(0)->mutable_spec()->set_workdir("/");
  EXPECT_TRUE(run(lease).completed());
  EXPECT_EQ(content(task(2).out()), "/\n");
}

TEST_F(ProcessesTest, OutputOverTheCapIsCutAndDoesNotBlockTheTask) {
  AgentOptions given = options();
  given.output_cap_bytes = 100'000;
  RunningAgent agent(given);
  agent.give(welcome());
  agent.give(script_lease(1, "head -c 3000000 /dev/zero; echo done >&2"));
  EXPECT_TRUE(agent.sent.outcomes(1).at(0).result().completed());
  EXPECT_EQ(std::filesystem::file_size(task(1).out()), 100'000u);
  EXPECT_EQ(content(task(1).err()), "done\n");
  EXPECT_TRUE(exit_of(task(1))->out_cut);
  EXPECT_FALSE(exit_of(task(1))->err_cut);
}

TEST_F(ProcessesTest, PastItsLimitATaskIsStoppedAndTimesOut) {
  berth::v1::Lease lease =
      script_lease(1, "trap 'echo bye; exit 0' USR1; echo ready; while true; do sleep 0.01; done");
  lease.mutable_tasks(0)->set_run_limit_ms(300);
  lease.mutable_tasks(0)->mutable_spec()->set_stop_signal("USR1");
  const TaskResult result = run(lease);
  EXPECT_EQ(result.failure(), berth::v1::TIMEOUT);
  EXPECT_EQ(content(task(1).out()), "ready\nbye\n");
}

TEST_F(ProcessesTest, ATaskThatIgnoresTheStopSignalIsKilledAfterTheGraceWithItsGroup) {
  berth::v1::Lease lease =
      script_lease(1, "trap '' TERM; sleep 600 & echo $! > " + file("grandchild") + "; echo $$ > " +
                          file("child") + "; while true; do sleep 1; done");
  lease.mutable_tasks(0)->mutable_spec()->set_stop_grace_ms(100);
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(lease);
  const pid_t grandchild = written_pid(file("grandchild"));
  const pid_t child = written_pid(file("child"));
  EXPECT_TRUE(process_exists(child));
  agent.give(testing::stop(1, 1));
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_FALSE(result.completed());
  EXPECT_EQ(result.failure(), berth::v1::FAILURE_KIND_UNSPECIFIED);
  EXPECT_EQ(result.term_signal(), SIGKILL);
  EXPECT_FALSE(process_exists(child));
  EXPECT_FALSE(process_exists(grandchild));
}

TEST_F(ProcessesTest, WhatTheCommandLeavesBehindIsKilledAlsoInASessionOfItsOwn) {
  const TaskResult result = run(script_lease(1, "setsid sh -c 'echo $$ > " + file("stray") +
                                                    "; exec sleep 600' & while [ ! -s " +
                                                    file("stray") + " ]; do sleep 0.01; done"));
  EXPECT_TRUE(result.completed());
  EXPECT_FALSE(process_exists(written_pid(file("stray"))));
}

TEST_F(ProcessesTest, WhileStoppingTheGroupHasItsGraceEvenIfTheCommandIsGone) {
  berth::v1::Lease lease =
      script_lease(1, "(trap 'sleep 0.2; echo saved > " + file("checkpoint") +
                          "; exit' TERM; echo ready; while true; do sleep 0.01; done) & wait");
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(lease);
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  agent.give(testing::stop(1, 0));
  agent.sent.outcomes(1);
  EXPECT_EQ(content(file("checkpoint")), "saved\n");
}

TEST_F(ProcessesTest, AStopThatComesRightBehindTheLeaseLeavesNothingRunning) {
  RunningAgent agent(options());
  agent.give(welcome());
  for (std::uint64_t id = 1; id <= 10; ++id) {
    agent.give(script_lease(id, "sleep 600"));
    agent.give(testing::stop(id, 0));
  }
  for (int ended = 0; ended < 10; ++ended) {
    const Report report = agent.sent.report(Report::kLeaseEnded);
    ASSERT_EQ(report.lease_ended().outcomes_size(), 1);
    const TaskResult& result = report.lease_ended().outcomes(0).result();
    EXPECT_FALSE(result.completed());
    EXPECT_EQ(result.failure(), berth::v1::FAILURE_KIND_UNSPECIFIED) << result.message();
  }
}

TEST_F(ProcessesTest, ABatchReportsEachTaskWhenItEndsAndTheLeaseWithTheLast) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease = script_lease(1, "exit 4");
  *lease.add_tasks() = lease.tasks(0);
  lease.mutable_tasks(1)->set_task_no(2);
  lease.mutable_tasks(1)->mutable_spec()->mutable_command()->set_argv(
      2, "while [ ! -e " + file("go") + " ]; do sleep 0.01; done");
  *lease.add_tasks() = testing::lease_of(1, 1).tasks(0);  // has no command: simulated
  lease.mutable_tasks(2)->set_task_no(3);
  agent.give(lease);
  const Report simulated = agent.sent.report(Report::kTaskEnded);
  EXPECT_EQ(simulated.task_ended().outcome().task_no(), 3u);
  EXPECT_TRUE(simulated.task_ended().outcome().result().simulated());
  const Report first = agent.sent.report(Report::kTaskEnded);
  EXPECT_EQ(first.task_ended().outcome().task_no(), 1u);
  EXPECT_EQ(first.task_ended().outcome().result().exit_status(), 4);
  ASSERT_TRUE(write_file_durably(file("go"), "").ok());
  const auto rest = agent.sent.outcomes(1);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].task_no(), 2u);
  EXPECT_TRUE(rest[0].result().completed());
}

TEST_F(ProcessesTest, ALauncherThatCannotStartIsTheNodesFault) {
  AgentOptions given = options();
  given.launcher_program = "/nowhere/berth";
  const TaskResult result = run(given, command_lease(1, {"true"}));
  EXPECT_EQ(result.failure(), berth::v1::INFRASTRUCTURE);
  EXPECT_NE(result.message().find("/nowhere/berth"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(task(1).voided()));
}

TEST_F(ProcessesTest, ACommandHasTheFileLimitItIsGiven) {
  AgentOptions given = options();
  given.command_files = 99;
  EXPECT_TRUE(run(given, script_lease(1, "ulimit -S -n")).completed());
  EXPECT_EQ(content(task(1).out()), "99\n");
}

TEST(FileLimit, IsRaisedAsFarAsItGoes) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_file_limit(), before.rlim_max / 2);
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// As long as it is a zombie nobody else can get its number, by which its group is killed.
TEST_F(ProcessesTest, ACommandThatEndsKeepsItsNumberUntilItsGroupIsGone) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "(trap 'touch " + file("asked") + "' TERM; echo $$ > " +
                                 file("command") + "; while [ ! -e " + file("go") +
                                 " ]; do sleep 0.01; done) & wait"));
  const pid_t command = written_pid(file("command"));
  agent.give(testing::stop(1, 1));
  wait_until([&] { return std::filesystem::exists(file("asked")) && !process_exists(command); });
  EXPECT_EQ(::kill(command, 0), 0);
  ASSERT_TRUE(write_file_durably(file("go"), "").ok());
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().term_signal(), SIGTERM);
  EXPECT_NE(::kill(command, 0), 0);
}

TEST_F(ProcessesTest, AShimThatIsKilledTakesItsCommandWithItAndIsACrash) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "sleep 600 & echo $! > " + file("grandchild") + "; wait"));
  const pid_t grandchild = written_pid(file("grandchild"));
  ::kill(shim_of(task(1)), SIGKILL);
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_EQ(result.failure(), berth::v1::CRASH);
  wait_until([&] { return !process_exists(grandchild); });
}

// Tasks whose shims run go on; those that have none yet are given back; the next gets a new one.
TEST_F(ProcessesTest, ALauncherThatIsKilledIsReplaced) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo ready; while [ ! -e " + file("go") + " ]; do sleep 0.01; done"));
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  const pid_t shim = shim_of(task(1));
  ::kill(parent_of(shim), SIGKILL);
  for (std::uint64_t id = 2; id <= 20; ++id) {
    agent.give(command_lease(id, {"true"}));
  }
  std::set<std::uint64_t> ended;
  while (ended.size() < 19) {
    const berth::v1::LeaseEnded report = agent.sent.report(Report::kLeaseEnded).lease_ended();
    const TaskResult& result = report.outcomes(0).result();
    EXPECT_TRUE(result.completed() || result.failure() == berth::v1::INFRASTRUCTURE)
        << result.message();
    ended.insert(report.lease());
  }
  EXPECT_TRUE(process_exists(shim));
  agent.give(command_lease(21, {"true"}));
  EXPECT_TRUE(agent.sent.outcomes(21).at(0).result().completed());
  ASSERT_TRUE(write_file_durably(file("go"), "").ok());
  EXPECT_TRUE(agent.sent.outcomes(1).at(0).result().completed());
}

TEST_F(ProcessesTest, ATaskThatNamesNoGraceHasTheDefault) {
  AgentOptions given = options();
  given.default_stop_grace = milliseconds(50);
  RunningAgent agent(given);
  agent.give(welcome());
  agent.give(script_lease(1, "trap '' TERM; echo ready; while true; do sleep 0.01; done"));
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  agent.give(testing::stop(1, 1));
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().term_signal(), SIGKILL);
}

TEST_F(ProcessesTest, ALauncherThatIsSuspendedIsWoken) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo ready; exec sleep 600"));
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  ASSERT_EQ(::kill(parent_of(shim_of(task(1))), SIGSTOP), 0);
  agent.give(command_lease(2, {"true"}));
  EXPECT_TRUE(agent.sent.outcomes(2).at(0).result().completed());
  agent.give(testing::stop(1, 1));
  agent.sent.outcomes(1);
}

// What it was asked for is given back, and the next command has a new one. Under a debugger no
// signal wakes it.
TEST_F(ProcessesTest, ALauncherThatCannotBeWokenIsReplaced) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo ready; exec sleep 600"));
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  const pid_t launcher = parent_of(shim_of(task(1)));
  const bool is_held = ::ptrace(PTRACE_ATTACH, launcher, nullptr, nullptr) == 0;
  if (is_held) {
    ASSERT_EQ(::waitpid(launcher, nullptr, __WALL), launcher);
    agent.give(command_lease(2, {"true"}));
    EXPECT_EQ(agent.sent.outcomes(2).at(0).result().failure(), berth::v1::INFRASTRUCTURE);
    EXPECT_FALSE(process_exists(launcher));
    agent.give(command_lease(3, {"true"}));
    EXPECT_TRUE(agent.sent.outcomes(3).at(0).result().completed());
  }
  agent.give(testing::stop(1, 1));
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().term_signal(), SIGTERM);
  if (!is_held) GTEST_SKIP() << "processes may not be traced here";
}

TEST_F(ProcessesTest, AProgramIsLookedForInTheFirstFoldersOfAPathOnly) {
  berth::v1::Lease lease = command_lease(1, {"true"});
  std::string path;
  for (int folders = 0; folders < 128; ++folders) {
    path += "/nowhere:";
  }
  (*lease.mutable_tasks(0)->mutable_spec()->mutable_env())["PATH"] = path + "/usr/bin:/bin";
  const TaskResult result = run(lease);
  EXPECT_EQ(result.exit_status(), 127);
  EXPECT_NE(result.message().find("in the first 128 folders of the task's PATH"), std::string::npos)
      << result.message();
}

// By one agent, and by the next one of the folder.
TEST_F(ProcessesTest, TheNextAttemptFindsWhatTheLastOneLeft) {
  {
    RunningAgent agent(options());
    agent.give(welcome());
    agent.give(script_lease(1, "echo one > step; exit 1"));
    agent.sent.outcomes(1);
    agent.give(script_lease(2, "cat step; echo two >> step; exit 1"));
    agent.sent.outcomes(2);
  }
  EXPECT_TRUE(run(script_lease(3, "cat step")).completed());
  EXPECT_EQ(content(task(2).out()), "one\n");
  EXPECT_EQ(content(task(3).out()), "one\ntwo\n");
}

// Not even for a user who may not pass the folders above it.
TEST_F(ProcessesTest, ACommandCannotEnterTheFolderOfTheServer) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  berth::v1::Lease lease = command_lease(1, {"pwd", "-P"});
  lease.mutable_tasks(0)->mutable_spec()->set_workdir("/proc/self/cwd");
  EXPECT_TRUE(run(lease).completed());
  std::filesystem::current_path(before);
  EXPECT_EQ(content(task(1).out()), "/\n");
}

TEST_F(ProcessesTest, ACommandHasNoneOfTheServersPriorities) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can set them back";
  const std::string own = content("/proc/self/oom_score_adj");
  ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, 5), 0);
  std::ofstream("/proc/self/oom_score_adj") << 300;
  EXPECT_TRUE(run(script_lease(1, "nice; cat /proc/self/oom_score_adj")).completed());
  std::ofstream("/proc/self/oom_score_adj") << own;
  ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, 0), 0);
  EXPECT_EQ(content(task(1).out()), "0\n0\n");
}

}  // namespace
}  // namespace berth::agent::processes_test
