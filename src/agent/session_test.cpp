// Readings of real GPUs, as they come from nvidia-smi.
#include "agent/session.h"

#include <gtest/gtest.h>

#include "agent/testing/server_side.h"

namespace berth::agent::session_test {
namespace {

class SessionTest : public ::testing::Test {
 public:
  ~SessionTest() override { worker_.stop(); }

 protected:
  SessionTest() {
    options_.folder = folder_.path();
    options_.gpus = {{.uuid = "GPU-1", .vram_mb = 1000}, {.uuid = "GPU-2", .vram_mb = 1000}};
    session_.emplace(loop_, worker_, options_, 1,
                     [this](berth::v1::AgentMessage&& message) { sent_.take(std::move(message)); });
    session_->receive(testing::welcome());
  }

  testing::TemporaryFolder folder_;
  AgentOptions options_;
  testing::Collector sent_;
  Loop loop_;
  Worker worker_;
  std::optional<Session> session_;
};

TEST_F(SessionTest, AGpuThatIsMissingTwiceIsLostAndComesBackOnce) {
  const std::vector<GpuReadings> both{{.uuid = "GPU-1"}, {.uuid = "GPU-2"}};
  const std::vector<GpuReadings> one{{.uuid = "GPU-1"}};
  session_->take_readings(both);
  session_->take_readings(one);
  session_->take_readings(Error{"failed"});  // nothing is known
  EXPECT_TRUE(sent_.reports().empty());
  session_->take_readings(one);
  session_->take_readings(one);
  ASSERT_EQ(sent_.reports().size(), 1u);
  EXPECT_EQ(sent_.reports()[0].gpu_lost().gpu(), "GPU-2");
  session_->take_readings(both);
  session_->take_readings(both);
  ASSERT_EQ(sent_.reports().size(), 2u);
  EXPECT_EQ(sent_.reports()[1].gpu_returned().gpu(), "GPU-2");
}

TEST_F(SessionTest, WhenNvidiaSmiFailsForLongAllGpusAreLostWithTheReason) {
  const std::vector<GpuReadings> both{{.uuid = "GPU-1"}, {.uuid = "GPU-2"}};
  session_->take_readings(both);
  for (int i = 0; i < 4; ++i)
    session_->take_readings(Error{"it failed"});
  EXPECT_TRUE(sent_.reports().empty()) << "a driver may be busy for a while";
  session_->take_readings(both);
  for (int i = 0; i < 4; ++i)
    session_->take_readings(Error{"it failed"});
  EXPECT_TRUE(sent_.reports().empty()) << "it was not in a row";
  session_->take_readings(Error{"it failed"});
  session_->take_readings(Error{"it failed"});
  ASSERT_EQ(sent_.reports().size(), 2u);
  EXPECT_EQ(sent_.reports()[0].gpu_lost().gpu(), "GPU-1");
  EXPECT_EQ(sent_.reports()[1].gpu_lost().gpu(), "GPU-2");
  EXPECT_EQ(sent_.reports()[1].gpu_lost().message(),
            "nvidia-smi has told nothing of any GPU 5 times in a row: it failed");
  session_->take_readings(both);
  ASSERT_EQ(sent_.reports().size(), 4u);
  EXPECT_EQ(sent_.reports()[2].gpu_returned().gpu(), "GPU-1");
}

TEST_F(SessionTest, HeartbeatsCarryWhatWasMeasuredAndMinusOneBefore) {
  session_->begin({});
  const auto unknown = sent_.heartbeat();
  EXPECT_EQ(unknown.readings(0).used_mb(), -1);
  EXPECT_EQ(unknown.readings(0).power_w(), -1);
}

}  // namespace
}  // namespace berth::agent::session_test
