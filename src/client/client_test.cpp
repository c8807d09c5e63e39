// The client against a real gRPC server with canned answers: retries, deadlines, details, streams.
#include "client/client.h"

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "client/request_id.h"
#include "client/testing/canned_server.h"

namespace berth::client::client_test {
namespace {

using namespace std::chrono_literals;
using testing::CannedServer;
using testing::detailed;
using testing::Reply;

Client connected(const std::string& address, Limits limits = {}) {
  limits.pause = 10ms;
  return std::move(*Client::connect({address, "", ""}, std::move(limits)));
}

v1::TaskStatus running_task() {
  v1::TaskStatus status;
  status.set_task_id("t1");
  status.set_state(v1::RUNNING);
  return status;
}

TEST(Client, AnAnswerComesBackAsItsMessage) {
  CannedServer server;
  server.answer("GetTaskStatus", running_task());
  Client client = connected(server.address());
  v1::GetTaskStatusRequest request;
  request.set_task_id("t1");
  const auto status = client.task_status(request);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state(), v1::RUNNING);
  EXPECT_EQ(server.request<v1::GetTaskStatusRequest>("GetTaskStatus").task_id(), "t1");
  EXPECT_EQ(server.authorization(), "");
}

TEST(Client, DetailsOfAnErrorBecomeAFailure) {
  CannedServer server;
  server.fail("GetTaskStatus", detailed(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many",
                                        "tokens_short", {{"task.gpus", "at most 8"}}, 2500));
  const auto status = connected(server.address()).task_status({});
  ASSERT_FALSE(status);
  const Failure& failure = status.failure();
  EXPECT_EQ(failure.code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(failure.message, "too many");
  EXPECT_EQ(failure.reason, "tokens_short");
  EXPECT_EQ(failure.fields, (std::vector<FieldProblem>{{"task.gpus", "at most 8"}}));
  EXPECT_EQ(failure.retry_after, 2500ms);
  EXPECT_EQ(server.calls("GetTaskStatus"), 1U);
}

TEST(Client, BrokenDetailsAreLeftOut) {
  const Failure failure =
      failure_of(grpc::Status(grpc::StatusCode::INTERNAL, "", "\xff\xff not a message"));
  EXPECT_EQ(failure.message, "the server gave no message");
  EXPECT_TRUE(failure.reason.empty());
  EXPECT_EQ(code_name(failure.code), "INTERNAL");
}

TEST(Client, AServerThatIsAwayIsTriedAgainWithTheSameRequestId) {
  CannedServer server;
  std::atomic<int> calls = 0;
  std::mutex mutex;
  std::set<std::string> ids;
  server.on("SubmitTask", [&](const std::string& bytes) {
    v1::SubmitTaskRequest request;
    request.ParseFromString(bytes);
    const std::lock_guard lock(mutex);
    ids.insert(request.request_id());
    if (++calls < 3) return Reply{{}, grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting")};
    v1::SubmitTaskResponse response;
    response.set_task_id("t");
    return Reply{{response.SerializeAsString()}, {}};
  });
  EXPECT_TRUE(connected(server.address()).submit({}));
  EXPECT_EQ(calls, 3);
  ASSERT_EQ(ids.size(), 1U);
  EXPECT_EQ(ids.begin()->size(), 36U);
}

TEST(Client, AGivenRequestIdIsKept) {
  CannedServer server;
  server.answer("SubmitTask", v1::SubmitTaskResponse());
  v1::SubmitTaskRequest request;
  request.set_request_id("mine");
  ASSERT_TRUE(connected(server.address()).submit(request));
  EXPECT_EQ(server.request<v1::SubmitTaskRequest>("SubmitTask").request_id(), "mine");
}

TEST(Client, TriesAreCountedAndABackupIsTriedOnce) {
  CannedServer server;
  const grpc::Status away(grpc::StatusCode::UNAVAILABLE, "away");
  server.fail("GetQueueStatus", away);
  server.fail("Backup", away);
  Client client = connected(server.address());
  EXPECT_EQ(client.queues({}).failure().code, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(server.calls("GetQueueStatus"), 5U);
  EXPECT_EQ(client.backup({}).failure().code, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(server.calls("Backup"), 1U);
}

TEST(Client, NobodyListensIsUnavailable) {
  std::string address;
  {
    const CannedServer server;
    address = server.address();
  }
  EXPECT_EQ(connected(address).info().failure().code, grpc::StatusCode::UNAVAILABLE);
}

// As after `systemctl restart berth`: the call is there before the server.
TEST(Client, AServerThatStartsMeanwhileIsFound) {
  std::string address;
  {
    const CannedServer server;
    address = server.address();
  }
  std::unique_ptr<CannedServer> late;
  std::thread starter([&] {
    std::this_thread::sleep_for(300ms);
    late = std::make_unique<CannedServer>(address);
  });
  auto client = Client::connect({address, "", ""});
  // Found, though it has no answer to this.
  EXPECT_EQ(client->info().failure().code, grpc::StatusCode::UNIMPLEMENTED);
  starter.join();
}

TEST(Client, ACallEndsAtItsDeadlineOrWhenStopped) {
  CannedServer server;
  server.hang("GetServerInfo");
  Limits short_deadline;
  short_deadline.deadline = 50ms;
  EXPECT_EQ(connected(server.address(), short_deadline).info().failure().code,
            grpc::StatusCode::DEADLINE_EXCEEDED);
  Limits stopped;
  stopped.stop = [] { return true; };
  EXPECT_EQ(connected(server.address(), stopped).info().failure().code,
            grpc::StatusCode::CANCELLED);
}

TEST(Client, TheTokenIsSentAndOnlyToThisMachineWithoutTls) {
  CannedServer server;
  server.answer("GetServerInfo", v1::ServerInfo());
  auto client = Client::connect({server.address(), "secret", ""});
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->info());
  EXPECT_EQ(server.authorization(), "Bearer secret");
  const auto refused = Client::connect({"192.0.2.1:50051", "secret", ""});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "would send the token unencrypted to 192.0.2.1:50051: name the certificates of its "
            "authority");
}

TEST(Client, AClientsCertificateNeedsItsKeyAndTls) {
  const auto error = [](const Endpoint& endpoint) {
    const auto client = Client::connect(endpoint);
    return client ? "" : client.error().message;
  };
  EXPECT_EQ(error({.ca_file = "ca.pem", .cert_file = "cert.pem"}),
            "a client's certificate and its key belong together: give both");
  EXPECT_EQ(error({.ca_file = "ca.pem", .key_file = "key.pem"}),
            "a client's certificate and its key belong together: give both");
  EXPECT_EQ(error({.cert_file = "cert.pem", .key_file = "key.pem"}),
            "a client's certificate needs TLS: name the certificates of the server's authority");
}

TEST(Client, CertificatesThatCannotBeReadAreAnError) {
  const auto client = Client::connect({"localhost:1", "", "/no/such/ca.pem"});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().message,
            "cannot read the certificates in /no/such/ca.pem: No such file or directory");
}

TEST(Client, LoopbackIsKnownByItsNames) {
  for (const char* name : {"127.0.0.1:1", "localhost:1", "localhost", "[::1]:1", "unix:/run/b"})
    EXPECT_TRUE(is_loopback(name)) << name;
  for (const char* name : {"example.net:1", "10.0.0.1:1", "localhost.example.net:1"})
    EXPECT_FALSE(is_loopback(name)) << name;
}

TEST(RequestId, IsAUuidAndNeverTheSame) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = make_request_id();
    ASSERT_EQ(id.size(), 36U);
    EXPECT_EQ(id[14], '4');
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000U);
}

