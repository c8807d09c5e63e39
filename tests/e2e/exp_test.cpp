// berth exp as a process: the same figures as berth sim on the scenarios that it writes, and, where
// the public traces lie beside the repository, the figures that docs/benchmarks.md promises.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::exp_test {
namespace {

namespace fs = std::filesystem;

class ExpFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("berth-exp-" + std::to_string(::getpid()));
    fs::create_directories(root_ / "rlscheduler");
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_;
};

TEST_F(ExpFolder, BacksUpItsFiguresWithAScenario) {
  std::ofstream jobs(root_ / "rlscheduler" / "small.csv");
  jobs << "job,submit_s,run_s,procs,requested_s\n";
  for (int i = 0; i < 300; ++i) {
    const int run = 1 + i * 37 % 900;
    jobs << i << "," << i * 20 << "," << run << "," << 1 + i * 29 % 128 << "," << run + i % 50
         << "\n";
  }
  jobs.close();
  const std::string traces = " --traces " + root_.string();
  const Result exp = berth("exp lublin --json" + traces);
  ASSERT_EQ(exp.code, 0) << exp.out;
  const Result written = berth("exp lublin" + traces + " --write " + root_.string());
  ASSERT_EQ(written.code, 0) << written.out;
  for (const std::string policy : {"slowdown", "slowdown-reserve"}) {
    const Result sim = berth("sim --json " + (root_ / ("small-0-" + policy + ".toml")).string());
    ASSERT_EQ(sim.code, 0) << sim.out;
    const std::size_t row = exp.out.find("\"policy\": \"" + policy + "\"");
    ASSERT_NE(row, std::string::npos) << exp.out;
    EXPECT_EQ(number(sim.out, {"tasks", "completed"}), 300);
    EXPECT_GT(number(exp.out, {"mean_wait_s"}, row), 0);
    EXPECT_NEAR(number(exp.out, {"mean_wait_s"}, row), number(sim.out, {"wait_ms", "mean"}) / 1000,
                0.001);
    EXPECT_NEAR(number(exp.out, {"makespan_s"}, row), number(sim.out, {"makespan_s"}), 0.001);
  }
}

TEST_F(ExpFolder, SaysWhatIsMissing) {
  const Result none = berth("exp openb --traces " + root_.string());
  EXPECT_EQ(none.code, 2) << none.out;
  EXPECT_NE(none.out.find((root_ / "openb").string()), std::string::npos) << none.out;
  EXPECT_NE(none.out.find("nothing was run"), std::string::npos) << none.out;
}

class PublicTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "what the traces cost is for other builds";
    if (!fs::exists("../shared/traces")) GTEST_SKIP() << "the public traces are not here";
  }
};

TEST_F(PublicTraces, BackfillOfLublin) {
  const Result exp = berth("exp lublin --json --traces ../shared/traces");
  ASSERT_EQ(exp.code, 0) << exp.out;
  const auto slowdown = [&](const std::string& policy) {
    return number(exp.out, {"bounded_slowdown"}, exp.out.find("\"policy\": \"" + policy + "\""));
  };
  EXPECT_LE(slowdown("slowdown"), 28);
  EXPECT_LE(slowdown("slowdown-reserve"), 16);
}

TEST_F(PublicTraces, PackingOfOpenb) {
  const Result exp =
      berth("exp openb --json --traces ../shared/traces --workload default --seeds 1");
  ASSERT_EQ(exp.code, 0) << exp.out;
  for (const std::string policy : {"frag", "frag-online"}) {
    const std::size_t row = exp.out.find("\"policy\": \"" + policy + "\"");
    EXPECT_GE(number(exp.out, {"allocated_percent"}, row), 96.0) << policy;
    EXPECT_EQ(number(exp.out, {"cpu_only_failed"}, row), 0) << policy;
  }
}

}  // namespace
}  // namespace berth::e2e::exp_test
