// What a shim that was killed leaves behind: all of it is ended before its task's end is told, and
// nobody else.
#include <gtest/gtest.h>

#include "agent/lease_store.h"
#include "agent/process_info.h"
#include "agent/testing/commands.h"

namespace berth::agent::leftovers_test {
namespace {

using testing::command_options;
using testing::content;
using testing::process_exists;
using testing::RunningAgent;
using testing::script_lease;
using testing::shim_of;
using testing::wait_until;
using testing::welcome;
using testing::written_pid;

class LeftoversTest : public ::testing::Test {
 protected:
  AgentOptions options(const std::string& name = "agent") {
    return command_options(folder_.path() / name);
  }
  TaskFiles task(std::uint64_t lease, const std::string& name = "agent") {
    return LeaseStore(folder_.path() / name).files(lease, 1);
  }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  // Says its pid in a file, in a session of its own, and goes on until it is killed.
  std::string away(const std::string& name) {
    return "setsid sh -c 'trap \"\" TERM HUP; echo $$ > " + file(name) +
           "; while true; do sleep 0.05; done'";
  }

  static berth::v1::Lease brief_lease(std::uint64_t id, const std::string& script) {
    berth::v1::Lease lease = script_lease(id, script);
    lease.mutable_tasks(0)->mutable_spec()->set_stop_grace_ms(100);
    return lease;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(LeftoversTest, AreGoneBeforeTheEndIsTold) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, away("child") + " & env -i " + away("bare") + " & wait"));
  const pid_t child = written_pid(file("child"));
  const pid_t bare = written_pid(file("bare"));
  ASSERT_EQ(::kill(shim_of(task(1)), SIGKILL), 0);
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::CRASH);
  EXPECT_FALSE(process_exists(child));
  EXPECT_FALSE(process_exists(bare)) << "it has no environment, and is the launcher's by now";
}

TEST_F(LeftoversTest, AreGoneAlsoWhenTheShimIsKilledWhileNoAgentIsThere) {
  pid_t child = 0;
  pid_t bare = 0;
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(script_lease(1, "setsid sh -c '(env -i sh -c \"echo \\$\\$ > " + file("bare") +
                                   "; exec sleep 600\") & echo $$ > " + file("child") +
                                   "; while true; do sleep 0.05; done' & wait"));
    child = written_pid(file("child"));
    bare = written_pid(file("bare"));
  }
  const pid_t shim = shim_of(task(1));
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  wait_until([&] { return !process_exists(shim); });
  ASSERT_TRUE(process_exists(child));
  RunningAgent second(options());
  second.give(welcome());
  EXPECT_EQ(second.sent.outcomes(1).at(0).result().failure(), berth::v1::CRASH);
  EXPECT_FALSE(process_exists(child));
  EXPECT_FALSE(process_exists(bare)) << "it has no environment, but came from one that has";
}

// Its state is that of its first thread, which says that it has ended, and has no environment.
TEST_F(LeftoversTest, AreFoundAlsoWithoutTheirFirstThread) {
  pid_t child = 0;
  const auto has_threads = [&] {
    std::error_code error;
    return std::filesystem::exists("/proc/" + std::to_string(child) + "/task", error) &&
           content("/proc/" + std::to_string(child) + "/status").find("Threads:\t2") !=
               std::string::npos;
  };
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(script_lease(1,
                            "command -v python3 > /dev/null || { echo none; sleep 600; }; "
                            "setsid python3 -c 'import ctypes, os, threading, time\n"
                            "threading.Thread(target=time.sleep, args=(600,)).start()\n"
                            "open(\"" +
                                file("child") +
                                "\", \"w\").write(str(os.getpid()) + \"\\n\")\n"
                                "ctypes.CDLL(None).pthread_exit(None)' & wait"));
    wait_until([&] {
      return content(task(1).out()) == "none\n" || content(file("child")).ends_with("\n");
    });
    if (std::filesystem::exists(file("child"))) {
      child = written_pid(file("child"));
      wait_until([&] { return !process_exists(child) && has_threads(); });
    }
  }
  const pid_t shim = shim_of(task(1));
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  wait_until([&] { return !process_exists(shim); });
  RunningAgent second(options());
  second.give(welcome());
  second.sent.outcomes(1);
  if (child == 0) GTEST_SKIP() << "there is no python3";
  EXPECT_FALSE(has_threads());
}

// Also a task of another server that has the same lease.
TEST_F(LeftoversTest, OthersAreLeftAlone) {
  RunningAgent agent(options());
  RunningAgent stranger(options("stranger"));
  agent.give(welcome());
  stranger.give(welcome());
  agent.give(script_lease(1, away("child") + " & wait"));
  agent.give(brief_lease(2, away("neighbour") + " & wait"));
  stranger.give(brief_lease(1, away("strange") + " & wait"));
  const pid_t child = written_pid(file("child"));
  const pid_t neighbour = written_pid(file("neighbour"));
  const pid_t strange = written_pid(file("strange"));
  ASSERT_EQ(::kill(shim_of(task(1)), SIGKILL), 0);
  agent.sent.outcomes(1);
  EXPECT_FALSE(process_exists(child));
  for (const pid_t pid : {neighbour, shim_of(task(2)), strange, shim_of(task(1, "stranger"))}) {
    EXPECT_TRUE(process_exists(pid));
  }
  agent.give(testing::stop(2, 1));
  stranger.give(testing::stop(1, 1));
  agent.sent.outcomes(2);
  stranger.sent.outcomes(1);
  EXPECT_FALSE(process_exists(neighbour));
  EXPECT_FALSE(process_exists(strange));
}

TEST_F(LeftoversTest, ATaskCannotChangeTheMarkOfItsShim) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease =
      script_lease(1, "echo BERTH_SHIM=$BERTH_SHIM; env | grep -c BERTH_SHIM=");
  (*lease.mutable_tasks(0)->mutable_spec()->mutable_env())["BERTH_SHIM"] = "1.1";
  agent.give(lease);
  agent.sent.outcomes(1);
  const Result<std::optional<TaskRecord>> record = read_record(task(1).claimed());
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ(content(task(1).out()), shim_mark((*record)->shim()) + "\n1\n");
}

}  // namespace
}  // namespace berth::agent::leftovers_test
