// Control groups: what is written to them, and real ones where this machine has version 2.
#include "agent/cgroup.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/lease_store.h"
#include "agent/testing/commands.h"

namespace berth::agent::cgroup_test {
namespace {

using testing::content;

// A folder that looks like the kernel's, down to one task's group.
class FakeGroups : public ::testing::Test {
 protected:
  FakeGroups() {
    for (const auto& group : {top(), root(), root() / "1.1"}) {
      std::filesystem::create_directories(group);
      put(group / "cgroup.controllers", "cpuset cpu io memory pids\n");
      for (const char* file : {"cgroup.subtree_control", "cgroup.procs", "cgroup.kill", "cpu.max",
                               "memory.max", "memory.swap.max", "memory.oom.group", "pids.max"}) {
        put(group / file, "");
      }
    }
  }
  std::filesystem::path top() { return folder_.path() / "top"; }
  std::filesystem::path root() { return top() / "berth"; }
  static void put(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  std::string written(const char* file) { return content(root() / "1.1" / file); }

  testing::TemporaryFolder folder_;
};

TEST_F(FakeGroups, GiveTheirTasksWhatTheyAskFor) {
  ASSERT_TRUE(prepare_group_root(root()).ok());
  EXPECT_EQ(content(root() / "cgroup.subtree_control"), "+cpu +memory +pids");
  const Result<TaskGroup> group =
      TaskGroup::make((root() / "1.1").string(), {.cpu_milli = 2500, .memory_mb = 512});
  ASSERT_TRUE(group.ok()) << group.error().message;
  EXPECT_EQ(written("cpu.max"), "250000 100000");
  EXPECT_EQ(written("memory.max"), "536870912");
  EXPECT_EQ(written("memory.swap.max"), "0");
  EXPECT_EQ(written("memory.oom.group"), "1");
  EXPECT_EQ(written("pids.max"), "") << "no limit was given";
  EXPECT_GE(group->entrance(), 0);
  group->kill_all();
  EXPECT_EQ(written("cgroup.kill"), "1");
}

TEST_F(FakeGroups, AreEndedWithoutTheirShim) {
  put(root() / "1.1" / "cgroup.procs", "12345\n");
  EXPECT_FALSE(end_group(root() / "1.1")) << "it is dying still";
  EXPECT_EQ(written("cgroup.kill"), "1");
  put(root() / "1.1" / "cgroup.procs", "");
  EXPECT_TRUE(end_group(root() / "1.1"));
  EXPECT_TRUE(end_group(root() / "1.2")) << "there is none";
  EXPECT_TRUE(end_group("")) << "nor any";
}

TEST_F(FakeGroups, TellWhoRanOutOfMemory) {
  const Result<TaskGroup> group = TaskGroup::make((root() / "1.1").string(), {.processes = 100});
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(written("pids.max"), "100");
  put(root() / "1.1" / "memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n");
  EXPECT_FALSE(group->ran_out_of_memory());
  put(root() / "1.1" / "memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\n");
  EXPECT_TRUE(group->ran_out_of_memory());
}

TEST_F(FakeGroups, CanBeTriedWithoutAChange) {
  ASSERT_TRUE(try_group_root(root()).ok());
  EXPECT_TRUE(std::filesystem::exists(root() / "1.1")) << "another agent's";
  put(top() / "cgroup.controllers", "cpu\n");
  EXPECT_FALSE(try_group_root(top() / "other").ok());
  EXPECT_FALSE(std::filesystem::exists(top() / "other"));
}

TEST_F(FakeGroups, SayWhichControllerIsMissing) {
  put(top() / "cgroup.controllers", "cpu pids\n");
  const Status refused = prepare_group_root(root());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "The group " + top().string() +
                " has no controller \"memory\" of control groups version 2; it may be in use as "
                "version 1.");
}

// Where version 2 is mounted, and whether it limits.
struct RealGroups {
  std::filesystem::path top;
  bool limits = false;
};
RealGroups real_groups() {
  for (const char* top : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    const std::filesystem::path path(top);
    if (!std::filesystem::exists(path / "cgroup.controllers")) continue;
    if (::access((path / "cgroup.procs").c_str(), W_OK) != 0) continue;
    const std::filesystem::path probe = path / ("berth-probe-" + std::to_string(::getpid()));
    const bool limits = prepare_group_root(probe).ok();
    ::rmdir(probe.c_str());
    return {path, limits};
  }
  return {};
}

class RealGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (real_.top.empty()) GTEST_SKIP() << "this machine lets nobody make groups of version 2";
    ASSERT_TRUE(::mkdir(root_.c_str(), 0755) == 0);
    if (real_.limits) {
      ASSERT_TRUE(prepare_group_root(root_).ok());
    }
  }
  void TearDown() override { ::rmdir(root_.c_str()); }
  AgentOptions options() {
    AgentOptions made = testing::command_options(folder_.path() / "agent");
    made.group_root = root_;
    return made;
  }
  std::string out_of(std::uint64_t lease) {
    return content(LeaseStore(folder_.path() / "agent").files(lease, 1).out());
  }

  testing::TemporaryFolder folder_;
  RealGroups real_ = real_groups();
  std::filesystem::path root_ = real_.top / ("berth-test-" + std::to_string(::getpid()));
};

TEST_F(RealGroupsTest, ATaskIsInItsGroupWhichGoesWithIt) {
  testing::RunningAgent agent(options());
  agent.give(testing::welcome());
  agent.give(testing::script_lease(1, "sed -n 's/^0:://p' /proc/self/cgroup"));
  EXPECT_TRUE(agent.sent.outcomes(1).at(0).result().completed());
  EXPECT_TRUE(out_of(1).ends_with(root_.filename().string() + "/1.1\n")) << out_of(1);
  testing::wait_until([&] { return !std::filesystem::exists(root_ / "1.1"); });
}

TEST_F(RealGroupsTest, ATaskThatTakesMoreMemoryThanItAskedForIsEnded) {
  if (!real_.limits) GTEST_SKIP() << "memory is not a controller of version 2 here";
  testing::RunningAgent agent(options());
  agent.give(testing::welcome());
  berth::v1::Lease lease = testing::script_lease(1, "head -c 300M /dev/zero | tail -c 299M");
  lease.mutable_tasks(0)->mutable_spec()->set_memory_mb(64);
  agent.give(lease);
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::OUT_OF_MEMORY);
}

TEST_F(RealGroupsTest, ATaskThatForksWithoutEndIsHeld) {
  if (!real_.limits) GTEST_SKIP() << "pids is not a controller of version 2 here";
  AgentOptions given = options();
  given.processes_max = 20;
  testing::RunningAgent agent(given);
  agent.give(testing::welcome());
  agent.give(testing::script_lease(
      1, "for i in $(seq 40); do sleep 60 & done 2>/dev/null; echo all; kill 0"));
  agent.sent.outcomes(1);
  EXPECT_NE(out_of(1), "all\n");
}

}  // namespace
}  // namespace berth::agent::cgroup_test
