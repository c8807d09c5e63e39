// kill -9 of the server under load: no acknowledged task is lost, none starts twice. The oracle is
// what the tasks did: each appends its id to a file.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include <gtest/gtest.h>

#include "service/replay_check.h"
#include "store/crash_points.h"
#include "store/fsck.h"
#include "store/history.h"
#include "store/layout.h"
#include "tests/faults/load.h"
#include "tests/support/server_process.h"

namespace berth::faults::kill_test {
namespace {

using support::ServerProcess;

// The default tenant's limits are for people, not for load.
const std::vector<std::string> kNoLimits = {
    "--set", "tenant_defaults.max_queue_size=1000000", "--set",
    "tenant_defaults.token_bucket_size=1000000", "--set",
    "tenant_defaults.token_refill_rate=1000000", "--set",
    "tenant_defaults.daily_token_limit=1000000000", "--set", "policy.gpu_load_threshold=1.0",
    // A kill may find a task promised and not started, again and again.
    "--set", "policy.max_infrastructure_losses=250"};

std::int64_t unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

class Kill : public ::testing::Test {
 protected:
  ServerProcess::Options options() const { return {folder_.path() / "data", kNoLimits, {}}; }
  std::filesystem::path effects() const { return folder_.path() / "effects"; }

  // What the tasks did, against what was acknowledged.
  std::vector<std::string> faults_in(const std::set<std::string>& acknowledged,
                                     const ServerProcess& server) const {
    std::vector<std::string> faults;
    client::Client client = server.client();
    const std::map<std::string, int> lines = support::count_lines(effects());
    for (const auto& [id, count] : lines)
      if (count > 1) faults.push_back(id + " ran " + std::to_string(count) + " times");
    for (const std::string& id : acknowledged)
      if (!lines.contains(id))
        faults.push_back(id + " was acknowledged and never ran: " + end_of(client, id));
    return faults;
  }

  static std::string end_of(client::Client& client, const std::string& id) {
    v1::GetTaskStatusRequest request;
    request.set_task_id(id);
    request.set_with_history(true);
    const auto status = client.task_status(request);
    return status ? status->ShortDebugString() : status.failure().message;
  }

  support::TempFolder folder_;
};

TEST_F(Kill, AtRandomMomentsLosesNothingAndStartsNothingTwice) {
  std::mt19937 random(20261115);
  const int rounds = support::rounds(30, 200);
  std::set<std::string> acknowledged;
  for (int round = 0; round < rounds; ++round) {
    ServerProcess server(options());
    ASSERT_TRUE(server.serves()) << server.error();
    Load load(server, 4, "r" + std::to_string(round), effects());
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 250));
    server.kill();
    acknowledged.merge(load.stop());
  }
  ServerProcess server(options());
  ASSERT_TRUE(server.serves()) << server.error();
  EXPECT_EQ(wait_for_ends(server, acknowledged), std::vector<std::string>{});
  EXPECT_EQ(faults_in(acknowledged, server), std::vector<std::string>{});
  std::printf("%d kills, %zu acknowledged tasks\n", rounds, acknowledged.size());
  EXPECT_GT(acknowledged.size(), static_cast<std::size_t>(rounds));
}

