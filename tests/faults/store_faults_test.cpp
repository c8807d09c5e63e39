// Bad disks under a whole server: syncs that fail or take long, and a disk that is full.
#include <cstdio>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/faults/load.h"
#include "tests/support/server_process.h"

namespace berth::faults::store_faults_test {
namespace {

using support::ServerProcess;

class BadDisk : public ::testing::Test {
 protected:
  support::TempFolder folder_;
  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::filesystem::path effects() const { return folder_.path() / "effects"; }
};

// A data folder on a disk of 4 MiB.
class FullDisk : public BadDisk {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(data());
    if (::mount("tmpfs", data().c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "a tmpfs can only be mounted by root";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(data().c_str(), MNT_DETACH);
  }

  ServerProcess::Options options() const {
    return {data(), {"--set", "store.segment_size=\"1MiB\""}, {}};
  }

  // Payloads fill the disk until nothing is acknowledged any more.
  void fill(const ServerProcess& server) {
    client::Client client = server.client(std::chrono::milliseconds(700));
    v1::PauseRequest pause;
    pause.set_task_type("llm");
    ASSERT_TRUE(client.pause(pause).ok());
    bool full = false;
    for (int i = 0; i < 200 && !full; ++i) {
      v1::SubmitTaskRequest request;
      request.mutable_task()->set_task_id("full-" + std::to_string(i));
      request.mutable_task()->set_task_type("llm");
      request.mutable_task()->set_payload(std::string(100'000, 'x'));
      full = !client.submit(request).ok();
      if (!full) acknowledged_.insert(request.task().task_id());
    }
    EXPECT_TRUE(full);
    EXPECT_FALSE(acknowledged_.empty());
    EXPECT_TRUE(client.queues({}).ok()) << "reads go on";
  }

  void grow() { ASSERT_EQ(::mount("tmpfs", data().c_str(), "tmpfs", MS_REMOUNT, "size=32m"), 0); }

  void expect_all_known() {
    ServerProcess again(options());
    ASSERT_TRUE(again.serves()) << again.error();
    client::Client client = again.client();
    for (const std::string& id : acknowledged_) {
      v1::GetTaskStatusRequest request;
      request.set_task_id(id);
      EXPECT_TRUE(client.task_status(request).ok()) << id;
    }
  }

  std::set<std::string> acknowledged_;
  bool mounted_ = false;
};

TEST_F(BadDisk, AFailedSyncEndsTheServerAndNothingAcknowledgedIsLost) {
  std::set<std::string> acknowledged;
  {
    ServerProcess server(ServerProcess::faulty({data(), {}, {}}, "sync=EIO@40"));
    ASSERT_TRUE(server.serves()) << server.error();
    Load load(server, 4, "s", effects());
    EXPECT_EQ(server.wait(), 74);
    acknowledged = load.stop();
  }
  ServerProcess again({data(), {}, {}});
  ASSERT_TRUE(again.serves()) << again.error();
  EXPECT_FALSE(acknowledged.empty());
  EXPECT_EQ(wait_for_ends(again, acknowledged), std::vector<std::string>{});
}

// What users run has no planted faults, and says so.
TEST_F(BadDisk, TheShippedProgramPlantsNothing) {
  ServerProcess server({data(), {}, {{"BERTH_FAULT", "answer_before_sync,sync=EIO@1+"}}});
  ASSERT_TRUE(server.serves()) << server.error();
  EXPECT_TRUE(server.client().submit(support::append_line_task("sound", effects())).ok());
  EXPECT_EQ(server.stop(), 0);
  EXPECT_NE(server.error().find("this program has no planted faults"), std::string::npos)
      << server.error();
}

TEST_F(BadDisk, ASlowSyncIsWaitedForAndReadsAreNot) {
  ServerProcess server(ServerProcess::faulty({data(), {}, {}}, "sync_delay=1500"));
  ASSERT_TRUE(server.serves()) << server.error();
  client::Client hasty = server.client(std::chrono::milliseconds(300));
  const auto answer = hasty.submit(support::append_line_task("slow", effects()));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().code, grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(hasty.queues({}).ok());
  client::Client patient = server.client(std::chrono::seconds(20));
  EXPECT_TRUE(patient.submit(support::append_line_task("slow", effects())).ok());
}

TEST_F(FullDisk, IsNeverAcknowledgedAndWorkGoesOnWhenThereIsRoom) {
  {
    ServerProcess server(options());
    ASSERT_TRUE(server.serves()) << server.error();
    fill(server);
    // Room again: what was decided meanwhile becomes durable and is answered.
    grow();
    v1::SubmitTaskRequest request;
    request.mutable_task()->set_task_id("after");
    request.mutable_task()->set_task_type("llm");
    EXPECT_TRUE(server.client(std::chrono::seconds(20)).submit(request).ok());
    acknowledged_.insert("after");
    server.kill();
  }
  expect_all_known();
}

TEST_F(FullDisk, AServerThatIsStoppedEnds) {
  {
    ServerProcess server(options());
    ASSERT_TRUE(server.serves()) << server.error();
    fill(server);
    EXPECT_EQ(server.stop(), 74);
  }
  grow();
  expect_all_known();
}

}  // namespace
}  // namespace berth::faults::store_faults_test
