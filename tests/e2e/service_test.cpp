// The server as users meet it: the shell against a running server, the seeds' names, and a long
// mixed journal that replays to the same hash.
#include <chrono>
#include <future>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::service_test {
namespace {

using support::ServerProcess;

class Served : public ::testing::Test {
 protected:
  Served() : server_({folder_.path() / "data", {}, {{"BERTH_TIME_SCALE", "0"}}}) {
    EXPECT_TRUE(server_.serves()) << server_.error();
  }
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
  }
  Result shell(const std::string& arguments) const {
    return berth(arguments.substr(0, arguments.find(' ')) + " --server " + server_.grpc_address() +
                 arguments.substr(std::min(arguments.size(), arguments.find(' '))));
  }
  support::TempFolder folder_;
  ServerProcess server_;
};

TEST_F(Served, ACommandRunsAndItsOutputComesBack) {
  const Result done = shell("submit --queue llm --vram 8GB --wait -- echo hi");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_NE(done.out.find("hi\n"), std::string::npos) << done.out;
  const Result failed = shell("submit --queue llm --wait -- sh -c 'exit 3'");
  EXPECT_EQ(failed.code, 3) << failed.out;
  const Result tasks = shell("tasks --all");
  EXPECT_NE(tasks.out.find("completed"), std::string::npos) << tasks.out;
  EXPECT_NE(tasks.out.find("failed"), std::string::npos) << tasks.out;
}

