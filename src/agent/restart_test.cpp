// An agent that is gone and another that comes back to the same folder.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/lease_store.h"
#include "agent/process_info.h"
#include "agent/run_program.h"
#include "agent/testing/commands.h"

namespace berth::agent {
namespace {

using berth::v1::Report;
using testing::acknowledge;
using testing::command_lease;
using testing::command_options;
using testing::content;
using testing::RunningAgent;
using testing::script_lease;
using testing::wait_until;
using testing::welcome;

class RestartTest : public ::testing::Test {
 protected:
  AgentOptions options() { return command_options(folder_.path() / "agent"); }
  std::filesystem::path agent_folder() { return folder_.path() / "agent"; }
  std::filesystem::path task(std::uint64_t lease) {
    return agent_folder() / "leases" / std::to_string(lease) / "1";
  }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  std::string until_file(const std::string& name) {
    return "while [ ! -e " + file(name) + " ]; do sleep 0.01; done";
  }
  void make_file(const std::string& name) { ASSERT_TRUE(write_file_durably(file(name), "").ok()); }

  testing::TemporaryFolder folder_;
};

TEST_F(RestartTest, WhatStillRunsIsAdopted) {
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(script_lease(1, "echo started >> " + file("starts") + "; " + until_file("go")));
    wait_until([&] { return content(file("starts")) == "started\n"; });
  }
  RunningAgent second(options());
  ASSERT_EQ(second.hello.leases_size(), 1);
  EXPECT_EQ(second.hello.leases(0).lease(), 1u);
  ASSERT_EQ(second.hello.leases(0).running_size(), 1);
  EXPECT_EQ(second.hello.leases(0).running(0), 1u);
  EXPECT_EQ(second.hello.leases(0).not_started_size(), 0);
  second.give(welcome());
  second.give(script_lease(1, "echo started >> " + file("starts")));  // told again: ignored
  make_file("go");
  const auto outcomes = second.sent.outcomes(1);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].result().completed());
  EXPECT_EQ(content(file("starts")), "started\n");
}

TEST_F(RestartTest, AnAdoptedTaskCanBeStopped) {
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(script_lease(1, "echo ready; exec sleep 600"));
    wait_until([&] { return content(task(1) / "out") == "ready\n"; });
  }
  RunningAgent second(options());
  berth::v1::ServerMessage kill = welcome();
  kill.mutable_welcome()->add_kill(1);
  second.give(kill);
  EXPECT_EQ(second.sent.outcomes(1).at(0).result().term_signal(), SIGTERM);
}

TEST_F(RestartTest, WhatEndedMeanwhileIsReportedUntilItIsAcknowledged) {
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(script_lease(1, until_file("go") + "; exit 5"));
    wait_until([&] { return has_claim(task(1)); });
  }
  make_file("go");
  wait_until([&] { return has_exit(task(1)); });
  for (int round = 0; round < 2; ++round) {
    RunningAgent next(options());
    ASSERT_EQ(next.hello.leases_size(), 1);
    EXPECT_EQ(next.hello.leases(0).running_size(), 0);
    next.give(welcome());
    const Report report = next.sent.report();
    EXPECT_EQ(report.seq(), 1u);
    EXPECT_EQ(next.hello.last_report(), 1u);
    ASSERT_EQ(report.lease_ended().outcomes_size(), 1);
    EXPECT_EQ(report.lease_ended().outcomes(0).result().exit_status(), 5);
    if (round == 1) {
      next.give(acknowledge(1));
      wait_until([&] { return std::filesystem::exists(agent_folder() / "kept" / "1"); });
    }
  }
  RunningAgent last(options());
  EXPECT_EQ(last.hello.leases_size(), 0);
  EXPECT_FALSE(std::filesystem::exists(task(1)));
}

TEST_F(RestartTest, NumbersBeginAtZero) {
  berth::v1::Lease lease = script_lease(0, "echo zero; " + until_file("go"));
  lease.mutable_tasks(0)->set_task_no(0);
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(lease);
    wait_until([&] { return content(agent_folder() / "leases" / "0" / "0" / "out") == "zero\n"; });
  }
  RunningAgent second(options());
  ASSERT_EQ(second.hello.leases_size(), 1);
  ASSERT_EQ(second.hello.leases(0).running_size(), 1);
  EXPECT_EQ(second.hello.leases(0).running(0), 0u);
  second.give(welcome());
  make_file("go");
  EXPECT_TRUE(
      second.sent.report(Report::kLeaseEnded).lease_ended().outcomes(0).result().completed());
}

