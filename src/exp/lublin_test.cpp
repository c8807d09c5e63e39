// lublin on tiny traces of the test's own: what is read, what is skipped, and figures that can be
// reckoned by hand.
#include "exp/lublin.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace berth::exp::lublin_test {
namespace {

class LublinFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("berth-lublin-" + std::to_string(::getpid()));
    std::filesystem::create_directories(root_ / "rlscheduler");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void add(const std::string& name, const std::string& text) {
    std::ofstream(root_ / "rlscheduler" / name) << text;
  }
  std::optional<LublinTraces> read() { return read_lublin(root_.string(), diagnostics_); }

  std::filesystem::path root_;
  config::Diagnostics diagnostics_;
};

TEST_F(LublinFolder, EveryCsvIsATraceAndTheRestIsNoted) {
  add("one.csv", "job,submit_s,run_s,procs,requested_s\n1,20,5,4,50\n2,10,6,8,60\n");
  add("two.csv", "submit_s,run_s,procs\n0,7,1\n");
  add("other.csv", "a,b\n1,2\n");
  add("readme.txt", "no trace");
  const auto traces = read();
  ASSERT_TRUE(traces) << diagnostics_.text();
  ASSERT_EQ(traces->traces.size(), 2u);
  EXPECT_EQ(traces->traces[0].name, "one");
  EXPECT_EQ(traces->traces[0].jobs.front().submit_s, 10) << "by the time of submission";
  EXPECT_EQ(traces->traces[1].jobs.front().requested_s, 7) << "where nobody says, the run time";
  EXPECT_EQ(traces->notes.size(), 2u);
}

TEST_F(LublinFolder, AllThatIsWrongIsSaidAtOnce) {
  add("bad.csv", "submit_s,run_s,procs\n0,x,1\n0,5,257\n");
  EXPECT_FALSE(read());
  EXPECT_EQ(diagnostics_.count(), 2u) << diagnostics_.text();
}

TEST_F(LublinFolder, AFolderWithoutJobsIsAnError) {
  add("readme.txt", "no trace");
  EXPECT_FALSE(read());
  EXPECT_EQ(diagnostics_.count(), 1u);
}

// 256 GPUs are taken for 100 s. The next job takes as many; the third fits beside neither, the
// fourth is short, small and late: it waits for the end of the first as all do.
LublinTrace textbook() {
  return {"textbook", {{0, 100, 100, 256}, {0, 50, 50, 256}, {0, 10, 10, 256}}};
}

TEST(Lublin, FiguresCanBeReckonedByHand) {
  const LublinTrace trace = textbook();
  const auto windows = lublin_windows(trace);
  ASSERT_EQ(windows.size(), 1u) << "a short trace is one window";
  const auto run = run_lublin(trace, windows.front(), lublin_policies().front());
  ASSERT_TRUE(run) << run.error().message;
  // The first is alone when it comes; of the others the short one goes first, at 100 s; the last at
  // 110 s.
  EXPECT_DOUBLE_EQ(run->bounded_slowdown, (1.0 + (100 + 10) / 10.0 + (110 + 50) / 50.0) / 3);
  EXPECT_DOUBLE_EQ(run->mean_wait_s, (0 + 100 + 110) / 3.0);
  EXPECT_DOUBLE_EQ(run->makespan_s, 160);
}

TEST(Lublin, LongTracesHaveTenWindows) {
  LublinTrace trace{"long", std::vector<LublinJob>(2000, {0, 1, 1, 1})};
  const auto windows = lublin_windows(trace);
  ASSERT_EQ(windows.size(), 10u);
  EXPECT_EQ(windows.front().first, 0u);
  EXPECT_EQ(windows.back().first + windows.back().count, 2000u);
  trace.jobs.resize(10'000);
  EXPECT_EQ(lublin_windows(trace).front().first, 1981u) << "the published ones";
}

}  // namespace
}  // namespace berth::exp::lublin_test