TEST(EventStream, GivesMessagesThenItsEnd) {
  CannedServer server;
  std::vector<v1::TaskEvent> events(3);
  for (std::size_t i = 0; i < events.size(); ++i)
    events[i].set_sequence(i + 5);
  server.stream("TaskEvents", events);
  Client client = connected(server.address());
  const auto stream = client.events({});
  for (const v1::TaskEvent& event : events) {
    ASSERT_EQ(stream->next(), Next::message);
    EXPECT_EQ(stream->message().sequence(), event.sequence());
  }
  EXPECT_EQ(stream->next(), Next::ended);
  EXPECT_FALSE(stream->failure());
  EXPECT_EQ(stream->next(), Next::ended);
}

TEST(EventStream, PatienceRunsOutWithoutLosingTheStream) {
  CannedServer server;
  server.stream("TaskEvents", std::vector<v1::TaskEvent>(1), Reply::Then::stay_open);
  Client client = connected(server.address());
  const auto stream = client.events({}, Clock::now() + 300ms);
  ASSERT_EQ(stream->next(), Next::message);
  EXPECT_EQ(stream->next(Clock::now() + 10ms), Next::timed_out);
  ASSERT_EQ(stream->next(), Next::ended);
  EXPECT_EQ(stream->failure()->code, grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(EventStream, CanBeDroppedWhileItIsOpen) {
  CannedServer server;
  server.hang("GetTaskLogs");
  Client client = connected(server.address());
  EXPECT_EQ(client.logs({})->next(Clock::now() + 10ms), Next::timed_out);
}

// Acknowledges everything up to the last task of each message.
Reply acknowledge(const std::string& bytes, std::uint64_t refused) {
  v1::SubmitTasksRequest request;
  request.ParseFromString(bytes);
  v1::SubmitTasksResponse response;
  response.set_durable(request.sequence() + static_cast<std::uint64_t>(request.tasks_size()) - 1);
  if (refused >= request.sequence() && refused <= response.durable())
    response.add_refusals()->set_sequence(refused);
  return {{response.SerializeAsString()}, {}, Reply::Then::read_on};
}

TEST(SubmitStream, EveryTaskIsAcknowledgedAndRefusalsAreKept) {
  CannedServer server;
  server.on("SubmitTasks", [](const std::string& bytes) { return acknowledge(bytes, 77); });
  Client client = connected(server.address());
  const auto stream = client.submit_stream({.window = 100, .batch = 8});
  for (std::uint64_t i = 1; i <= 1000; ++i)
    ASSERT_EQ(stream->submit({}), i);
  const auto durable = stream->finish();
  ASSERT_TRUE(durable);
  EXPECT_EQ(*durable, 1000U);
  const auto refusals = stream->take_refusals();
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].sequence(), 77U);
  EXPECT_GE(server.calls("SubmitTasks"), 125U);
  EXPECT_LT(server.calls("SubmitTasks"), 500U);  // a full window sends a message early
}