TEST_F(RestartTest, LimitsHoldWhileNoAgentIsThere) {
  {
    RunningAgent first(options());
    first.give(welcome());
    berth::v1::Lease lease = script_lease(1, "trap '' TERM; while true; do sleep 0.01; done");
    lease.mutable_tasks(0)->set_run_limit_ms(200);
    lease.mutable_tasks(0)->mutable_spec()->set_stop_grace_ms(100);
    first.give(lease);
    wait_until([&] { return has_claim(task(1)); });
  }
  wait_until([&] { return has_exit(task(1)); });
  RunningAgent second(options());
  second.give(welcome());
  const auto result = second.sent.outcomes(1).at(0).result();
  EXPECT_EQ(result.failure(), berth::v1::TIMEOUT);
  EXPECT_EQ(result.term_signal(), SIGKILL);
}

TEST_F(RestartTest, AnIntentThatNobodyClaimedIsTakenBack) {
  const LeaseStore store(agent_folder());
  const std::vector<std::string> argv{"touch", file("started")};
  ASSERT_TRUE(store.prepare().ok());
  ASSERT_TRUE(store.write_lease(command_lease(1, argv)).ok());
  ASSERT_TRUE(write_intent(store.task_folder(1, 1), {.argv = argv, .output_cap = 1}).ok());
  RunningAgent agent(options());
  ASSERT_EQ(agent.hello.leases_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).running_size(), 0);
  ASSERT_EQ(agent.hello.leases(0).not_started_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).not_started(0), 1u);
  EXPECT_TRUE(std::filesystem::exists(task(1) / "void"));
  // A shim that comes only now runs nothing.
  EXPECT_FALSE(run_program({options().shim_program, "shim", task(1).string()}, seconds(20)).ok());
  EXPECT_FALSE(std::filesystem::exists(file("started")));
  agent.give(welcome());
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::INFRASTRUCTURE);
}

TEST_F(RestartTest, TasksThatHaveNoFolderYetHaveNotStarted) {
  const LeaseStore store(agent_folder());
  ASSERT_TRUE(store.prepare().ok());
  berth::v1::Lease lease = command_lease(1, {"true"});
  *lease.add_tasks() = lease.tasks(0);
  lease.mutable_tasks(1)->set_task_no(2);
  ASSERT_TRUE(store.write_lease(lease).ok());
  std::filesystem::create_directories(agent_folder() / "leases" / "2");  // its message is missing
  RunningAgent agent(options());
  ASSERT_EQ(agent.hello.leases_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).not_started_size(), 2);
  EXPECT_FALSE(std::filesystem::exists(agent_folder() / "leases" / "2"));
}

TEST_F(RestartTest, AClaimWhoseShimIsGoneIsACrash) {
  const LeaseStore store(agent_folder());
  ASSERT_TRUE(store.prepare().ok());
  ASSERT_TRUE(store.write_lease(command_lease(1, {"true"})).ok());
  ASSERT_TRUE(write_intent(store.task_folder(1, 1), {.argv = {"true"}, .output_cap = 1}).ok());
  const pid_t other = ::fork();
  if (other == 0) ::_exit(claim_intent(task(1)).ok() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  ASSERT_EQ(status, 0);
  RunningAgent agent(options());
  EXPECT_EQ(agent.hello.leases(0).running_size(), 0);
  EXPECT_EQ(agent.hello.leases(0).not_started_size(), 0);
  agent.give(welcome());
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::CRASH);
}

// The fence: however claims and take-backs meet, exactly one of them wins.
TEST_F(RestartTest, AnIntentIsClaimedOrTakenBackNeverBoth) {
  int claims = 0;
  for (int round = 0; round < 200; ++round) {
    const std::filesystem::path folder = folder_.path() / ("race-" + std::to_string(round));
    ASSERT_TRUE(write_intent(folder, {.argv = {"true"}, .output_cap = 1}).ok());
    bool claimed = false;
    std::thread shim([&] { claimed = claim_intent(folder).ok(); });
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round));
    const bool taken_back = void_intent(folder);
    shim.join();
    EXPECT_NE(claimed, taken_back);
    EXPECT_EQ(claimed, has_claim(folder));
    claims += claimed ? 1 : 0;
  }
  RecordProperty("claims", claims);
}

TEST(ProcessInfo, KnowsAProcessFromItsSuccessor) {
  const ProcessIdentity own = identity_of(::getpid());
  EXPECT_TRUE(is_running(own));
  ProcessIdentity other = own;
  ++other.start_ticks;
  EXPECT_FALSE(is_running(other));
  other = own;
  other.boot_id = "another boot";
  EXPECT_FALSE(is_running(other));
}

}  // namespace
}  // namespace berth::agent