// Whichever of the two comes first to the server: the outcome is the same.
TEST_F(Served, WhoFollowsATaskThatHasNotStartedSeesItsOutput) {
  ASSERT_EQ(shell("pause --queue llm").code, 0);
  ASSERT_EQ(shell("submit --queue llm --id late -- sh -c 'echo one; sleep 0.2; echo two'").code, 0);
  std::future<Result> followed =
      std::async(std::launch::async, [&] { return shell("logs late --follow"); });
  EXPECT_EQ(followed.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  ASSERT_EQ(shell("resume --queue llm").code, 0);
  const Result seen = followed.get();
  EXPECT_EQ(seen.code, 0) << seen.out;
  EXPECT_NE(seen.out.find("one\ntwo\n"), std::string::npos) << seen.out;
}

TEST_F(Served, WhoFollowsATaskThatNeverStartsIsToldSo) {
  ASSERT_EQ(shell("pause --queue llm").code, 0);
  ASSERT_EQ(shell("submit --queue llm --id never -- true").code, 0);
  std::future<Result> followed =
      std::async(std::launch::async, [&] { return shell("logs never --follow"); });
  ASSERT_EQ(shell("cancel never").code, 0);
  const Result seen = followed.get();
  EXPECT_NE(seen.code, 0);
  EXPECT_NE(seen.out.find("no output"), std::string::npos) << seen.out;
}

TEST_F(Served, WrongNamesAreAnsweredWithTheNearest) {
  const Result unknown = shell("submit --queue lmm -- true");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_NE(unknown.out.find("did you mean \"llm\"?"), std::string::npos) << unknown.out;
  const Result large = shell("submit --queue llm --vram 80GB -- true");
  EXPECT_EQ(large.code, 7);
  EXPECT_NE(large.out.find("needs 81920 MiB"), std::string::npos) << large.out;
}

TEST_F(Served, TheSameIdIsTheSameTaskAndOtherContentAConflict) {
  EXPECT_EQ(shell("submit --queue llm --id a -- true").code, 0);
  EXPECT_EQ(shell("submit --queue llm --id a -- true").code, 0);
  const Result other = shell("submit --queue llm --id a -- false");
  EXPECT_EQ(other.code, 7);
  EXPECT_NE(other.out.find("command"), std::string::npos) << other.out;
}

TEST_F(Served, TheWorkflowOfTheExamplesCompletes) {
  const Result done = shell("workflow examples/workflows/train.toml --wait");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_EQ(shell("logs report").out, "done\n");
  const Result again = shell("workflow examples/workflows/train.toml");
  EXPECT_NE(again.out.find("nothing new was made"), std::string::npos) << again.out;
  EXPECT_EQ(shell("workflow examples/workflows/train.toml --prefix x- --wait").code, 0);
}

TEST_F(Served, TheConfigurationInForceIsShown) {
  const Result shown = berth("config show --origin --server " + server_.grpc_address());
  EXPECT_EQ(shown.code, 0);
  EXPECT_NE(shown.out.find("= \"127.0.0.1:0\"  # flag --grpc\n"), std::string::npos) << shown.out;
  EXPECT_EQ(berth("config show --set a=b --server " + server_.grpc_address()).code, 2);
}

TEST(Configuration, ShowsTheNamesAndDefaultsOfTheSeeds) {
  const Result shown = berth("config show");
  ASSERT_EQ(shown.code, 0);
  for (const char* line :
       {"max_queue_size = 1000", "token_refill_rate = 100", "token_bucket_size = 1000",
        "daily_token_limit = 1000000", "gpu_load_threshold = 0.85", "aging_factor = 0.1",
        "usage_window_minutes = 5"})
    EXPECT_NE(shown.out.find(line), std::string::npos) << line;
}

// Submits, dependencies, cancels, pauses, priorities, payloads that fail admission.
TEST(Replay, ALongMixedJournalGivesTheSameHash) {
  if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
  support::TempFolder folder;
  std::uint64_t events = 0;
  {
    ServerProcess server(
        {folder.path() / "data",
         {"--set", "tenant_defaults.max_queue_size=1000000", "--set",
          "tenant_defaults.token_bucket_size=1000000", "--set", "store.segment_size=\"4MiB\""},
         {{"BERTH_TIME_SCALE", "0"}}});
    ASSERT_TRUE(server.serves()) << server.error();
    client::Client client = server.client(std::chrono::seconds(60));
    const char* queues[] = {"llm", "embedding", "diffusion"};
    int task = 0;
    while (events < 100'000) {
      const auto stream = client.submit_stream();
      for (int i = 0; i < 10'000; ++i, ++task) {
        v1::SubmitTaskRequest request;
        v1::TaskSpec& spec = *request.mutable_task();
        spec.set_task_id("t" + std::to_string(task));
        spec.set_user_id("tenant-" + std::to_string(task % 7));
        spec.set_task_type(queues[task % 3]);
        spec.set_payload("x");
        spec.set_priority(task % 5);
        spec.set_gpu_memory_mb(task % 100 == 99 ? 1'000'000 : 500 + 37 * (task % 50));
        if (task % 11 == 10) spec.add_depends_on("t" + std::to_string(task - 7));
        if (task % 13 == 12) spec.set_group("g" + std::to_string(task % 29));
        ASSERT_NE(stream->submit(std::move(request)), 0U);
      }
      ASSERT_TRUE(stream->finish().ok());
      v1::CancelTaskRequest cancel;
      cancel.set_user_id("tenant-3");
      cancel.set_group("g5");
      (void)client.cancel(cancel);
      v1::PauseRequest pause;
      pause.set_task_type("llm");
      ASSERT_TRUE(client.pause(pause).ok());
      v1::ResumeRequest resume;
      resume.set_task_type("llm");
      ASSERT_TRUE(client.resume(resume).ok());
      const auto info = client.info();
      ASSERT_TRUE(info.ok());
      events = info->events();
    }
    EXPECT_EQ(server.stop(), 0);
  }
  const Result replayed = berth("replay " + (folder.path() / "data").string());
  EXPECT_EQ(replayed.code, 0) << replayed.out;
  EXPECT_NE(replayed.out.find("identical; hash "), std::string::npos) << replayed.out;
  EXPECT_NE(replayed.out.find("; it agrees with the actions"), std::string::npos) << replayed.out;
  std::printf("%s", replayed.out.c_str());
}

}  // namespace
}  // namespace berth::e2e::service_test
