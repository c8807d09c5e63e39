// Bad disks under a whole server: syncs that fail or take long, and a disk that is full.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

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

// A data folder on a disk of 8 MiB.
class FullDisk : public BadDisk {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(data());
    if (::mount("tmpfs", data().c_str(), "tmpfs", 0, "size=8m,mode=0700") != 0) {
      GTEST_SKIP() << "a tmpfs can only be mounted by root";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(data().c_str(), MNT_DETACH);
  }

  ServerProcess::Options options() const {
    return {
        data(), {"--set", "store.segment_size=\"1MiB\"", "--set", "store.reserve=\"2MiB\""}, {}};
  }

  static std::string http(const ServerProcess& server, const std::string& path) {
    support::TempFolder folder;
    const std::string url = "http://127.0.0.1:" + std::to_string(server.http_port()) + path;
    const std::string file = (folder.path() / "answer").string();
    const std::string command = "curl -s -o - -w ' %{http_code}' " + url + " > " + file;
    if (std::system(command.c_str()) != 0) return "no answer";
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // The task is in this state before long.
  static bool comes_to(client::Client& client, const std::string& id, v1::TaskState state) {
    v1::GetTaskStatusRequest request;
    request.set_task_id(id);
    for (int i = 0; i < 100; ++i) {
      const auto status = client.task_status(request);
      if (status && status->state() == state) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  std::uint64_t free_bytes() const { return std::filesystem::space(data()).available; }

  // Submits until one is taken: the server looks at its disk now and then.
  static bool takes_again(const ServerProcess& server, const std::string& id) {
    client::Client client = server.client(std::chrono::seconds(5));
    v1::SubmitTaskRequest request;
    request.mutable_task()->set_task_id(id);
    request.mutable_task()->set_task_type("llm");
    request.mutable_task()->set_payload("x");
    for (int i = 0; i < 100; ++i) {
      if (client.submit(request).ok()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  // Payloads fill the disk until nothing is taken any more.
  void fill(const ServerProcess& server) {
    client::Client client = server.client(std::chrono::milliseconds(700));
    v1::PauseRequest pause;
    pause.set_task_type("llm");
    ASSERT_TRUE(client.pause(pause).ok());
    bool full = false;
    client::Failure refusal;
    for (int i = 0; i < 200 && !full; ++i) {
      v1::SubmitTaskRequest request;
      request.mutable_task()->set_task_id("full-" + std::to_string(i));
      request.mutable_task()->set_task_type("llm");
      request.mutable_task()->set_payload(std::string(100'000, 'x'));
      const auto answer = client.submit(request);
      full = !answer.ok();
      if (full) refusal = answer.failure();
      if (!full) acknowledged_.insert(request.task().task_id());
    }
    EXPECT_TRUE(full);
    EXPECT_EQ(refusal.code, grpc::StatusCode::RESOURCE_EXHAUSTED) << refusal.message;
    EXPECT_NE(refusal.message.find("and keeps 2 MiB"), std::string::npos) << refusal.message;
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

bool is_short_of_room(const client::Failure& failure) {
  return failure.code == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

// A segment is begun by two more syncs, of its file and of the folder. Whichever fails, the server
// ends: one that lives and is mute would keep everybody waiting. Only the spare segment may fail
// unnoticed.
TEST_F(BadDisk, ASyncThatFailsWhileASegmentBeginsEndsTheServer) {
  constexpr int kFirst = 10;
  constexpr int kLast = 26;  // a segment is full by then
  int ended = 0;
  for (int nth = kFirst; nth <= kLast; ++nth) {
    support::TempFolder folder;
    const ServerProcess::Options options{
        folder.path() / "data", {"--set", "store.segment_size=\"1MiB\""}, {}};
    ServerProcess server(ServerProcess::faulty(options, "sync=EIO@" + std::to_string(nth)));
    if (!server.serves()) continue;
    client::Client client = server.client(std::chrono::seconds(5));
    v1::SubmitTaskRequest request;
    request.mutable_task()->set_task_type("llm");
    request.mutable_task()->set_payload(std::string(200'000, 'x'));
    bool answered = true;
    for (int i = 0; i < 2 * kLast && answered; ++i) {
      request.mutable_task()->set_task_id("s-" + std::to_string(i));
      auto answer = client.submit(request);
      // Without a spare segment nothing is taken; the next one is made soon.
      for (int again = 0; again < 50 && !answer && is_short_of_room(answer.failure()); ++again) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        answer = client.submit(request);
      }
      answered = answer.ok();
    }
    if (answered) {
      EXPECT_EQ(server.stop(), 0) << nth;
      continue;
    }
    EXPECT_EQ(server.wait(), 74) << nth;
    ++ended;
  }
  EXPECT_GE(ended, 5);
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
    grow();
    EXPECT_TRUE(takes_again(server, "after"));
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
    EXPECT_EQ(server.stop(), 0);
  }
  grow();
  expect_all_known();
}

TEST_F(FullDisk, ATaskThatFilledItIsCancelledAndNothingElseIsNeeded) {
  const std::string file = (data() / "filled").string();
  ServerProcess server(options());
  ASSERT_TRUE(server.serves()) << server.error();
  client::Client client = server.client(std::chrono::seconds(5));
  for (int i = 0; i < 10; ++i) {  // nearly a segment
    v1::SubmitTaskRequest request;
    request.mutable_task()->set_task_type("llm");
    request.mutable_task()->set_payload(std::string(103'500, 'x'));
    request.mutable_task()->set_not_before_unix_ms(4'000'000'000'000);
    ASSERT_TRUE(client.submit(request).ok());
  }
  v1::SubmitTaskRequest filler = support::append_line_task("filler", effects());
  auto& argv = *filler.mutable_task()->mutable_command()->mutable_argv();
  argv.Clear();
  *argv.Add() = "sh";
  *argv.Add() = "-c";
  *argv.Add() = "cat /dev/zero > " + file + "; exec sleep 1000";
  ASSERT_TRUE(client.submit(filler).ok());
  for (int i = 0; i < 100 && free_bytes() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_EQ(free_bytes(), 0U);
  std::this_thread::sleep_for(std::chrono::seconds(2));

  const auto refused = client.submit(support::append_line_task("refused", effects()));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(refused.failure().message.find("has 0 MiB free and keeps 2 MiB"), std::string::npos)
      << refused.failure().message;
  EXPECT_NE(http(server, "/readyz").find(" 503"), std::string::npos) << http(server, "/readyz");
  EXPECT_NE(http(server, "/health").find("\"short_of_room\""), std::string::npos)
      << http(server, "/health");

  // More control than the rest of a segment holds.
  for (int i = 0; i < 300; ++i) {
    v1::PutQueueRequest queue;
    queue.set_name("queue-" + std::to_string(i % 10));
    queue.mutable_config()->set_max_batch_size(static_cast<std::uint32_t>(1 + i % 30));
    ASSERT_TRUE(client.put_queue(queue).ok()) << i;
  }
  EXPECT_TRUE(std::filesystem::exists(data() / "journal" / "000000000000000002.bjl"));
  v1::CancelTaskRequest cancel;
  cancel.set_task_id("filler");
  ASSERT_TRUE(client.cancel(cancel).ok());
  EXPECT_TRUE(comes_to(client, "filler", v1::CANCELLED));
  std::filesystem::remove(file);
  EXPECT_TRUE(takes_again(server, "after"));
  EXPECT_NE(http(server, "/health").find("\"ok\""), std::string::npos);
  EXPECT_EQ(support::count_lines(effects()).count("refused"), 0U);
}

// Each group is two writes, of its bytes and of the durable mark. Without the second the server
// ends as after a failed sync; without the first it waits for room, and says what it does not know.
TEST_F(BadDisk, AServerThatCannotWriteSaysWhatItDoesNotKnowAndEndsWhenStopped) {
  int waited = 0;
  for (const int nth : {41, 42}) {
    support::TempFolder folder;
    ServerProcess server(ServerProcess::faulty({folder.path() / "data", {}, {}},
                                               "write=ENOSPC@" + std::to_string(nth) + "+"));
    ASSERT_TRUE(server.serves()) << server.error();
    client::Client client = server.client(std::chrono::seconds(5));
    v1::PauseRequest pause;
    pause.set_task_type("llm");  // so that submits alone are written
    ASSERT_TRUE(client.pause(pause).ok());
    client::Failure failure;
    for (int i = 0; i < 100 && failure.message.empty(); ++i) {
      const auto answer =
          client.submit(support::append_line_task("a" + std::to_string(i), effects()));
      if (!answer) failure = answer.failure();
    }
    EXPECT_EQ(failure.code, grpc::StatusCode::UNAVAILABLE) << failure.message;
    if (failure.message.find("with the same request_id") == std::string::npos) {
      EXPECT_EQ(server.wait(), 74) << failure.message;
      continue;
    }
    ++waited;
    const auto next = client.submit(support::append_line_task("next", effects()));
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.failure().code, grpc::StatusCode::RESOURCE_EXHAUSTED) << next.failure().message;
    EXPECT_EQ(server.stop(), 74);
  }
  EXPECT_GE(waited, 1);
}

}  // namespace
}  // namespace berth::faults::store_faults_test