// Servers that are killed under load of two tenants and rest before they are started again, while
// tasks become due: more instants than one Tick looks at.
TEST_F(Kill, ARestBeforeTheRestartChangesNoDecisionAndNoCharge) {
  const int rounds = support::rounds(3, 12);
  const auto rest = std::chrono::milliseconds(support::rounds(1500, 20'000));
  const std::vector<std::string> tenants = {"alice", "bob"};
  std::set<std::string> acknowledged;
  for (int round = 0; round < rounds; ++round) {
    ServerProcess server(options());
    ASSERT_TRUE(server.serves()) << server.error();
    client::Client client = server.client();
    for (int i = 0; i < 40; ++i) {
      v1::SubmitTaskRequest later = support::append_line_task(
          "later-" + std::to_string(round) + "-" + std::to_string(i), effects());
      later.mutable_task()->set_user_id(tenants[static_cast<std::size_t>(i % 2)]);
      later.mutable_task()->set_not_before_unix_ms(unix_ms() + 300 + i * 25);
      ASSERT_TRUE(client.submit(later).ok());
      acknowledged.insert(later.task().task_id());
    }
    Load load(server, 4, "r" + std::to_string(round), effects(), tenants);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server.kill();
    acknowledged.merge(load.stop());
    std::this_thread::sleep_for(rest);
  }
  {
    ServerProcess server(options());
    ASSERT_TRUE(server.serves()) << server.error();
    EXPECT_EQ(wait_for_ends(server, acknowledged, tenants), std::vector<std::string>{});
    EXPECT_EQ(faults_in(acknowledged, server), std::vector<std::string>{});
    EXPECT_EQ(server.stop(), 0);
  }
  const auto replayed = service::replay(folder_.path() / "data");
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  EXPECT_FALSE(replayed->difference.has_value())
      << "different from event " << replayed->difference->seq << " on";
  EXPECT_TRUE(replayed->ledger_agrees());
  const auto history = store::HistoryReader::open(store::history_path(folder_.path() / "data"));
  ASSERT_TRUE(history.ok());
  for (const std::string& tenant : tenants) {
    const auto charged =
        (*history)->query("SELECT sum(charge_us) FROM ended WHERE tenant = '" + tenant + "'");
    ASSERT_TRUE(charged.ok()) << charged.error().message;
    const auto line = std::ranges::find(replayed->ledger, tenant, &service::AuditLine::tenant);
    ASSERT_NE(line, replayed->ledger.end());
    EXPECT_GT(line->engine.net_us(), 0);
    EXPECT_EQ(std::get<std::string>(charged->rows.at(0).at(0)),
              std::to_string(line->engine.net_us()))
        << tenant;
  }
  std::printf("%d kills and rests, %zu acknowledged tasks\n", rounds, acknowledged.size());
}

// Runs a server that dies at the point, under load, on the same folder as before. Whether it died.
bool die_at(const ServerProcess::Options& options, const std::string& prefix,
            const std::filesystem::path& effects, std::set<std::string>& acknowledged,
            std::size_t padding = 0) {
  ServerProcess server(options);
  if (!server.serves()) return true;  // the point lies on the way to serving
  Load load(server, 2, prefix, effects, {""}, padding);
  for (int i = 0; i < 2'000 && !server.has_ended(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const bool died = server.has_ended();
  server.kill();
  acknowledged.merge(load.stop());
  return died;
}

// All there are: a new one is tested from the moment that it has a name.
std::vector<store::CrashPoint> all_crash_points() {
  std::vector<store::CrashPoint> points;
  for (std::size_t i = 0; i < store::kCrashPoints; ++i)
    points.push_back(static_cast<store::CrashPoint>(i));
  return points;
}

class CrashPoints : public Kill, public ::testing::WithParamInterface<store::CrashPoint> {
 protected:
  // Segments and snapshots come and go within a second.
  static constexpr std::size_t kPadding = 20'000;
  ServerProcess::Options busy() const {
    ServerProcess::Options settings = options();
    for (const char* value :
         {"store.segment_size=\"1MiB\"", "store.snapshot_every_events=1000",
          "store.snapshot_every_size=\"1MiB\"", "store.keep_snapshots=1", "store.retention=\"0s\""})
      settings.arguments.insert(settings.arguments.end(), {"--set", value});
    return settings;
  }
  // Passed once in a second, not in every group.
  static bool is_rare(store::CrashPoint point) {
    using enum store::CrashPoint;
    const std::set<store::CrashPoint> rare{segment_written,  segment_created,  segment_removed,
                                           snapshot_written, snapshot_renamed, history_before,
                                           history_after};
    return rare.contains(point);
  }
};

TEST_P(CrashPoints, LoseNothingAndStartNothingTwice) {
  const std::string point(store::name_of(GetParam()));
  const bool rare = is_rare(GetParam());
  const int rounds = rare ? support::rounds(8, 30) : support::rounds(20, 40);
  std::mt19937 random(7);
  std::set<std::string> acknowledged;
  int hits = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string fault =
        "crash=" + point + "@" + std::to_string(1 + random() % (rare ? 2 : 20));
    const ServerProcess::Options settings = rare ? busy() : options();
    hits += die_at(ServerProcess::faulty(settings, fault), "p" + std::to_string(round), effects(),
                   acknowledged, rare ? kPadding : 0)
                ? 1
                : 0;
  }
  ServerProcess server(options());
  ASSERT_TRUE(server.serves()) << server.error();
  EXPECT_EQ(wait_for_ends(server, acknowledged), std::vector<std::string>{});
  EXPECT_EQ(faults_in(acknowledged, server), std::vector<std::string>{});
  std::printf("%s: hit %d times of %d, %zu acknowledged tasks\n", point.c_str(), hits, rounds,
              acknowledged.size());
  EXPECT_GE(hits, rare ? rounds / 2 : 20);
  server.stop();
  EXPECT_TRUE(store::fsck(folder_.path() / "data").healthy());
}

INSTANTIATE_TEST_SUITE_P(Named, CrashPoints, ::testing::ValuesIn(all_crash_points()),
                         [](const auto& point) {
                           std::string name(store::name_of(point.param));
                           for (char& c : name)
                             if (c == '.') c = '_';
                           return name;
                         });

// The test of the test: a server that answers before the group is on disk must be noticed.
TEST_F(Kill, AServerThatAnswersTooEarlyIsNoticed) {
  std::mt19937 random(11);
  std::set<std::string> acknowledged;
  for (int round = 0; round < 20; ++round) {
    const std::string fault =
        "answer_before_sync,crash=store.before_append@" + std::to_string(5 + random() % 40);
    die_at(ServerProcess::faulty(options(), fault), "e" + std::to_string(round), effects(),
           acknowledged);
  }
  ServerProcess server(options());
  ASSERT_TRUE(server.serves()) << server.error();
  const std::vector<std::string> unknown = wait_for_ends(server, acknowledged);
  std::printf("%zu of %zu acknowledged tasks were lost, as planted\n", unknown.size(),
              acknowledged.size());
  EXPECT_FALSE(unknown.empty());
}

}  // namespace
}  // namespace berth::faults::kill_test
