// The configuration of a running server: reloads and what they answer, what is put against the file
// and how long it holds, queues that leave the file. Real processes, killed and started again.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::settings_test {
namespace {

using support::ServerProcess;

constexpr const char* kGold = "[[tenants]]\nname = \"gold\"\nweight = 3\n";
constexpr const char* kJobs = "[[queues]]\nname = \"jobs\"\n";

bool has(const Result& result, std::string_view words) {
  return result.out.find(words) != std::string::npos;
}

class Settings : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
  }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  std::string file() const { return (folder_.path() / "berth.toml").string(); }
  void serve() {
    server_.reset();  // kill -9
    server_ = std::make_unique<ServerProcess>(ServerProcess::Options{
        folder_.path() / "data", {"--config", file()}, {{"BERTH_TIME_SCALE", "0"}}});
    ASSERT_TRUE(server_->serves()) << server_->error();
  }
  Result shell(const std::string& arguments) const {
    return run("BERTH_SERVER=" + server_->grpc_address() + " " + BERTH_BINARY + " " + arguments);
  }
  bool completes(const std::string& id) const {
    for (int tries = 0; tries < 200; ++tries)
      if (has(shell("status " + id), "completed")) return true;
    return false;
  }
  std::string shown(const std::string& key) const {
    const std::string all = shell("config show --running --origin").out;
    const std::size_t at = all.find(key + " ");
    return at == std::string::npos ? all : all.substr(at, all.find('\n', at) - at);
  }

  support::TempFolder folder_;
  std::unique_ptr<ServerProcess> server_;
};

constexpr int kRefused = 7;  // in conflict with what is there

TEST_F(Settings, AReloadedExecutorHoldsForTheNextTask) {
  write("");
  serve();
  write(std::string(kJobs) + "executor = \"process\"\n");
  ASSERT_EQ(shell("reload").code, 0);
  const Result added = shell("submit --queue jobs --payload x --wait");
  EXPECT_EQ(added.code, kRefused) << added.out;
  EXPECT_TRUE(has(added, "submit it with a command")) << added.out;
  write(kJobs);
  ASSERT_EQ(shell("reload").code, 0);
  EXPECT_EQ(shell("submit --queue jobs --payload x --wait").code, 0);
  EXPECT_EQ(shell("put queue jobs --executor process").code, 0);
  EXPECT_EQ(shell("submit --queue jobs --payload x --wait").code, kRefused);
  EXPECT_EQ(shell("submit --queue jobs --wait -- true").code, 0);
  serve();
  EXPECT_EQ(shell("submit --queue jobs --payload x --wait").code, kRefused)
      << "also after a restart";
}

TEST_F(Settings, WhatWasPutHoldsThroughReloadAndKillUntilItIsReverted) {
  write(kGold);
  serve();
  ASSERT_EQ(shell("put tenant gold --weight 5").code, 0);
  EXPECT_TRUE(shown("tenants.gold.weight").find("= 5  # put 20") != std::string::npos)
      << shown("tenants.gold.weight");
  const Result same = shell("reload");
  EXPECT_EQ(same.code, 0);
  EXPECT_TRUE(has(same, "nothing to change")) << same.out;
  serve();
  EXPECT_TRUE(shown("tenants.gold.weight").find("= 5  # put 20") != std::string::npos)
      << shown("tenants.gold.weight");
  write("[[tenants]]\nname = \"gold\"\nweight = 7\n");
  const Result other = shell("reload");
  EXPECT_EQ(other.code, 0);
  EXPECT_TRUE(has(other, "tenants.gold.weight: 5 stays, because it was put; 7 (file "))
      << other.out;
  const Result reverted = shell("config revert tenant gold");
  EXPECT_EQ(reverted.code, 0);
  EXPECT_TRUE(has(reverted, "tenants.gold.weight: 5 becomes 7")) << reverted.out;
  EXPECT_TRUE(shown("tenants.gold.weight").find("= 7  # file ") != std::string::npos)
      << shown("tenants.gold.weight");
  serve();
  EXPECT_TRUE(shown("tenants.gold.weight").find("= 7  # file ") != std::string::npos);
}

TEST_F(Settings, TheStartNamesWhereFileAndPutDiffer) {
  write(kGold);
  serve();
  ASSERT_EQ(shell("put tenant gold --weight 5").code, 0);
  ASSERT_EQ(shell("put queue mine --max-batch-size 2").code, 0);
  server_->stop();
  const Result said = run("BERTH_TIME_SCALE=0 timeout 5 " + std::string(BERTH_BINARY) +
                          " serve --grpc 127.0.0.1:0 --http 127.0.0.1:0 --config " + file() +
                          " --data " + (folder_.path() / "data").string() + " 2>/dev/null");
  EXPECT_TRUE(has(said, "  tenants.gold.weight: 5 (put 20")) << said.out;
  EXPECT_TRUE(has(said, ") holds, not 3 (file ")) << said.out;
  EXPECT_TRUE(has(said, "  queue \"mine\" was put and is not in the configuration\n")) << said.out;
}

