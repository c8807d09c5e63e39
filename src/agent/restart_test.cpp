// An agent that is gone and another that comes back to the same folder.
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/lease_store.h"
#include "agent/process_info.h"
#include "agent/shim.h"
#include "agent/testing/commands.h"

namespace berth::agent::restart_test {
namespace {

using berth::v1::Report;
using testing::acknowledge;
using testing::command_lease;
using testing::command_options;
using testing::content;
using testing::exit_of;
using testing::RunningAgent;
using testing::script_lease;
using testing::wait_until;
using testing::welcome;

class RestartTest : public ::testing::Test {
 protected:
  AgentOptions options() { return command_options(folder_.path() / "agent"); }
  std::filesystem::path agent_folder() { return folder_.path() / "agent"; }
  TaskFiles task(std::uint64_t lease) { return LeaseStore(agent_folder()).files(lease, 1); }
  bool has_exit(const TaskFiles& files) { return exit_of(files).has_value(); }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  std::string until_file(const std::string& name) {
    return "while [ ! -e " + file(name) + " ]; do sleep 0.01; done";
  }
  void put_intent(const berth::v1::Lease& lease) {
    LeaseStore store(agent_folder());
    ASSERT_TRUE(store.prepare().ok());
    ASSERT_TRUE(store.write_intent(lease, lease.tasks(0)).ok());
  }
  // As a shim does that is killed then.
  void claim_and_die(const TaskFiles& files, const std::optional<ExitRecord>& exit = {}) {
    const pid_t other = ::fork();
    if (other == 0) {
      const Result<Fd> record = claim_intent(files);
      ::_exit(record.ok() && (!exit || write_exit(*record, files, *exit).ok()) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    ASSERT_EQ(status, 0);
  }
  void pretend_an_earlier_boot(const std::filesystem::path& path) {
    std::string text = content(path);
    std::size_t at = text.find(boot_id());
    ASSERT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = text.find(boot_id())) {
      text[at] = text[at] == '0' ? '1' : '0';
    }
    ASSERT_TRUE(write_file(path, text).ok());
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
    wait_until([&] { return content(task(1).out()) == "ready\n"; });
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
      wait_until([&] { return !has_claim(task(1)); });
    }
  }
  RunningAgent last(options());
  EXPECT_EQ(last.hello.leases_size(), 0);
}

TEST_F(RestartTest, NumbersBeginAtZero) {
  berth::v1::Lease lease = script_lease(0, "echo zero; " + until_file("go"));
  lease.mutable_tasks(0)->set_task_no(0);
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(lease);
    wait_until([&] { return content(LeaseStore(agent_folder()).files(0, 0).out()) == "zero\n"; });
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
  const berth::v1::Lease lease = command_lease(1, {"touch", file("started")});
  put_intent(lease);
  RunningAgent agent(options());
  ASSERT_EQ(agent.hello.leases_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).running_size(), 0);
  ASSERT_EQ(agent.hello.leases(0).not_started_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).not_started(0), 1u);
  EXPECT_TRUE(std::filesystem::exists(task(1).voided()));
  // A shim that comes only now runs nothing.
  Intent intent{.files = task(1), .argv = {"touch", file("started")}};
  intent.output_cap = 1;
  const pid_t shim = ::fork();
  if (shim == 0) {
    run_shim(intent, 0);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(shim, nullptr, 0), shim);
  EXPECT_FALSE(std::filesystem::exists(file("started")));
  agent.give(welcome());
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::INFRASTRUCTURE);
  agent.give(acknowledge(1));
  wait_until([&] { return !std::filesystem::exists(task(1).voided()); });
}

TEST_F(RestartTest, TheTasksOfALeaseAreFoundTogether) {
  berth::v1::Lease lease = command_lease(1, {"true"});
  *lease.add_tasks() = lease.tasks(0);
  lease.mutable_tasks(1)->set_task_no(2);
  LeaseStore store(agent_folder());
  ASSERT_TRUE(store.prepare().ok());
  for (const berth::v1::LeasedTask& task : lease.tasks()) {
    ASSERT_TRUE(store.write_intent(lease, task).ok());
  }
  RunningAgent agent(options());
  ASSERT_EQ(agent.hello.leases_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).not_started_size(), 2);
}

