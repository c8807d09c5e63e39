// What one client takes of the doors leaves the others theirs: room for bodies, streams,
// connections.
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::fair_doors_test {
namespace {

using testing::Doors;
using testing::RawHttp;
using testing::RawReply;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string with(const std::string& secret) { return "Authorization: Bearer " + secret + "\r\n"; }

// Says how large its body is, waits to be asked for it, and sends none of it.
std::string announcing(std::size_t bytes, const std::string& headers) {
  return "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Expect: 100-continue\r\nContent-Length: " +
         std::to_string(bytes) + "\r\n" + headers + "\r\n";
}

ApiOptions guarded() {
  ApiOptions options;
  options.authentication = true;
  return options;
}

class LargeBodies : public ::testing::Test {
 protected:
  static ApiOptions narrow() {
    ApiOptions options = guarded();
    options.http_limits.bodies = {.all = 1'000'000, .per_sender = 500'000};
    return options;
  }
  // The status of the answer to the head alone; the connection stays.
  int announce(std::size_t bytes, const std::string& headers) {
    clients_.push_back(std::make_unique<RawHttp>(doors_.server->http_port()));
    clients_.back()->send(announcing(bytes, headers));
    return clients_.back()->reply().status;
  }
  Doors doors_{narrow()};
  std::vector<std::unique_ptr<RawHttp>> clients_;
};

TEST_F(LargeBodies, AreNotWaitedForWithoutAToken) {
  const std::string red = doors_.secret_of("red", Role::tenant);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(announce(400'000, ""), 401);
  EXPECT_EQ(announce(400'000, with("bth_nonsense")), 401);
  RawHttp page(doors_.server->http_port());
  page.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400000\r\n\r\n");
  EXPECT_EQ(page.reply().status, 413);
  EXPECT_EQ(announce(400'000, with(red)), 100) << "all the room is there";
}

TEST_F(LargeBodies, OfOneTenantLeaveRoomForOthers) {
  const std::string red = doors_.secret_of("red", Role::tenant);
  const std::string blue = doors_.secret_of("blue", Role::tenant);
  EXPECT_EQ(announce(400'000, with(red)), 100);
  EXPECT_EQ(announce(400'000, with(red)), 503);
  EXPECT_EQ(announce(400'000, with(blue)), 100);
  const std::string small = R"({"task":{"task_type":"llm","payload":1}})";
  EXPECT_EQ(doors_.http("POST", "/api/v1/tasks", small, with(red)).status, 200);
}

// A client that sends on while it is refused reads why, whatever it still sends.
TEST_F(LargeBodies, ARefusalReachesAClientThatIsStillSending) {
  const RawReply reply = doors_.http("POST", "/api/v1/tasks", std::string(400'000, ' '));
  EXPECT_EQ(reply.status, 401);
  EXPECT_TRUE(has(reply.body, "no_token")) << reply.body;
}

class ManyStreams : public ::testing::Test {
 protected:
  static ApiOptions narrow() {
    ApiOptions options = guarded();
    options.stream_limits.per_tenant = 2;
    return options;
  }
  std::string listen(const std::string& secret) {
    clients_.push_back(std::make_unique<RawHttp>(doors_.server->http_port()));
    clients_.back()->send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n" + with(secret) +
                          "\r\n");
    return clients_.back()->read_until("\r\n\r\n");
  }
  grpc::Status listen_once(const std::string& secret) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + secret);
    v1::TaskEventsRequest request;
    request.set_follow(false);
    const auto reader = doors_.stub->TaskEvents(&context, request);
    v1::TaskEvent event;
    while (reader->Read(&event)) {
    }
    return reader->Finish();
  }
  Doors doors_{narrow()};
  std::vector<std::unique_ptr<RawHttp>> clients_;
};

TEST_F(ManyStreams, OfOneTenantLeaveStreamsForOthers) {
  const std::string red = doors_.secret_of("red", Role::tenant);
  const std::string other_red = doors_.secret_of("red", Role::tenant);
  const std::string blue = doors_.secret_of("blue", Role::tenant);
  const std::string reader = doors_.secret_of("red", Role::reader);
  EXPECT_TRUE(has(listen(red), " 200 "));
  EXPECT_TRUE(has(listen(other_red), " 200 "));
  clients_.push_back(std::make_unique<RawHttp>(doors_.server->http_port()));
  const RawReply refused = clients_.back()->ask("GET", "/api/v1/events", "", with(red));
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_TRUE(has(refused.body, "too_many_streams")) << refused.body;
  EXPECT_TRUE(has(refused.body, "limits.max_streams_per_tenant")) << refused.body;
  const grpc::Status there = listen_once(red);
  EXPECT_EQ(there.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(testing::reason_of(there), "too_many_streams");
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + red);
  const auto submits = doors_.stub->SubmitTasks(&context);
  submits->WritesDone();
  EXPECT_EQ(submits->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  const grpc::Status others = listen_once(blue);
  EXPECT_TRUE(others.ok()) << others.error_message();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(has(listen(reader), " 200 "));
}

TEST(ProbePlaces, AreLeftByConnectionsThatCarryStreams) {
  ApiOptions options;
  options.http_limits.guests.all = 4;
  Doors doors(std::move(options));
  std::vector<std::unique_ptr<RawHttp>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawHttp>(doors.server->http_port()));
    clients.back()->send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    clients.back()->read_until("retry:");
  }
  RawHttp fourth(doors.server->http_port());
  const RawReply refused = fourth.ask("GET", "/api/v1/events");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_TRUE(has(refused.body, "limits.http_max_connections")) << refused.body;
  // A newcomer takes the last place, once whoever had it is quiet.
  for (const char* path : {"/healthz", "/readyz", "/health", "/api/v1/queues"}) {
    while (doors.http("GET", path).status != 200)
      std::this_thread::yield();
  }
}

}  // namespace
}  // namespace berth::api::fair_doors_test
