// A token that is revoked or expires ends the streams that it opened, at both doors.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::revocation_test {
namespace {

using testing::Doors;
using testing::RawHttp;
using testing::reason_of;

// Without an end the calls would last until then.
constexpr auto kLongest = std::chrono::seconds(20);

class Revocation : public ::testing::Test {
 protected:
  static ApiOptions guarded() {
    ApiOptions options;
    options.authentication = true;
    return options;
  }
  Revocation() : doors_(guarded()) { doors_.pause(); }

  NewToken token(std::int64_t expires_s = 0) {
    auto made = create_token(doors_.tokens(), "alice", Role::tenant, expires_s, 1);
    EXPECT_TRUE(made.ok());
    return std::move(*made);
  }
  void revoke(const NewToken& token) {
    EXPECT_TRUE(revoke_token(doors_.tokens(), token.token.id, 2).ok());
  }
  static void prepare(grpc::ClientContext& context, const NewToken& token) {
    context.AddMetadata("authorization", "Bearer " + token.secret);
    context.set_deadline(std::chrono::system_clock::now() + kLongest);
  }
  static v1::SubmitTasksRequest tasks(std::uint64_t sequence) {
    v1::SubmitTasksRequest request;
    request.set_sequence(sequence);
    v1::TaskSpec& task = *request.add_tasks()->mutable_task();
    task.set_task_type("llm");
    task.set_payload("x");
    task.set_gpu_memory_mb(100);
    return request;
  }

  Doors doors_;
};

TEST_F(Revocation, EndsEvents) {
  const NewToken alice = token();
  grpc::ClientContext context;
  prepare(context, alice);
  v1::TaskEventsRequest request;
  request.set_follow(true);
  auto reader = doors_.stub->TaskEvents(&context, request);
  reader->WaitForInitialMetadata();
  revoke(alice);
  v1::TaskEvent event;
  EXPECT_FALSE(reader->Read(&event));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(reason_of(status), "token_revoked");
}

TEST_F(Revocation, EndsOutput) {
  const NewToken alice = token();
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors_.submit("a", response, "", alice.secret).ok());
  grpc::ClientContext context;
  prepare(context, alice);
  v1::GetTaskLogsRequest request;
  request.set_task_id("a");
  request.set_follow(true);
  auto reader = doors_.stub->GetTaskLogs(&context, request);
  reader->WaitForInitialMetadata();
  revoke(alice);
  v1::LogChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::UNAUTHENTICATED);
}

TEST_F(Revocation, EndsSubmits) {
  const NewToken alice = token();
  grpc::ClientContext context;
  prepare(context, alice);
  auto stream = doors_.stub->SubmitTasks(&context);
  v1::SubmitTasksResponse answer;
  ASSERT_TRUE(stream->Write(tasks(1)));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.refusals_size(), 0);
  revoke(alice);
  EXPECT_FALSE(stream->Read(&answer)) << "it says nothing more";
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAUTHENTICATED);
}

// Each message is looked at, not only the time between them.
TEST_F(Revocation, NothingIsTakenAfterIt) {
  const NewToken alice = token();
  grpc::ClientContext context;
  prepare(context, alice);
  auto stream = doors_.stub->SubmitTasks(&context);
  revoke(alice);
  // Until the door itself has noticed.
  v1::ListTasksResponse list;
  while (doors_.call(&v1::Scheduler::Stub::ListTasks, {}, list, alice.secret).ok()) {
  }
  stream->Write(tasks(1));
  v1::SubmitTasksResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(reason_of(stream->Finish()), "token_revoked");
  EXPECT_EQ(doors_.running.service().view().read(
                [](const service::Board& board) { return board.tasks().size(); }),
            0U);
}

TEST_F(Revocation, EndsServerSentEventsWithTheReason) {
  const NewToken alice = token();
  RawHttp client(doors_.server->http_port());
  client.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
              alice.secret + "\r\n\r\n");
  client.read_until("retry:");
  revoke(alice);
  const std::string text = client.read_until("\r\n0\r\n\r\n");
  EXPECT_NE(text.find("event: problem\ndata: {"), std::string::npos) << text;
  EXPECT_NE(text.find("token_revoked"), std::string::npos) << text;
}

TEST_F(Revocation, ATokenThatExpiresEndsThemToo) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const NewToken alice = token(std::chrono::duration_cast<std::chrono::seconds>(now).count() + 2);
  grpc::ClientContext context;
  prepare(context, alice);
  v1::TaskEventsRequest request;
  request.set_follow(true);
  auto reader = doors_.stub->TaskEvents(&context, request);
  v1::TaskEvent event;
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reason_of(reader->Finish()), "token_expired");
}

TEST_F(Revocation, OthersGoOn) {
  const NewToken alice = token();
  const NewToken also_alice = token();
  RawHttp client(doors_.server->http_port());
  client.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
              also_alice.secret + "\r\n\r\n");
  client.read_until("retry:");
  revoke(alice);
  v1::ListTasksResponse list;
  while (doors_.call(&v1::Scheduler::Stub::ListTasks, {}, list, alice.secret).ok()) {
  }
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors_.submit("a", response, "", also_alice.secret).ok());
  EXPECT_NE(client.read_until("\"PENDING\"").find("\"PENDING\""), std::string::npos);
}

}  // namespace
}  // namespace berth::api::revocation_test
