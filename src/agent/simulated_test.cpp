// The simulated executor: how long batches take and what they say.
#include "agent/simulated.h"

#include <gtest/gtest.h>

#include "agent/testing/server_side.h"

namespace berth::agent::simulated_test {
namespace {

using testing::lease_of;

TEST(Simulated, ABatchTakesWhatItsQueueSaysDividedByTheSpeed) {
  berth::v1::Lease lease = lease_of(1, 4);
  lease.set_batch_base_us(50'000);
  lease.set_batch_per_task_us(10'000);
  lease.set_expected_ms(1);
  EXPECT_EQ(simulated_duration(lease, 1000, 1.0), milliseconds(90));
  EXPECT_EQ(simulated_duration(lease, 2000, 1.0), milliseconds(45));
  EXPECT_EQ(simulated_duration(lease, 1000, 0.5), milliseconds(45));
  EXPECT_EQ(simulated_duration(lease, 1000, 0), Duration{});
}

TEST(Simulated, WithoutABatchModelTheLongestDeclaredTaskCounts) {
  berth::v1::Lease lease = lease_of(1, 2);
  lease.mutable_tasks(0)->mutable_spec()->set_expected_run_ms(30);
  lease.mutable_tasks(1)->mutable_spec()->set_expected_run_ms(20);
  lease.set_expected_ms(1);
  EXPECT_EQ(simulated_duration(lease, 500, 1.0), milliseconds(60));
}

TEST(Simulated, ElseTheServersExpectationWhichKnowsTheGpuAlready) {
  berth::v1::Lease lease = lease_of(1, 2);
  lease.set_expected_ms(70);
  EXPECT_EQ(simulated_duration(lease, 500, 1.0), milliseconds(70));
}

TEST(Simulated, TheResultIsJsonWhateverTheNames) {
  berth::v1::Lease lease = lease_of(1, 3);
  lease.set_queue("a\"b\n");
  EXPECT_EQ(simulated_result(lease, "a100-0", milliseconds(12)),
            "{\"simulated\":true,\"queue\":\"a\\\"b\\u000a\",\"model\":\"m\",\"batch\":3,"
            "\"gpu\":\"a100-0\",\"run_ms\":12}");
}

}  // namespace
}  // namespace berth::agent::simulated_test