TEST_F(RestartTest, AClaimWhoseShimIsGoneIsACrash) {
  put_intent(command_lease(1, {"true"}));
  claim_and_die(task(1));
  RunningAgent agent(options());
  EXPECT_EQ(agent.hello.leases(0).running_size(), 0);
  EXPECT_EQ(agent.hello.leases(0).not_started_size(), 0);
  agent.give(welcome());
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::CRASH);
}

// What a lost machine left may be older than what its commands did, so nothing is promised from it;
// an end that was written is true whenever it was.
TEST_F(RestartTest, OfAnEarlierBootOnlyWrittenEndsAreTold) {
  for (const std::uint64_t id : {1, 2, 3}) {
    put_intent(command_lease(id, {"true"}));
  }
  claim_and_die(task(2));
  claim_and_die(task(3), ExitRecord{.status = 7});
  for (const auto& path : {task(1).intent(), task(2).claimed(), task(3).claimed()}) {
    pretend_an_earlier_boot(path);
  }
  ASSERT_TRUE(write_file(task(4).claimed(), "").ok());  // its content did not reach the disk
  RunningAgent agent(options());
  ASSERT_EQ(agent.hello.leases_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).lease(), 3u);
  agent.give(welcome());
  EXPECT_EQ(agent.sent.outcomes(3).at(0).result().exit_status(), 7);
  for (const TaskFiles& gone : {task(1), task(2), task(4)}) {
    for (const auto& path : {gone.intent(), gone.voided(), gone.claimed(), gone.work()}) {
      EXPECT_FALSE(std::filesystem::exists(path)) << path;
    }
  }
}

// Records are used again without a sync, so a power cut can leave the last task's pages under a new
// name, all of them or some.
TEST_F(RestartTest, AnEndThatStandsUnderAnothersNameIsNotTold) {
  for (const std::uint64_t id : {1, 2, 3, 4}) {
    put_intent(command_lease(id, {"true"}));
    claim_and_die(task(id), ExitRecord{.status = static_cast<int>(id)});
    pretend_an_earlier_boot(task(id).claimed());
  }
  const std::string last = content(task(1).claimed());
  const auto pages = [&](const std::string& first, const std::string& rest) {
    return first.substr(0, 4096) + rest.substr(4096);
  };
  ASSERT_TRUE(write_file(task(2).claimed(), last).ok());
  ASSERT_TRUE(write_file(task(3).claimed(), pages(last, content(task(3).claimed()))).ok());
  ASSERT_TRUE(write_file(task(4).claimed(), pages(content(task(4).claimed()), last)).ok());
  RunningAgent agent(options());
  ASSERT_EQ(agent.hello.leases_size(), 1);
  EXPECT_EQ(agent.hello.leases(0).lease(), 1u);
  agent.give(welcome());
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().exit_status(), 1);
  for (const std::uint64_t id : {2, 3, 4}) {
    EXPECT_FALSE(has_claim(task(id))) << id;
  }
}

TEST_F(RestartTest, ARecordThatCannotBeReadKeepsTheAgentFromStarting) {
  put_intent(command_lease(1, {"true"}));
  claim_and_die(task(1));
  const std::string record = task(1).claimed();
  ASSERT_EQ(::unlink(record.c_str()), 0);
  ASSERT_EQ(::mkdir(record.c_str(), 0700), 0);  // can be opened, but not read
  const auto started = Agent::start(options(), [](berth::v1::AgentMessage&&) {});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("1.1.claimed"), std::string::npos);
  EXPECT_TRUE(has_claim(task(1)));
}

TEST_F(RestartTest, TheRecordOfAShimThatRunsIsNotUsedAgain) {
  put_intent(command_lease(1, {"true"}));
  ASSERT_TRUE(claim_intent(task(1)).ok());  // by this process, which goes on
  LeaseStore(agent_folder()).keep(1, 1, 0);
  EXPECT_TRUE(has_claim(task(1)));
  EXPECT_TRUE(std::filesystem::exists(task(1).work()));
}

TEST_F(RestartTest, WhatHasNoRecordIsRemoved) {
  put_intent(script_lease(1, "true"));
  put_intent(script_lease(2, "true"));
  ASSERT_EQ(::unlink(task(1).intent().c_str()), 0);  // as if it had not been renamed yet
  ASSERT_TRUE(write_file(task(1).out(), "left").ok());
  RunningAgent agent(options());
  EXPECT_FALSE(std::filesystem::exists(task(1).work()));
  EXPECT_FALSE(std::filesystem::exists(task(1).out()));
  EXPECT_TRUE(std::filesystem::exists(task(2).work()));
}

