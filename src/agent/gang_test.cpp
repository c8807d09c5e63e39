// Gangs as real processes: ranks that start together, know one another and end together.
#include <algorithm>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "agent/lease_store.h"
#include "agent/output_pump.h"
#include "agent/ranks.h"
#include "agent/testing/commands.h"

namespace berth::agent::gang_test {
namespace {

using berth::v1::TaskResult;
using testing::content;
using testing::gang_lease;
using testing::process_exists;
using testing::RunningAgent;
using testing::wait_until;
using testing::welcome;
using testing::written_pid;

using Lines = std::vector<std::string>;

class GangTest : public ::testing::Test {
 protected:
  AgentOptions options() {
    AgentOptions options = testing::command_options(folder_.path() / "agent");
    for (GpuDescription& gpu : options.gpus) {
      gpu.node = gpu.kind == "L4" ? "n1" : "n0";
    }
    return options;
  }
  TaskFiles task(std::uint64_t lease) {
    return LeaseStore(folder_.path() / "agent").files(lease, 1);
  }
  TaskResult run(const AgentOptions& given, const berth::v1::Lease& lease) {
    RunningAgent agent(given);
    agent.give(welcome());
    agent.give(lease);
    const auto outcomes = agent.sent.outcomes(lease.id());
    EXPECT_EQ(outcomes.size(), 1U);  // the gang's task ends once
    return outcomes.at(0).result();
  }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  // Each rank writes its pid into a file of its own, and the script goes on.
  std::string with_pid(const std::string& script) {
    return "echo $$ > " + file("pid.") + "$RANK; " + script;
  }
  pid_t pid_of(int rank) { return written_pid(file("pid." + std::to_string(rank))); }
  Lines sorted_lines(const std::string& path) {
    Lines lines;
    std::istringstream text(content(path));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line);
    }
    std::ranges::sort(lines);
    return lines;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(GangTest, EachRankKnowsItsPlaceAndTheOthers) {
  const TaskResult result =
      run(options(), gang_lease(1,
                                "echo $RANK $LOCAL_RANK $NODE_RANK of $WORLD_SIZE, "
                                "$LOCAL_WORLD_SIZE on $BERTH_NODE of $BERTH_HOSTS, "
                                "GPUs $CUDA_VISIBLE_DEVICES, $MASTER_ADDR"));
  EXPECT_TRUE(result.completed()) << result.message();
  EXPECT_EQ(sorted_lines(task(1).out()),
            (Lines{"[0] 0 0 0 of 3, 2 on n0 of n0,n1, GPUs 0,1, 127.0.0.1",
                   "[1] 1 1 0 of 3, 2 on n0 of n0,n1, GPUs 0,1, 127.0.0.1",
                   "[2] 2 0 1 of 3, 1 on n1 of n0,n1, GPUs 0, 127.0.0.1"}));
}

TEST_F(GangTest, AllRanksHaveOnePortThatIsFree) {
  run(options(), gang_lease(1, "echo $MASTER_PORT > " + file("port.") + "$RANK"));
  const std::string port = content(file("port.0"));
  EXPECT_GT(std::stoi(port), 1023);
  EXPECT_EQ(content(file("port.1")), port);
  EXPECT_EQ(content(file("port.2")), port);
  berth::v1::Lease given = gang_lease(2, "echo $MASTER_PORT");
  given.mutable_gang()->set_master_port(4711);
  run(options(), given);
  EXPECT_EQ(sorted_lines(task(2).out()), (Lines{"[0] 4711", "[1] 4711", "[2] 4711"}));
}

TEST_F(GangTest, AQueueMayHaveOneProcessForEachNode) {
  berth::v1::Lease lease =
      gang_lease(1,
                 "echo $RANK $LOCAL_RANK $NODE_RANK of $WORLD_SIZE, $LOCAL_WORLD_SIZE here, GPUs "
                 "$CUDA_VISIBLE_DEVICES");
  lease.mutable_gang()->set_ranks_by_node(true);
  const TaskResult result = run(options(), lease);
  EXPECT_TRUE(result.completed()) << result.message();
  EXPECT_EQ(sorted_lines(task(1).out()),
            (Lines{"[0] 0 0 0 of 2, 1 here, GPUs 0,1", "[1] 1 0 1 of 2, 1 here, GPUs 0"}));
}

TEST_F(GangTest, WhatTheTaskAsksForDoesNotHideItsRank) {
  berth::v1::Lease lease = gang_lease(1, "echo $RANK $MODE");
  (*lease.mutable_tasks(0)->mutable_spec()->mutable_env())["RANK"] = "77";
  (*lease.mutable_tasks(0)->mutable_spec()->mutable_env())["MODE"] = "fast";
  run(options(), lease);
  EXPECT_EQ(sorted_lines(task(1).out()), (Lines{"[0] 0 fast", "[1] 1 fast", "[2] 2 fast"}));
}

TEST_F(GangTest, ARankThatFailsEndsTheOthersAndIsTheReason) {
  const TaskResult result =
      run(options(), gang_lease(1, with_pid("if [ $RANK = 1 ]; then while [ ! -e " + file("pid.0") +
                                            " ] || [ ! -e " + file("pid.2") +
                                            " ]; do sleep 0.01; done; echo bad >&2; exit 5; fi; "
                                            "exec sleep 600")));
  EXPECT_FALSE(result.completed());
  EXPECT_EQ(result.failure(), berth::v1::ERROR);
  EXPECT_EQ(result.exit_status(), 5);
  EXPECT_TRUE(result.message().starts_with(
      "Rank 1 ended with status 5, and the other ranks were stopped; the gang ran for "))
      << result.message();
  EXPECT_EQ(content(task(1).err()), "[1] bad\n");
  for (const int rank : {0, 2}) {
    EXPECT_FALSE(process_exists(pid_of(rank)));
  }
}

TEST_F(GangTest, ARankThatCrashesOrRunsOutOfMemoryIsNamed) {
  const TaskResult crash =
      run(options(), gang_lease(1, "[ $RANK = 2 ] && kill -SEGV $$; exec sleep 600"));
  EXPECT_EQ(crash.failure(), berth::v1::CRASH);
  EXPECT_EQ(crash.term_signal(), SIGSEGV);
  EXPECT_TRUE(crash.message().starts_with("Rank 2 ended by SIGSEGV, ")) << crash.message();
  const TaskResult memory = run(
      options(),
      gang_lease(2, "[ $RANK = 0 ] && { echo CUDA out of memory >&2; exit 1; }; exec sleep 600"));
  EXPECT_EQ(memory.failure(), berth::v1::OUT_OF_MEMORY);
  EXPECT_TRUE(memory.message().starts_with("Seems to have run out of memory: rank 0 ended "))
      << memory.message();
}

TEST_F(GangTest, RanksThatIgnoreTheStopSignalAreKilledAfterTheGrace) {
  berth::v1::Lease lease = gang_lease(1, with_pid("if [ $RANK = 0 ]; then while [ ! -e " +
                                                  file("pid.1") + " ] || [ ! -e " + file("pid.2") +
                                                  " ]; do sleep 0.01; done; sleep 0.1; exit 1; fi; "
                                                  "trap '' TERM; while true; do sleep 0.05; done"));
  lease.mutable_tasks(0)->mutable_spec()->set_stop_grace_ms(100);
  const TaskResult result = run(options(), lease);
  EXPECT_TRUE(result.message().starts_with("Rank 0 ended with status 1")) << result.message();
  for (const int rank : {1, 2}) {
    EXPECT_FALSE(process_exists(pid_of(rank)));
  }
}

TEST_F(GangTest, ARankThatEndsWellWaitsForTheOthers) {
  const TaskResult result =
      run(options(), gang_lease(1, "[ $RANK = 0 ] && exit 0; sleep 0.2; echo late"));
  EXPECT_TRUE(result.completed()) << result.message();
  EXPECT_EQ(sorted_lines(task(1).out()), (Lines{"[1] late", "[2] late"}));
}

TEST_F(GangTest, NoneRunsIfOneCannotStart) {
  berth::v1::Lease lease = gang_lease(1, "");
  *lease.mutable_tasks(0)->mutable_spec()->mutable_command()->mutable_argv(0) = "no-such-program";
  const TaskResult result = run(options(), lease);
  EXPECT_EQ(result.failure(), berth::v1::ERROR);
  EXPECT_EQ(result.exit_status(), 127);
  EXPECT_TRUE(result.message().starts_with("The program \"no-such-program\" was not found"))
      << result.message();
}

// The first ranks have started when no more pipes can be had: they are gone when this is told.
TEST_F(GangTest, RanksThatHaveStartedEndWhenTheNodeCannotStartTheRest) {
  AgentOptions scarce = options();
  scarce.command_files =
      11;  // 4 of the shim, 2 for each rank while it runs, 4 for each that starts
  const TaskResult result = run(scarce, gang_lease(1, with_pid("exec sleep 600")));
  EXPECT_EQ(result.failure(), berth::v1::INFRASTRUCTURE) << result.message();
  EXPECT_NE(result.message().find("Too many open files"), std::string::npos) << result.message();
  for (const int rank : {0, 1, 2}) {
    const std::string pid = content(file("pid." + std::to_string(rank)));
    EXPECT_FALSE(pid.ends_with('\n') && process_exists(std::stoi(pid))) << rank;
  }
}

TEST_F(GangTest, IsStoppedAsOne) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(gang_lease(1, with_pid("exec sleep 600")));
  for (const int rank : {0, 1, 2}) {
    EXPECT_TRUE(process_exists(pid_of(rank)));
  }
  agent.give(testing::stop(1, 1));
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_FALSE(result.completed());
  EXPECT_EQ(result.failure(), berth::v1::FAILURE_KIND_UNSPECIFIED);
  for (const int rank : {0, 1, 2}) {
    EXPECT_FALSE(process_exists(pid_of(rank)));
  }
}

TEST_F(GangTest, AShimThatIsKilledTakesAllRanksWithIt) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(gang_lease(1, with_pid("exec sleep 600")));
  for (const int rank : {0, 1, 2}) {
    pid_of(rank);
  }
  ::kill(testing::shim_of(task(1)), SIGKILL);
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::CRASH);
  for (const int rank : {0, 1, 2}) {
    wait_until([&] { return !process_exists(pid_of(rank)); });
  }
}

