// Replay over journals of servers that were killed, slept and were started again.
#include "service/replay_check.h"

#include <gtest/gtest.h>

#include "service/testing/running_service.h"
#include "store/testing/temp_folder.h"

namespace berth::service::replay_check_test {
namespace {

using testing::new_task;
using testing::RunningService;

// Two tenants whose tasks become due one after another, by a clock that the test moves.
class Replay : public ::testing::Test {
 protected:
  ServiceOptions options() {
    ServiceOptions options;
    options.boot = "boot";
    options.clock = [this] { return Time{now_ns_.load()}; };
    options.wall_clock = [this] { return now_ns_.load(); };
    return options;
  }
  void pass(Duration time) { now_ns_ += time.ns; }

  void submit(RunningService& running, const std::string& name, int count) {
    const Time now = running.service().options().clock();
    for (int i = 0; i < count; ++i) {
      NewTask task = new_task(name + std::to_string(i));
      task.tenant = i % 2 == 0 ? "alice" : "bob";
      task.spec.not_before = now + seconds(1 + i);
      running.submit(std::move(task));
    }
  }
  // As a crash would leave it: what is on disk while the server runs.
  std::filesystem::path crashed(const std::string& name) {
    const std::filesystem::path to = folder_.path() / name;
    std::filesystem::copy(live_, to, std::filesystem::copy_options::recursive);
    std::filesystem::remove(to / "lock");
    return live_ = to;
  }

  store::testing::TempFolder folder_;
  std::filesystem::path live_ = folder_.path() / "first";
  std::atomic<std::int64_t> now_ns_{1'800'000'000 * seconds(1).ns};
};

TEST_F(Replay, LongDowntimesShiftTicksAndNoDecision) {
  for (int crash = 0; crash < 4; ++crash) {
    RunningService running(live_, options());
    ASSERT_EQ(running.error, "");
    submit(running, "a" + std::to_string(crash) + "-", 40);
    crashed("after " + std::to_string(crash));
    pass(minutes(crash == 0 ? 60 : crash));
  }
  {
    RunningService running(live_, options());
    ASSERT_EQ(running.error, "");
    running.settle();
  }
  const Result<ReplayReport> report = replay(live_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_FALSE(report->difference.has_value())
      << "different from event " << report->difference->seq;
  EXPECT_TRUE(report->ledger_agrees());
  ASSERT_EQ(report->ledger.size(), 2U);
  EXPECT_GT(report->ledger.back().engine.charged_us, 0);
}

}  // namespace
}  // namespace berth::service::replay_check_test