TEST(SubmitStream, AFullWindowHoldsBackUntilTheServerAcknowledges) {
  CannedServer server;
  std::atomic<std::uint64_t> acknowledged = 0;
  server.on("SubmitTasks", [&](const std::string& bytes) {
    v1::SubmitTasksRequest request;
    request.ParseFromString(bytes);
    acknowledged = request.sequence() + static_cast<std::uint64_t>(request.tasks_size()) - 1;
    return acknowledge(bytes, 0);
  });
  Client client = connected(server.address());
  const auto stream = client.submit_stream({.window = 10, .batch = 100});
  for (std::uint64_t i = 1; i <= 200; ++i) {
    ASSERT_EQ(stream->submit({}), i);
    EXPECT_LE(i - acknowledged, 10U);
  }
  EXPECT_TRUE(stream->finish());
}

TEST(SubmitStream, ABrokenStreamSaysHowFarItCame) {
  CannedServer server;
  server.on("SubmitTasks", [&](const std::string& bytes) {
    Reply reply = acknowledge(bytes, 0);
    reply.then = Reply::Then::end;
    reply.status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
    return reply;
  });
  Client client = connected(server.address());
  const auto stream = client.submit_stream({.window = 5, .batch = 5});
  std::uint64_t sent = 0;
  while (sent < 100 && stream->submit({}) != 0)
    ++sent;
  EXPECT_LT(sent, 100U);
  EXPECT_EQ(stream->finish().failure().code, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(stream->durable(), 5U);
}

TEST(SubmitStream, AStreamThatEndsEarlyIsAFailure) {
  CannedServer server;
  server.on("SubmitTasks", [](const std::string&) { return Reply{}; });
  Client client = connected(server.address());
  const auto stream = client.submit_stream({.batch = 1});
  stream->submit({});
  EXPECT_EQ(stream->finish().failure().code, grpc::StatusCode::DATA_LOSS);
}

}  // namespace
}  // namespace berth::client::client_test
