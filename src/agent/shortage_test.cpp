// A node that cannot open more files: what it cannot read it does not judge.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/lease_store.h"
#include "agent/testing/commands.h"

namespace berth::agent::shortage_test {
namespace {

using testing::command_options;
using testing::content;
using testing::RunningAgent;
using testing::script_lease;
using testing::shim_of;
using testing::wait_until;
using testing::welcome;

// From here to its end this process can open no file. Nothing that opens one is to be used within.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class ShortageTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer itself opens pipes to look at memory";
#endif
  }
  AgentOptions options() { return command_options(folder_.path() / "agent"); }
  TaskFiles task(std::uint64_t lease) {
    return LeaseStore(folder_.path() / "agent").files(lease, 1);
  }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  // Says that it has begun, and goes on until it may end. A folder can be made without a file.
  berth::v1::Lease waiting_lease(std::uint64_t id) {
    return script_lease(
        id, "echo ready; while [ ! -d " + file("go") + " ]; do sleep 0.01; done; exit 5");
  }
  void let_it_end() { ASSERT_EQ(::mkdir(file("go").c_str(), 0700), 0); }
  // Longer than the agent waits before it looks again.
  static void wait_a_few_beats(RunningAgent& agent) {
    for (int beats = 0; beats < 5; ++beats) {
      agent.sent.heartbeat();
    }
  }
  static bool is_ended(RunningAgent& agent, std::uint64_t lease) {
    for (const berth::v1::Report& report : agent.sent.reports()) {
      if (report.has_lease_ended() && report.lease_ended().lease() == lease) return true;
    }
    return false;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ShortageTest, AnEndThatCannotBeReadIsReadLater) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(waiting_lease(1));
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  const pid_t shim = shim_of(task(1));
  {
    const NoMoreFiles shortage;
    let_it_end();
    wait_until([&] { return ::kill(shim, 0) != 0; });
    wait_a_few_beats(agent);
    ASSERT_FALSE(is_ended(agent, 1));
  }
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().exit_status(), 5);
}

TEST_F(ShortageTest, ATaskWhoseShimCannotBeWatchedYetStillRunsAndCanBeStopped) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo ready; exec sleep 600"));
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  const pid_t launcher = testing::parent_of(shim_of(task(1)));
  const TaskFiles second = task(2);
  const TaskFiles third = task(3);
  ::kill(launcher, SIGSTOP);
  agent.give(waiting_lease(2));
  agent.give(waiting_lease(3));
  wait_until([&] {
    return std::filesystem::exists(second.intent()) && std::filesystem::exists(third.intent());
  });
  {
    const NoMoreFiles shortage;
    ::kill(launcher, SIGCONT);
    wait_until([&] { return has_claim(second) && has_claim(third); });
    wait_a_few_beats(agent);
    agent.give(testing::stop(2, 1));
    wait_a_few_beats(agent);
    EXPECT_FALSE(is_ended(agent, 2));
    EXPECT_FALSE(is_ended(agent, 3));
  }
  if (HasFailure()) return;
  EXPECT_EQ(agent.sent.outcomes(2).at(0).result().term_signal(), SIGTERM);
  let_it_end();
  EXPECT_EQ(agent.sent.outcomes(3).at(0).result().exit_status(), 5);
  agent.give(testing::stop(1, 1));
  agent.sent.outcomes(1);
}

TEST_F(ShortageTest, ANodeThatHasNoMoreFilesForAShimSpendsNoAttempt) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo ready; exec sleep 600"));
  wait_until([&] { return content(task(1).out()) == "ready\n"; });
  const pid_t launcher = testing::parent_of(shim_of(task(1)));
  const rlimit few{6, 6};  // enough to claim, not for the pipes
  ASSERT_EQ(::prlimit(launcher, RLIMIT_NOFILE, &few, nullptr), 0);
  agent.give(testing::command_lease(2, {"true"}));
  const berth::v1::TaskResult result = agent.sent.outcomes(2).at(0).result();
  EXPECT_EQ(result.failure(), berth::v1::INFRASTRUCTURE);
  EXPECT_NE(result.message().find("pipe"), std::string::npos) << result.message();
  agent.give(testing::stop(1, 1));
  agent.sent.outcomes(1);
}

}  // namespace
}  // namespace berth::agent::shortage_test
