// When tasks end, and as what: cancels and deadlines of commands that run, what is told meanwhile,
// and what is paid when the server was away.
#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::ends_test {
namespace {

using namespace std::chrono_literals;
using support::ServerProcess;

class Ends : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
    start();
  }
  void start() {
    server_ = std::make_unique<ServerProcess>(
        ServerProcess::Options{folder_.path() / "data", {}, {{"BERTH_TIME_SCALE", "0"}}});
    ASSERT_TRUE(server_->serves()) << server_->error();
  }
  Result shell(const std::string& arguments) const {
    return berth(arguments.substr(0, arguments.find(' ')) + " --server " + server_->grpc_address() +
                 arguments.substr(std::min(arguments.size(), arguments.find(' '))));
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  bool comes(const std::string& name) const {
    for (int tries = 0; tries < 1000; ++tries) {
      if (std::filesystem::exists(file(name))) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  // Ignores the stop signal; says that it lives.
  std::string stubborn() const {
    return "-- sh -c 'trap \"\" TERM; touch " + file("began") + "; while true; do date > " +
           file("alive") + "; sleep 0.05; done'";
  }

  support::TempFolder folder_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(Ends, ACancelIsDoneWhenTheProcessesAre) {
  ASSERT_EQ(shell("submit --queue llm --id a --stop-grace 2s " + stubborn()).code, 0);
  ASSERT_TRUE(comes("began"));
  const Result asked = shell("cancel a");
  EXPECT_EQ(asked.code, 0);
  EXPECT_NE(asked.out.find("it runs until the processes have ended"), std::string::npos)
      << asked.out;
  EXPECT_NE(shell("status a").out.find("cancelling"), std::string::npos) << shell("status a").out;
  EXPECT_NE(shell("tasks").out.find("cancelling"), std::string::npos);
  EXPECT_EQ(shell("events --state cancelled -o name").out, "");
  EXPECT_EQ(shell("cancel a").code, 0);
  const Result held = shell("hold a");
  EXPECT_NE(held.out.find("is being cancelled"), std::string::npos) << held.out;

  // The server is killed in the grace; the end is told all the same, once, when it is the end.
  server_->kill();
  start();
  std::string status = shell("status a").out;
  for (int tries = 0; tries < 100 && status.find("cancelling") != std::string::npos; ++tries) {
    std::this_thread::sleep_for(100ms);
    status = shell("status a").out;
  }
  EXPECT_NE(status.find("cancelled"), std::string::npos) << status;
  std::filesystem::remove(file("alive"));
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(std::filesystem::exists(file("alive"))) << "it lives";
  EXPECT_EQ(shell("events --state cancelled -o name").out, "a\n");
}

TEST_F(Ends, ADeadlineThatPassesWhileItRunsIsAnExpiry) {
  const Result done = shell("submit --queue llm --id a --deadline +1s --wait --stop-grace 1s " +
                            std::string("-- sleep 600"));
  EXPECT_EQ(done.code, 122) << done.out;
  const Result status = shell("status a");
  EXPECT_NE(status.out.find("expired"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("its deadline has passed"), std::string::npos) << status.out;
}

TEST_F(Ends, NobodyPaysForTheTimeWithoutAServer) {
  ASSERT_EQ(shell("submit --queue llm --id a -- sh -c 'touch " + file("began") + "; sleep 1'").code,
            0);
  ASSERT_TRUE(comes("began"));
  server_->kill();
  std::this_thread::sleep_for(4s);
  start();
  for (int tries = 0; tries < 100; ++tries) {
    if (shell("status a").out.find("completed") != std::string::npos) break;
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(server_->stop(), 0);
  const Result charged =
      berth("sql --data " + file("data") + " --output csv 'select gpu_ms from tasks'");
  const std::string& out = charged.out;
  const std::size_t digits = out.find_first_of("0123456789", out.find("gpu_ms"));
  ASSERT_NE(digits, std::string::npos) << out;
  const double gpu_ms = std::strtod(out.c_str() + digits, nullptr);
  EXPECT_GE(gpu_ms, 1000) << out;
  EXPECT_LT(gpu_ms, 3000) << out;
}

}  // namespace
}  // namespace berth::e2e::ends_test
