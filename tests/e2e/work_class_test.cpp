// Classes of work in a running server: from the configuration to the agent and back, with simulated
// GPUs and with GPUs that a made-up nvidia-smi lists.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::work_class_test {
namespace {

using support::ServerProcess;

// Batches take 4 s of a GPU of speed 1; simulated work is a hundred times as fast.
constexpr const char* kQueues = R"(
[[queues]]
name = "chat"
work_class = "decode"
batch_base = "4s"

[[queues]]
name = "jobs"
batch_base = "4s"
)";

class WorkClasses : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
  }
  std::string configure(const std::string& text) const {
    std::ofstream(folder_.path() / "berth.toml") << "builtin_queues = false\n" << text << kQueues;
    return (folder_.path() / "berth.toml").string();
  }
  std::unique_ptr<ServerProcess> serve(const std::string& text,
                                       std::map<std::string, std::string> environment = {}) const {
    environment["BERTH_TIME_SCALE"] = "0.01";
    auto server = std::make_unique<ServerProcess>(ServerProcess::Options{
        folder_.path() / "data", {"--config", configure(text)}, environment});
    EXPECT_TRUE(server->serves()) << server->error();
    return server;
  }
  // How long a task of the queue ran, as its result says.
  static std::string run_ms(ServerProcess& server, const std::string& queue) {
    const Result done =
        berth("submit --payload x --wait --queue " + queue + " --server " + server.grpc_address());
    EXPECT_EQ(done.code, 0) << done.out;
    const std::size_t at = done.out.find("run_ms");
    if (at == std::string::npos) return done.out;
    const std::size_t digits = done.out.find_first_of("0123456789", at);
    return done.out.substr(digits, done.out.find_first_not_of("0123456789", digits) - digits);
  }

  support::TempFolder folder_;
};

constexpr const char* kSimulated = R"(
[[gpus.simulated]]
kind = "H100"
vram = "80GB"
speed = 2
speed_by_class = { decode = 4 }
)";

TEST_F(WorkClasses, WorkRunsAtTheSpeedOfItsQueuesClass) {
  const auto server = serve(kSimulated);
  EXPECT_EQ(run_ms(*server, "jobs"), "20");
  EXPECT_EQ(run_ms(*server, "chat"), "10");
  const std::string at = " --server " + server->grpc_address();
  const Result put = berth("put queue jobs --work-class decode" + at);
  EXPECT_EQ(put.code, 0) << put.out;
  EXPECT_EQ(run_ms(*server, "jobs"), "10");
  const Result queues = berth("queues jobs -o json" + at);
  EXPECT_EQ(text(queues.out, "work_class"), "decode") << queues.out;
  EXPECT_EQ(berth("put queue jobs --work-class ''" + at).code, 0);
  EXPECT_EQ(run_ms(*server, "jobs"), "20");
}

TEST_F(WorkClasses, RealGpusHaveTheSpeedsOfTheirKind) {
  const std::filesystem::path smi = folder_.path() / "nvidia-smi";
  std::ofstream(smi) << "#!/bin/sh\n"
                        "case \"$1\" in --query-gpu=index,uuid,*)\n"
                        "  echo '0, GPU-1, NVIDIA H100 80GB HBM3, 81559, 00000000:07:00.0';;\n"
                        "*) exit 1;; esac\n";
  std::filesystem::permissions(smi, std::filesystem::perms::owner_all);
  const std::string path = folder_.path().string() + ":" + std::getenv("PATH");
  const auto server =
      serve("[[gpus.kinds]]\nname = \"H100\"\nspeed = 2\nspeed_by_class = { decode = 4 }\n",
            {{"PATH", path}});
  EXPECT_EQ(run_ms(*server, "jobs"), "20");
  EXPECT_EQ(run_ms(*server, "chat"), "10");
}

TEST_F(WorkClasses, AClassThatNoGpuKnowsIsSaidWithTheNearestName) {
  const std::string config = configure(
      "[[gpus.simulated]]\nvram = \"80GB\"\nspeed_by_class = { decod = 4 }\n"
      "[gpus]\nsource = \"simulated\"\n");
  const Result looked =
      berth("doctor --config " + config + " --data " + (folder_.path() / "data").string());
  EXPECT_NE(looked.out.find("queue \"chat\" has the work_class \"decode\", for which no GPU has a "
                            "speed in speed_by_class; it runs at their general speed; did you mean "
                            "\"decod\"?"),
            std::string::npos)
      << looked.out;
}

}  // namespace
}  // namespace berth::e2e::work_class_test
