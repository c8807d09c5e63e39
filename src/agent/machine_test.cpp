// What a machine has, by its files: limits of control groups of both versions.
#include "agent/machine.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/files.h"
#include "agent/testing/server_side.h"

namespace berth::agent::machine_test {
namespace {

class MachineTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(write_file(path, text).ok());
  }
  Machine limited() {
    return within_limits({16'000, 64'000}, folder_.path() / "proc", folder_.path() / "sys");
  }
  testing::TemporaryFolder folder_;
};

TEST_F(MachineTest, WithoutLimitsItIsWhole) {
  EXPECT_EQ(limited(), (Machine{16'000, 64'000}));
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(limited(), (Machine{16'000, 64'000}));
}

TEST_F(MachineTest, TheTightestGroupAboveCounts) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  put("sys/fs/cgroup/a/memory.max", "8589934592\n");
  put("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/a/b/memory.max", "4294967296\n");
  EXPECT_EQ(limited(), (Machine{2'500, 4'096}));
}

TEST_F(MachineTest, TheOldVersionCountsToo) {
  put("proc/self/cgroup", "4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n1:name=systemd:/x\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");  // as inside a container
  put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "150000\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(limited(), (Machine{1'500, 2'048}));
}

TEST_F(MachineTest, TotalMemoryStandsInMeminfo) {
  EXPECT_EQ(total_memory_mb(folder_.path()), 0);
  put("meminfo", "MemTotal:       65536000 kB\nMemFree:        1 kB\n");
  EXPECT_EQ(total_memory_mb(folder_.path()), 64'000);
}

TEST_F(MachineTest, ThisOneHasCpusAndMemory) {
  const Machine machine = read_machine();
  EXPECT_GT(machine.cpu_milli, 0);
  EXPECT_GT(machine.memory_mb, 0);
}

}  // namespace
}  // namespace berth::agent::machine_test
