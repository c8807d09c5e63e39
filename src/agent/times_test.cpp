// What an agent tells of times past: how long ago a lease ended, what it knows of its folder, and
// what records of older shims say.
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/lease_store.h"
#include "agent/process_info.h"
#include "agent/records.h"
#include "agent/testing/commands.h"

namespace berth::agent::times_test {
namespace {

using berth::v1::LeaseEnded;
using berth::v1::Report;
using testing::command_options;
using testing::content;
using testing::exit_of;
using testing::RunningAgent;
using testing::script_lease;
using testing::wait_until;
using testing::welcome;

class TimesTest : public ::testing::Test {
 protected:
  AgentOptions options() { return command_options(agent_folder()); }
  std::filesystem::path agent_folder() { return folder_.path() / "agent"; }
  TaskFiles task() { return LeaseStore(agent_folder()).files(1, 1); }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  // A task that has ended when this returns, with nobody to hear of it.
  void end_alone() {
    {
      RunningAgent first(options());
      first.give(welcome());
      first.give(script_lease(1, "while [ ! -e " + file("go") + " ]; do sleep 0.01; done"));
      wait_until([&] { return has_claim(task()); });
    }
    ASSERT_TRUE(write_file(file("go"), "").ok());
    wait_until([&] { return exit_of(task()).has_value(); });
  }
  void pretend_an_earlier_boot(const std::filesystem::path& path) {
    std::string text = content(path);
    for (std::size_t at = text.find(boot_id()); at != std::string::npos;
         at = text.find(boot_id())) {
      text[at] = text[at] == '0' ? '1' : '0';
    }
    ASSERT_TRUE(write_file(path, text).ok());
  }
  LeaseEnded end_told() {
    RunningAgent agent(options());
    agent.give(welcome());
    return agent.sent.report(Report::kLeaseEnded).lease_ended();
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TimesTest, HowLongAgoALeaseEndedIsToldEachTime) {
  end_alone();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const LeaseEnded first = end_told();
  EXPECT_GE(first.ended_ago_ms(), 300);
  EXPECT_LT(first.ended_ago_ms(), 60'000);
  EXPECT_FALSE(first.has_ran_ms());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_GE(end_told().ended_ago_ms(), first.ended_ago_ms() + 100);
}

TEST_F(TimesTest, OfAnEarlierBootItIsToldHowLongItRan) {
  end_alone();
  const std::int64_t ran_ms = exit_of(task())->ran_ms;
  pretend_an_earlier_boot(task().claimed());
  const LeaseEnded ended = end_told();
  ASSERT_TRUE(ended.has_ran_ms());
  EXPECT_EQ(ended.ran_ms(), ran_ms);
  EXPECT_EQ(ended.ended_ago_ms(), 0);
}

TEST_F(TimesTest, WhatCouldNotBeginHasNotStartedAndTookNoTime) {
  AgentOptions given = options();
  given.launcher_program = file("no-such-program");
  RunningAgent agent(given);
  agent.give(welcome());
  agent.give(script_lease(1, "true"));
  const Report report = agent.sent.report();
  ASSERT_TRUE(report.has_lease_ended()) << report.ShortDebugString();
  ASSERT_TRUE(report.lease_ended().has_ran_ms());
  EXPECT_EQ(report.lease_ended().ran_ms(), 0);
}

TEST_F(TimesTest, AnAgentKnowsAllOnceItsFolderWasWelcomedOnThisBoot) {
  {
    RunningAgent first(options());
    EXPECT_FALSE(first.hello.knows_all());
  }
  {
    RunningAgent second(options());
    EXPECT_FALSE(second.hello.knows_all());  // no server has heard of the first
    second.give(welcome());
    wait_until([&] { return std::filesystem::exists(agent_folder() / "welcome"); });
  }
  {
    RunningAgent third(options());
    EXPECT_TRUE(third.hello.knows_all());
  }
  pretend_an_earlier_boot(agent_folder() / "welcome");
  RunningAgent fourth(options());
  EXPECT_FALSE(fourth.hello.knows_all());
}

// ---- Records of older shims
// ----------------------------------------------------------------------

// As they were before the end of a command was written by the clock of its boot.
std::string old_exit(int status) {
  std::string text;
  put_field(text, "of", "1.1 " + boot_id());
  put_field(text, "cause", "ended");
  put_field(text, "status", status);
  put_field(text, "signal", 0);
  put_field(text, "rank", -1);
  put_field(text, "out_of_memory", 0);
  put_field(text, "message", "");
  put_field(text, "ran_ms", 1234);
  put_field(text, "ended_unix_ms", 1'700'000'000'000);
  put_field(text, "out_cut", 0);
  put_field(text, "err_cut", 0);
  put_field(text, "whole", 1);
  return text;
}

std::string old_record(pid_t shim) {
  std::string claim;
  put_field(claim, "pid", shim);
  put_field(claim, "start_ticks", static_cast<std::int64_t>(start_ticks_of(shim)));
  std::string leased;
  put_field(leased, "boot_id", boot_id());
  put_field(leased, "lease", script_lease(1, "true").SerializeAsString());
  std::string size;
  put_field(size, "size", static_cast<std::int64_t>(leased.size()));
  std::string text(4096, '\0');
  text.replace(0, claim.size(), claim);
  text.replace(192, size.size(), size);
  return text + leased;
}

TEST_F(TimesTest, ATaskOfAnOlderShimIsAdoptedAndItsEndIsTold) {
  ASSERT_TRUE(LeaseStore(agent_folder()).prepare().ok());
  const std::string record = task().claimed();
  const std::string go = file("go");
  const std::string exit = old_exit(5);
  const pid_t shim = ::fork();
  if (shim == 0) {
    ::setsid();
    while (::access(go.c_str(), F_OK) != 0)
      ::usleep(10'000);
    const int fd = ::open(record.c_str(), O_WRONLY);
    const bool put = ::pwrite(fd, exit.data(), exit.size(), 256) > 0;
    ::_exit(put ? 0 : 1);
  }
  std::thread buries([shim] { ::waitpid(shim, nullptr, 0); });
  ASSERT_TRUE(write_file(record, old_record(shim)).ok());
  RunningAgent agent(options());
  ASSERT_EQ(agent.hello.leases_size(), 1);
  ASSERT_EQ(agent.hello.leases(0).running_size(), 1);
  agent.give(welcome());
  ASSERT_TRUE(write_file(go, "").ok());
  const LeaseEnded ended = agent.sent.report(Report::kLeaseEnded).lease_ended();
  buries.join();
  EXPECT_EQ(ended.outcomes(0).result().exit_status(), 5);
  EXPECT_EQ(ended.ran_ms(), 1234);  // all that it says of times
}

}  // namespace
}  // namespace berth::agent::times_test