// Agents before made working folders beside the records.
TEST_F(RestartTest, TasksOfTheOldLayoutAreAdoptedAndTheirFoldersGo) {
  put_intent(script_lease(1, "true"));
  put_intent(script_lease(2, "true"));
  for (const std::uint64_t id : {1, 2}) {
    ASSERT_EQ(::rename(task(id).work().c_str(), task(id).work_of_old().c_str()), 0);
    ASSERT_TRUE(write_file(task(id).work_of_old() + "/left", "").ok());
  }
  claim_and_die(task(1), ExitRecord{.status = 7});
  claim_and_die(task(2), ExitRecord{.status = 8});
  const std::filesystem::path spare = agent_folder() / "tasks" / "spare.9.work";
  const std::filesystem::path stray = agent_folder() / "tasks" / "3.1.work";
  std::filesystem::create_directories(spare);
  std::filesystem::create_directories(stray);
  AgentOptions given = options();
  given.output_ttl = milliseconds(1);
  RunningAgent agent(given);
  ASSERT_EQ(agent.hello.leases_size(), 2);
  EXPECT_FALSE(std::filesystem::exists(spare));
  EXPECT_FALSE(std::filesystem::exists(stray));
  EXPECT_TRUE(std::filesystem::exists(task(1).work_of_old())) << "until its time is over";
  agent.give(welcome());
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().exit_status(), 7);
  EXPECT_EQ(agent.sent.outcomes(2).at(0).result().exit_status(), 8);
  agent.give(acknowledge(2));
  wait_until([&] {
    return !std::filesystem::exists(task(1).work_of_old()) &&
           !std::filesystem::exists(task(2).work_of_old());
  });
}

TEST_F(RestartTest, FilesOfSilentTasksAreUsedAgain) {
  RunningAgent agent(options());
  agent.give(welcome());
  const auto files = [&] {
    std::set<std::uint64_t> inodes;
    struct stat info {};
    for (const char* folder : {"tasks", "work"}) {
      for (const auto& entry : std::filesystem::directory_iterator(agent_folder() / folder)) {
        if (entry.path().filename() == "lock") continue;
        if (::stat(entry.path().c_str(), &info) == 0) inodes.insert(info.st_ino);
      }
    }
    return inodes;
  };
  std::set<std::uint64_t> after_the_first;
  for (std::uint64_t id = 1; id <= 5; ++id) {
    agent.give(script_lease(id, "test -z \"$(ls -A)\""));
    EXPECT_TRUE(agent.sent.outcomes(id).at(0).result().completed());
    agent.give(acknowledge(2 * id));
    wait_until([&] { return !has_claim(task(id)); });
    if (id == 1) after_the_first = files();
  }
  EXPECT_EQ(after_the_first.size(), 2u);  // a record and a working folder
  EXPECT_EQ(files(), after_the_first);
}

// The fence: however claims and take-backs meet, exactly one of them wins.
TEST_F(RestartTest, AnIntentIsClaimedOrTakenBackNeverBoth) {
  int claims = 0;
  int take_backs = 0;
  const auto both_have_won = [&] { return claims > 0 && take_backs > 0; };
  for (int round = 0; round < 200 || (round < 5000 && !both_have_won()); ++round) {
    const TaskFiles files{(folder_.path() / ("race-" + std::to_string(round))).string()};
    ASSERT_TRUE(write_record(files.intent(), "boot", "lease").ok());
    bool claimed = false;
    std::thread shim([&] { claimed = claim_intent(files).ok(); });
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round));
    const bool taken_back = void_intent(files);
    shim.join();
    EXPECT_NE(claimed, taken_back);
    EXPECT_EQ(claimed, has_claim(files));
    claims += claimed ? 1 : 0;
    take_backs += taken_back ? 1 : 0;
  }
  EXPECT_TRUE(both_have_won()) << claims << " claims, " << take_backs << " take-backs";
}

TEST(ProcessInfo, KnowsAProcessFromItsSuccessor) {
  const ProcessIdentity own{::getpid(), start_ticks_of(::getpid()), boot_id()};
  EXPECT_TRUE(*is_running(own));
  ProcessIdentity other = own;
  ++other.start_ticks;
  EXPECT_FALSE(*is_running(other));
  other = own;
  other.boot_id = "another boot";
  EXPECT_FALSE(*is_running(other));
}

}  // namespace
}  // namespace berth::agent::restart_test
