// kill -9 of the agent's process at random moments: nothing starts twice, nothing is forgotten.
//
// The oracle is the side effect: each task appends the number of its lease to a file.
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/testing/commands.h"

namespace berth::agent {
namespace {

// At least so many; more until each case has been met, which on a slow machine takes longer.
constexpr int kRounds = 25;
constexpr int kRoundsMax = 100;
constexpr std::uint64_t kLeases = 20;

pid_t spawn_agent(const std::filesystem::path& folder, std::uint64_t first) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string path = folder.string();
  const std::string number = std::to_string(first);
  const char* const argv[] = {self.c_str(), "agent", path.c_str(), number.c_str(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(
      ::posix_spawn(&pid, self.c_str(), nullptr, nullptr, const_cast<char* const*>(argv), environ),
      0);
  return pid;
}

std::map<std::uint64_t, int> starts(const std::filesystem::path& file) {
  std::map<std::uint64_t, int> counts;
  std::istringstream lines(testing::content(file));
  for (std::uint64_t lease = 0; lines >> lease;) {
    ++counts[lease];
  }
  return counts;
}

TEST(KillTest, NothingStartsTwiceAndNothingThatStartedIsForgotten) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path agent_folder = folder.path() / "agent";
  std::mt19937 random(20260);
  std::set<std::uint64_t> never;  // the agent promised that they do not start
  std::set<std::uint64_t> known;  // told as running or ended
  std::size_t running = 0;
  const auto met_all_cases = [&] {
    return !never.empty() && running > 0 && known.size() > running;
  };
  for (int round = 0; round < kRounds || (round < kRoundsMax && !met_all_cases()); ++round) {
    const std::uint64_t first = static_cast<std::uint64_t>(round) * kLeases + 1;
    const pid_t victim = spawn_agent(agent_folder, first);
    ::usleep(
        std::uniform_int_distribution<useconds_t>(0, round % 4 == 0 ? 400'000 : 150'000)(random));
    ::kill(victim, SIGKILL);
    ASSERT_EQ(::waitpid(victim, nullptr, 0), victim);

    testing::RunningAgent next(testing::command_options(agent_folder));
    ASSERT_TRUE(next.agent);
    next.give(testing::welcome());
    for (const berth::v1::HeldLease& held : next.hello.leases()) {
      (held.not_started_size() > 0 ? never : known).insert(held.lease());
      running += static_cast<std::size_t>(held.running_size());
    }
    for (int ended = 0; ended < next.hello.leases_size(); ++ended) {
      const auto report = next.sent.report(berth::v1::Report::kLeaseEnded);
      const berth::v1::TaskResult& result = report.lease_ended().outcomes(0).result();
      const bool refused = never.contains(report.lease_ended().lease());
      EXPECT_EQ(result.completed(), !refused) << result.message();
      next.give(testing::acknowledge(report.seq()));
    }
    // Those that the agent had not heard of may not start either: their folders do not exist.
    testing::wait_until([&] { return std::filesystem::is_empty(agent_folder / "leases"); });
  }
  for (const auto& [lease, count] : starts(folder.path() / "starts")) {
    EXPECT_EQ(count, 1) << "lease " << lease;
    EXPECT_TRUE(known.contains(lease)) << "lease " << lease;
    EXPECT_FALSE(never.contains(lease)) << "lease " << lease;
  }
  EXPECT_EQ(starts(folder.path() / "starts").size(), known.size());
  EXPECT_TRUE(met_all_cases());
  RecordProperty("never", static_cast<int>(never.size()));
  RecordProperty("running", static_cast<int>(running));
  RecordProperty("known", static_cast<int>(known.size()));
}

}  // namespace
}  // namespace berth::agent
