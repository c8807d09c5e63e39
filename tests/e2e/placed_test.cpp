// Placed work on a running server: gangs, kinds of GPU, what no node has; and all of it after a
// restart.
#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::placed_test {
namespace {

using support::ServerProcess;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A server with the built-in GPUs, two of kind A100 and one of kind L4 on one node, which can be
// started again on the same folder.
class PlacedWork : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
    start();
  }
  void start() {
    server_ = std::make_unique<ServerProcess>(ServerProcess::Options{
        folder_.path() / "data", {"--set", "gpus.source=simulated"}, {{"BERTH_TIME_SCALE", "0"}}});
    ASSERT_TRUE(server_->serves()) << server_->error();
  }
  Result shell(const std::string& command, const std::string& rest) const {
    return berth(command + " --server " + server_->grpc_address() + " " + rest);
  }
  support::TempFolder folder_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(PlacedWork, AGangHasAllOfItsGpus) {
  const Result done = shell("submit",
                            "--queue llm --id gang --gpus 2 --gpu-kind A100 --within node "
                            "--required --wait -- true");
  EXPECT_EQ(done.code, 0) << done.out;
  const Result status = shell("status", "gang");
  EXPECT_TRUE(has(status.out, "2 GPUs of kind A100 within one node")) << status.out;
  EXPECT_TRUE(has(status.out, "a100-0, a100-1")) << status.out;
}

TEST_F(PlacedWork, WhatCanNeverRunIsRefusedWithTheReason) {
  const Result kind = shell("submit", "--queue llm --gpu-kind A10 -- true");
  EXPECT_EQ(kind.code, 3) << kind.out;
  EXPECT_TRUE(has(kind.out, "did you mean \"A100\"?")) << kind.out;
  const Result gang = shell("submit", "--queue llm --gpus 2 --gpu-kind L4 -- true");
  EXPECT_EQ(gang.code, 7) << gang.out;
  EXPECT_TRUE(has(gang.out, "needs 2 GPUs, has 1 GPU")) << gang.out;
  const Result cpus = shell("submit", "--queue llm --gpus 0 --cpus 1000000 -- true");
  EXPECT_EQ(cpus.code, 7) << cpus.out;
  EXPECT_TRUE(has(cpus.out, "needs 1000000 CPUs")) << cpus.out;
  const Result wrong = shell("submit", "--queue llm --gpus 3 --groups 2 --within nod -- true");
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_TRUE(has(wrong.out, "--groups: 3 GPUs cannot be parted into 2 groups")) << wrong.out;
  EXPECT_TRUE(has(wrong.out, "--within: no level is named \"nod\"; did you mean \"node\"?"))
      << wrong.out;
}

TEST_F(PlacedWork, ARestartForgetsNothingOfWhatATaskAsksFor) {
  ASSERT_EQ(shell("submit",
                  "--queue llm --id gang --held --gpus 2 --groups 2 --within node --required "
                  "--gpu-kind A100 --checkpoint-interval 10min --restart-cost 30s -- true")
                .code,
            0);
  ASSERT_EQ(shell("submit", "--queue llm --id small --held --gpu-kind L4 -- true").code, 0);
  server_->kill();
  start();
  const Result status = shell("status", "gang");
  EXPECT_TRUE(has(status.out, "2 GPUs of kind A100 in 2 groups, each within one node"))
      << status.out;
  EXPECT_TRUE(has(status.out, "every 10m00s")) << status.out;
  EXPECT_TRUE(has(status.out, "restart cost  30s")) << status.out;
  for (const char* id : {"gang", "small"}) {
    ASSERT_EQ(shell("release", id).code, 0);
    EXPECT_EQ(shell("logs", id + std::string(" --follow")).code, 0);
  }
  EXPECT_TRUE(has(shell("status", "gang").out, "a100-0, a100-1")) << shell("status", "gang").out;
  EXPECT_TRUE(has(shell("status", "small").out, "on l4,")) << shell("status", "small").out;
  EXPECT_EQ(server_->stop(), 0);
  const Result replayed = berth("replay " + (folder_.path() / "data").string());
  EXPECT_TRUE(has(replayed.out, "identical; hash ")) << replayed.out;
}

}  // namespace
}  // namespace berth::e2e::placed_test
