// Shims that do nothing, since somebody has suspended them: the task is stopped all the same.
#include <atomic>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/lease_store.h"
#include "agent/process_info.h"
#include "agent/testing/commands.h"

namespace berth::agent::stopped_shim_test {
namespace {

using berth::v1::TaskResult;
using testing::command_options;
using testing::exit_of;
using testing::process_exists;
using testing::RunningAgent;
using testing::script_lease;
using testing::shim_of;
using testing::wait_until;
using testing::welcome;
using testing::written_pid;

// Suspends a process again and again until it is gone.
class Suspender {
 public:
  explicit Suspender(pid_t pid) {
    ::kill(pid, SIGSTOP);
    thread_ = std::thread([this, pid] {
      while (!done_ && ::kill(pid, SIGSTOP) == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  ~Suspender() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

class StoppedShimTest : public ::testing::Test {
 protected:
  AgentOptions options() { return command_options(folder_.path() / "agent"); }
  TaskFiles task() { return LeaseStore(folder_.path() / "agent").files(1, 1); }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  // It ignores the stop signal, and so does a process of it in a session of its own.
  berth::v1::Lease stubborn() {
    berth::v1::Lease lease =
        script_lease(1, "trap '' TERM; setsid sh -c 'echo $$ > " + file("child") +
                            "; while true; do sleep 0.05; done' & echo $$ > " + file("command") +
                            "; while true; do sleep 0.05; done");
    lease.mutable_tasks(0)->mutable_spec()->set_stop_grace_ms(100);
    return lease;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(StoppedShimTest, OneThatIsSuspendedWakesToStopItsTask) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo $$ > " + file("command") + "; exec sleep 600"));
  written_pid(file("command"));
  ASSERT_EQ(::kill(shim_of(task()), SIGSTOP), 0);
  agent.give(testing::stop(1, 1));
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_EQ(result.term_signal(), SIGTERM);
  EXPECT_NE(result.message().find("Stopped on request"), std::string::npos) << result.message();
}

TEST_F(StoppedShimTest, OneThatIsSuspendedWakesForTheEndOfItsCommand) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo $$ > " + file("command") + "; while [ ! -e " + file("go") +
                                 " ]; do sleep 0.01; done"));
  written_pid(file("command"));
  ASSERT_EQ(::kill(shim_of(task()), SIGSTOP), 0);
  ASSERT_TRUE(write_file(file("go"), "").ok());
  EXPECT_TRUE(agent.sent.outcomes(1).at(0).result().completed());
}

TEST_F(StoppedShimTest, OneThatIsKeptSuspendedIsKilledWithAllThatCameFromIt) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(stubborn());
  const pid_t command = written_pid(file("command"));
  const pid_t child = written_pid(file("child"));
  const pid_t shim = shim_of(task());
  const Suspender suspender(shim);
  agent.give(testing::stop(1, 1));
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_EQ(result.failure(), berth::v1::FAILURE_KIND_UNSPECIFIED);
  EXPECT_NE(result.message().find("Stopped on request"), std::string::npos) << result.message();
  for (const pid_t pid : {command, child, shim}) {
    wait_until([&] { return !process_exists(pid); });
  }
  EXPECT_EQ(exit_of(task())->cause, EndCause::stopped);  // for the next agent
}

TEST_F(StoppedShimTest, ALimitHoldsWithoutIts) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease = stubborn();
  lease.mutable_tasks(0)->set_run_limit_ms(300);
  agent.give(lease);
  const pid_t command = written_pid(file("command"));
  const Suspender suspender(shim_of(task()));
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_EQ(result.failure(), berth::v1::TIMEOUT);
  wait_until([&] { return !process_exists(command); });
}

TEST_F(StoppedShimTest, AnAdoptedOneIsLookedAfterToo) {
  {
    RunningAgent first(options());
    first.give(welcome());
    berth::v1::Lease lease = stubborn();
    lease.mutable_tasks(0)->set_deadline_ms(300);
    first.give(lease);
    written_pid(file("command"));
  }
  const Suspender suspender(shim_of(task()));
  RunningAgent second(options());
  second.give(welcome());
  EXPECT_EQ(second.sent.outcomes(1).at(0).result().failure(), berth::v1::DEADLINE);
}

// Until its command has begun a shim waits for it, and whoever may suspend the command then stops
// both. Here the command waits for room in what it takes for the entrance of its group.
TEST_F(StoppedShimTest, OneWhoseCommandDoesNotBeginIsEndedAllTheSame) {
  AgentOptions given = options();
  given.group_root = folder_.path() / "groups";
  std::filesystem::create_directories(given.group_root / "1.1");
  const std::string entrance = given.group_root / "1.1" / "cgroup.procs";
  ASSERT_EQ(::mkfifo(entrance.c_str(), 0600), 0);
  const Fd full(::open(entrance.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  const std::string page(4096, 'x');
  while (::write(full.get(), page.data(), page.size()) > 0) {
  }
  RunningAgent agent(given);
  agent.give(welcome());
  berth::v1::Lease lease = script_lease(1, "true");
  lease.mutable_tasks(0)->mutable_spec()->set_stop_grace_ms(100);
  agent.give(lease);
  wait_until([&] { return shim_of(task()) != 0; });
  agent.give(testing::stop(1, 1));
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_NE(result.message().find("Stopped on request"), std::string::npos) << result.message();
}

}  // namespace
}  // namespace berth::agent::stopped_shim_test