TEST_F(Settings, ARefusalIsInTheAnswerAndInTheExitCode) {
  write(kGold);
  serve();
  ASSERT_EQ(shell("put tenant gold --max-gpus 1").code, 0);
  write(std::string(kGold) + "guaranteed_gpus = 2\n" + kJobs);
  const Result reloaded = shell("reload");
  EXPECT_EQ(reloaded.code, 7) << reloaded.out;
  EXPECT_TRUE(has(reloaded, "refused: tenant \"gold\": ")) << reloaded.out;
  EXPECT_TRUE(has(reloaded, "berth config revert tenant gold")) << reloaded.out;
  EXPECT_TRUE(has(reloaded, "queue \"jobs\" is added")) << reloaded.out;
  EXPECT_TRUE(shown("tenants.gold.guaranteed_gpus").find("= 0  # kept; 2 was refused") !=
              std::string::npos)
      << shown("tenants.gold.guaranteed_gpus");
  serve();  // a start is not prevented by it
  EXPECT_EQ(shell("config revert").code, 0);
  EXPECT_EQ(shell("reload").code, 0);
  EXPECT_TRUE(shown("tenants.gold.guaranteed_gpus").find("= 2  # file ") != std::string::npos);
}

TEST_F(Settings, WhatAReloadAnsweredIsDurable) {
  write("");
  serve();
  write(kJobs);
  ASSERT_EQ(shell("reload").code, 0);
  write("");
  serve();
  // Known from the journal, though this start's file does not have it.
  EXPECT_EQ(shell("submit --queue jobs --payload x").code, 3);
  EXPECT_EQ(shell("tasks --all --queue jobs").code, 0);
}

TEST_F(Settings, AQueueThatLeavesTheFileFinishesAndIsForgotten) {
  write(kJobs);
  serve();
  ASSERT_EQ(shell("pause --queue jobs").code, 0);
  ASSERT_EQ(shell("submit --queue jobs --id one --payload x").code, 0);
  write("");
  const Result reloaded = shell("reload");
  EXPECT_EQ(reloaded.code, 0);
  EXPECT_TRUE(has(reloaded, "queue \"jobs\" is removed: it takes no new tasks")) << reloaded.out;
  const Result late = shell("submit --queue jobs --payload x");
  EXPECT_EQ(late.code, 7) << late.out;
  EXPECT_TRUE(has(late, "is not in the configuration any more: it finishes the 1 task"))
      << late.out;
  EXPECT_TRUE(has(shell("queues jobs"), "removed"));
  serve();  // the same after a restart
  EXPECT_EQ(shell("submit --queue jobs --payload x").code, 7);
  ASSERT_EQ(shell("resume --queue jobs").code, 0);
  EXPECT_TRUE(completes("one"));
  EXPECT_EQ(shell("queues jobs").code, 3);
  EXPECT_EQ(shell("submit --queue jobs --payload x").code, 3);
  write(kJobs);
  ASSERT_EQ(shell("reload").code, 0);
  EXPECT_EQ(shell("submit --queue jobs --payload x --wait").code, 0);
}

TEST_F(Settings, WhatIsDeletedIsGoneAlsoAfterARestartUntilItIsPutAgain) {
  write(kJobs);
  serve();
  EXPECT_EQ(shell("delete queue nowhere").code, 3);
  const Result in_file = shell("delete queue jobs");
  EXPECT_EQ(in_file.code, 7) << in_file.out;
  EXPECT_TRUE(has(in_file, "take it out of the file")) << in_file.out;
  ASSERT_EQ(shell("put queue night --max-batch-size 5").code, 0);
  ASSERT_EQ(shell("put tenant guests --weight 5").code, 0);
  ASSERT_EQ(shell("submit --queue night --tenant guests --id one --held --payload x").code, 0);
  const Result used = shell("delete queue night");
  EXPECT_EQ(used.code, 7) << used.out;
  EXPECT_TRUE(has(used, "has 1 unfinished task;")) << used.out;
  EXPECT_EQ(shell("delete tenant guests").code, 7);
  ASSERT_EQ(shell("release one --tenant guests").code, 0);
  ASSERT_EQ(shell("wait one --tenant guests").code, 0);
  EXPECT_EQ(shell("delete queue night").code, 0);
  EXPECT_EQ(shell("delete tenant guests").code, 0);
  const auto is_gone = [&] {
    EXPECT_EQ(shell("queues night").code, 3);
    EXPECT_EQ(shell("tenants guests").code, 3);
    EXPECT_EQ(shell("submit --queue night --payload x").code, 3);
    EXPECT_EQ(shell("delete queue night").code, 3);
    EXPECT_FALSE(has(shell("config show --running"), "queues.night."));
    EXPECT_TRUE(has(shell("tasks --all --queue night --tenant guests"), "one"));
  };
  is_gone();
  serve();
  is_gone();
  ASSERT_EQ(shell("put queue night --min-gpus 1").code, 0);
  EXPECT_TRUE(has(shell("queues night -o json"), "\"max_batch_size\": 1,")) << "the default";
  EXPECT_EQ(shell("submit --queue night --tenant guests --payload x --wait").code, 0);
}

// In the file a warning: the GPU for it may join later. Put, a refusal.
TEST_F(Settings, AModelThatNoGpuCouldHoldIsSaid) {
  write("[[models]]\nname = \"huge\"\nweights = \"999GB\"\n");
  const std::string words =
      "needs 1022976 MiB on one GPU (weights 1022976, a task 0), and the "
      "largest GPU, ";
  const Result looked =
      berth("doctor --config " + file() + " --data " + (folder_.path() / "data").string());
  EXPECT_TRUE(has(looked, "model \"huge\" " + words)) << looked.out;
  serve();
  const Result put = shell("put model vast --weights 999GB");
  EXPECT_EQ(put.code, kRefused) << put.out;
  EXPECT_TRUE(has(put, "model \"vast\" " + words)) << put.out;
  EXPECT_EQ(shell("models vast").code, 3);
}

}  // namespace
}  // namespace berth::e2e::settings_test