TEST_F(GangTest, IsAdoptedAsOneByTheNextAgent) {
  {
    RunningAgent first(options());
    first.give(welcome());
    first.give(gang_lease(1, with_pid("while [ ! -e " + file("go") +
                                      " ]; do sleep 0.01; done; [ $RANK != 2 ] || exit 4")));
    for (const int rank : {0, 1, 2}) {
      pid_of(rank);
    }
  }
  RunningAgent second(options());
  ASSERT_EQ(second.hello.leases_size(), 1);
  EXPECT_EQ(second.hello.leases(0).running_size(), 1);
  second.give(welcome());
  ASSERT_TRUE(write_file(file("go"), "").ok());
  const auto outcomes = second.sent.outcomes(1);
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].result().exit_status(), 4);
  EXPECT_TRUE(outcomes[0].result().message().starts_with("Rank 2 "))
      << outcomes[0].result().message();
}

TEST(OutputPumpTest, LinesOfSeveralProcessesStayWhole) {
  const testing::TemporaryFolder folder;
  OutputFile file(folder.path() / "out", 1 << 20);
  Result<OutputPump> one = OutputPump::open(file, "[1] ");
  Result<OutputPump> two = OutputPump::open(file, "[2] ");
  ASSERT_TRUE(one.ok() && two.ok());
  Fd to_one = one->take_write_end();
  Fd to_two = two->take_write_end();
  const auto write = [](const Fd& end, std::string_view text) {
    ASSERT_TRUE(write_all(end.get(), text, "pipe").ok());
  };
  write(to_one, "first ");
  one->pump();
  write(to_two, "10%\r20%\rdone\r\n\nno end");
  two->pump();
  write(to_one, "line\n" + std::string(20'000, 'x'));
  one->pump();
  to_one.reset();
  to_two.reset();
  one->drain();
  two->drain();
  EXPECT_EQ(content(folder.path() / "out"),
            "[2] 10%\r[2] 20%\r[2] done\r\n[2] \n[1] first line\n[1] " +
                std::string(16 * 1024, 'x') + "\n[1] " + std::string(20'000 - 16 * 1024, 'x') +
                "\n[2] no end\n");
}

TEST(FreePort, IsNeverZeroHere) { EXPECT_GT(find_free_port(), 0U); }

}  // namespace
}  // namespace berth::agent::gang_test
