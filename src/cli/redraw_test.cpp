// --watch: pages one after another, on a terminal and elsewhere, and how it ends.
#include <set>

#include <gtest/gtest.h>

#include "cli/testing/shell.h"

namespace berth::cli::redraw_test {
namespace {

using client::testing::Reply;
using testing::Ran;
using testing::ServedShell;

class Redraw : public ::testing::Test, protected ServedShell {
 protected:
  Redraw() {
    server.on("GetQueueStatus", [this](const std::string&) {
      v1::GetQueueStatusResponse answer;
      const int asked = ++asked_;
      if (away_.contains(asked)) return Reply{{}, {grpc::StatusCode::INTERNAL, "broken"}};
      for (int i = 0; i < queues_; ++i)
        answer.add_queues()->set_name("q" + std::to_string(i));
      answer.mutable_queues(0)->set_ready(static_cast<std::uint64_t>(asked));
      return Reply{{answer.SerializeAsString()}, {}};
    });
    on_flush = [this](const std::string&) { interrupted = ++pages_ >= 3; };
  }
  std::atomic<int> asked_ = 0;
  std::set<int> away_;
  int queues_ = 1;
  int pages_ = 0;
};

TEST_F(Redraw, ElsewhereThePagesStandBelowOneAnother) {
  const Ran ran = run({"queues", "--watch", "--every", "100ms", "--no-headers"});
  EXPECT_EQ(ran.code, kDetached);
  EXPECT_EQ(ran.err, "\nstopped watching\n");
  EXPECT_EQ(asked_, 3);
  EXPECT_EQ(ran.out,
            "q0  open  -  1  0  0  0ms  0  0  -\n\n"
            "q0  open  -  2  0  0  0ms  0  0  -\n\n"
            "q0  open  -  3  0  0  0ms  0  0  -\n");
}

TEST_F(Redraw, OnATerminalEachPageReplacesTheLastAndFits) {
  terminal = true;
  environment["NO_COLOR"] = "1";
  queues_ = 9;
  rows = 7;
  const Ran ran = run({"queues", "--watch", "--every", "100ms", "--no-headers"});
  EXPECT_EQ(ran.code, kDetached);
  const std::size_t last = ran.out.rfind("\x1b[H\x1b[2J");
  ASSERT_NE(last, std::string::npos);
  EXPECT_EQ(ran.out.substr(last),
            "\x1b[H\x1b[2Jevery 100ms: berth queues   2026-11-18 11:06:40Z\n\n"
            "q0  open  -  3  0  0  0ms  0  0  -\n"
            "q1  open  -  0  0  0    -  0  0  -\n"
            "q2  open  -  0  0  0    -  0  0  -\n"
            "q3  open  -  0  0  0    -  0  0  -\n"
            "… 5 more lines");
}

TEST_F(Redraw, DocumentsFollowOneAnother) {
  const Ran ran = run({"queues", "--watch", "--every", "100ms", "-o", "yaml"});
  EXPECT_TRUE(ran.out.starts_with("---\nqueues:\n- name: q0\n")) << ran.out;
  EXPECT_NE(ran.out.find("\n---\nqueues:\n"), std::string::npos);
}

TEST_F(Redraw, EndsWithAFailureAndWithTheTimeout) {
  away_ = {2};
  Ran ran = run({"queues", "--watch", "--every", "100ms"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err, "berth: error: cannot show the queues: broken\n");
  away_.clear();
  on_flush = {};
  ran = run({"queues", "--watch", "--every", "100ms", "--timeout", "300ms"});
  EXPECT_EQ(ran.code, kTimedOut);
  EXPECT_EQ(run({"queues", "--watch", "--every", "10ms"}).err,
            "berth queues: --every: expected a duration of 100ms or more, such as 500ms, 90s, 5min "
            "or 2h, found \"10ms\"\nTry 'berth queues --help'.\n");
}

}  // namespace
}  // namespace berth::cli::redraw_test
