// kill -9 of the agent's process and of the launcher at random moments: nothing starts twice,
// nothing is forgotten.
//
// The oracle is the side effect: each task appends the number of its lease to a file.
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/testing/commands.h"

namespace berth::agent::kill_test {
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

// Nothing is left but spares: no task wrote anything.
bool is_tidy(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("spare.")) return false;
  }
  return true;
}

// The launcher of this process, if there is one just now.
std::optional<pid_t> launcher() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (testing::content(entry.path() / "comm") != "berth-launcher\n") continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (testing::process_exists(pid) && testing::parent_of(pid) == ::getpid()) return pid;
  }
  return std::nullopt;
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
    // Those that the agent had not heard of may not start either: they have no intents.
    testing::wait_until([&] { return is_tidy(agent_folder / "tasks"); });
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

// What the agent calls not started has left no mark, everything else exactly one.
TEST(KillTest, ALauncherMayDieAtAnyMoment) {
  constexpr int kLauncherRounds = 15;
  const testing::TemporaryFolder folder;
  std::mt19937 random(20261);
  testing::RunningAgent agent(testing::command_options(folder.path() / "agent"));
  agent.give(testing::welcome());
  std::map<std::uint64_t, bool> completed;
  std::uint64_t next = 1;
  int kills = 0;
  for (int round = 0; round < kLauncherRounds; ++round) {
    for (std::uint64_t i = 0; i < kLeases; ++i) {
      agent.give(testing::script_lease(next++, "echo $BERTH_LEASE >> ../../../starts"));
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 60'000)(random));
    if (const std::optional<pid_t> victim = launcher()) {
      kills += ::kill(*victim, SIGKILL) == 0 ? 1 : 0;
    }
    while (completed.size() < next - 1) {
      const auto ended = agent.sent.report(berth::v1::Report::kLeaseEnded).lease_ended();
      const berth::v1::TaskResult& result = ended.outcomes(0).result();
      EXPECT_TRUE(result.completed() || result.failure() == berth::v1::INFRASTRUCTURE)
          << result.message();
      completed[ended.lease()] = result.completed();
    }
  }
  const std::map<std::uint64_t, int> marks = starts(folder.path() / "starts");
  for (const auto& [lease, has_run] : completed) {
    const auto found = marks.find(lease);
    EXPECT_EQ(found == marks.end() ? 0 : found->second, has_run ? 1 : 0) << "lease " << lease;
  }
  EXPECT_GT(kills, 0);
  RecordProperty("kills", kills);
  RecordProperty("completed", static_cast<int>(marks.size()));
  RecordProperty("given_back", static_cast<int>(completed.size() - marks.size()));
}

}  // namespace
}  // namespace berth::agent::kill_test
