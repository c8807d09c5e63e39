// The HTTP door on real sockets: the JSON API, its errors, its limits, its streams.
#include <thread>

#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::http_door_test {
namespace {

using testing::Doors;
using testing::RawHttp;
using testing::RawReply;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HttpDoor, ATaskGoesFromSubmitToItsEnd) {
  Doors doors;
  RawHttp client(doors.server->http_port());
  RawReply reply =
      client.ask("POST", "/api/v1/tasks",
                 R"({"task":{"task_id":"a","task_type":"llm","payload":1,"user_id":"alice"}})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_TRUE(has(reply.body, "\"task_id\":\"a\""));
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
  EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
  doors.end_of("a", "alice");
  reply = client.ask("GET", "/api/v1/tasks/a?user_id=alice&with_history");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_TRUE(has(reply.body, "\"state\":\"COMPLETED\"")) << reply.body;
  reply = client.ask("GET", "/api/v1/tasks?user_id=alice&ended=true&states=completed");
  EXPECT_EQ(reply.status, 200) << reply.body;
  reply = client.ask("POST", "/api/v1/tasks/a/cancel?user_id=alice&dry_run=true");
  EXPECT_TRUE(has(reply.body, "\"matched\":\"1\"")) << reply.body;
}

TEST(HttpDoor, WhatStoppingATaskCostsIsSaidInJson) {
  Doors doors;
  RawReply reply = doors.http("POST", "/api/v1/tasks",
                              R"({"task":{"task_id":"a","task_type":"llm","payload":1,)"
                              R"("checkpoint_interval_ms":600000,"restart_cost_ms":"30000"}})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  reply = doors.http("GET", "/api/v1/tasks/a?with_spec=true");
  EXPECT_TRUE(has(reply.body, R"("checkpoint_interval_ms":"600000","restart_cost_ms":"30000")"))
      << reply.body;
  reply = doors.http("POST", "/api/v1/tasks",
                     R"({"task":{"task_type":"llm","payload":1,"checkpoint_interval_ms":-1,)"
                     R"("restart_cost_ms":-1}})");
  EXPECT_EQ(reply.status, 400) << reply.body;
  for (const char* field : {"checkpoint_interval_ms", "restart_cost_ms"})
    EXPECT_TRUE(has(reply.body, "\"field\":\"task." + std::string(field) + "\"")) << reply.body;
  const std::string api = doors.http("GET", "/openapi.json").body;
  EXPECT_TRUE(has(api, R"("checkpoint_interval_ms":{)"));
  EXPECT_TRUE(has(api, R"("restart_cost_ms":{)"));
}

TEST(HttpDoor, WhatATaskAsksOfTheHardwareIsSaidInJson) {
  Doors doors;
  RawReply reply =
      doors.http("POST", "/api/v1/tasks",
                 R"({"task":{"task_id":"gang","task_type":"llm","payload":1,"gpus":2,"groups":2,)"
                 R"("within":"node","required":true,"gpu_kinds":["test"]}})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(doors.end_of("gang").gpus_size(), 2);
  reply = doors.http("GET", "/api/v1/tasks/gang?with_spec=true");
  EXPECT_TRUE(has(reply.body, R"("gpu_kinds":["test"],"groups":2,"within":"node","required":true)"))
      << reply.body;
  reply = doors.http("POST", "/api/v1/tasks",
                     R"({"task":{"task_type":"llm","payload":1,"gpus":3,"groups":2,"within":"nod",)"
                     R"("memory_mb":-1,"mig_profile":"1g.10gb"}})");
  EXPECT_EQ(reply.status, 400) << reply.body;
  for (const char* field : {"groups", "within", "memory_mb", "mig_profile"})
    EXPECT_TRUE(has(reply.body, "\"field\":\"task." + std::string(field) + "\"")) << reply.body;
  EXPECT_TRUE(has(reply.body, R"(did you mean \"node\"?)")) << reply.body;
  EXPECT_TRUE(has(doors.http("GET", "/openapi.json").body, R"("cpus_milli":{"type":"integer",)"));
  // Said or not: no GPU is something else than the default of one.
  EXPECT_EQ(
      doors.http("POST", "/api/v1/tasks", R"({"task":{"task_type":"llm","payload":1,"gpus":0}})")
          .status,
      400);
}

TEST(HttpDoor, ErrorsAreProblems) {
  Doors doors;
  RawReply reply = doors.http("GET", "/api/v1/tasks/nothing");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.header("Content-Type"), "application/problem+json");
  EXPECT_TRUE(has(reply.body, "\"reason\":\"unknown_task\"")) << reply.body;
  reply = doors.http("GET", "/nowhere");
  EXPECT_EQ(reply.status, 404);
  EXPECT_TRUE(has(reply.body, "unknown_path"));
  reply = doors.http("PUT", "/api/v1/tasks");
  EXPECT_EQ(reply.status, 405);
  EXPECT_TRUE(has(reply.body, "\"status\":405")) << reply.body;
  EXPECT_EQ(reply.header("Allow"), "POST, GET");
  EXPECT_EQ(doors.http("POST", "/api/v1/tasks", "{nonsense").status, 400);
  EXPECT_EQ(doors.http("POST", "/api/v1/tasks", R"({"task":{"tier":9}})").status, 400);
  EXPECT_EQ(doors.http("GET", "/api/v1/tasks?nothing=1").status, 400);
  reply = doors.http("POST", "/api/v1/tasks",
                     R"({"task":{"task_type":"llm","payload":1,"gpu_memory_mb":99999999}})");
  EXPECT_EQ(reply.status, 422);
  EXPECT_TRUE(has(reply.body, "vram_over_any_gpu"));
}

TEST(HttpDoor, EveryProblemSaysTheStatusOfItsAnswer) {
  Doors doors;
  const std::array<RawReply, 8> replies = {
      doors.http("DELETE", "/api/v1/tasks"),
      doors.http("PATCH", "/healthz", "{}"),
      doors.http("GET", "/api/v1/tasks/nothing"),
      doors.http("GET", "/api/v1/nowhere"),
      doors.http("POST", "/api/v1/tasks", "{"),
      doors.http("POST", "/api/v1/backup", R"({"path":"/x"})"),
      doors.http("POST", "/api/v1/config/reload", "{}"),
      doors.http("POST", "/healthz", std::string(100'000, ' ')),
  };
  for (const RawReply& reply : replies) {
    EXPECT_GE(reply.status, 400) << reply.head;
    EXPECT_EQ(reply.header("Content-Type"), "application/problem+json");
    EXPECT_TRUE(has(reply.body, "\"status\":" + std::to_string(reply.status) + ",")) << reply.body;
  }
}

TEST(HttpDoor, AFullQueueIs429WithRetryAfter) {
  service::ServiceOptions options;
  options.tenant_defaults.max_queue_size = 1;
  Doors doors({}, options);
  doors.pause();
  const std::string body = R"({"task":{"task_type":"llm","payload":1}})";
  EXPECT_EQ(doors.http("POST", "/api/v1/tasks", body).status, 200);
  const RawReply reply = doors.http("POST", "/api/v1/tasks", body);
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.header("Retry-After"), "1");
}

TEST(HttpDoor, TheIdempotencyKeyIsTheRequestId) {
  Doors doors;
  doors.pause();
  const std::string key = "Idempotency-Key: k1\r\n";
  const RawReply first =
      doors.http("POST", "/api/v1/tasks", R"({"task":{"task_type":"llm","payload":1}})", key);
  const RawReply second =
      doors.http("POST", "/api/v1/tasks", R"({"task":{"task_type":"llm","payload":1}})", key);
  EXPECT_TRUE(has(second.body, "\"duplicate\":true")) << second.body;
  const RawReply other = doors.http(
      "POST", "/api/v1/tasks", R"({"task":{"task_type":"llm","payload":1,"priority":1}})", key);
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_TRUE(has(other.body, "priority"));
}

TEST(HttpDoor, ManyTasksInOneMessage) {
  Doors doors;
  const RawReply reply = doors.http("POST", "/api/v1/tasks:batch",
                                    R"({"tasks":[{"task":{"task_type":"llm","payload":1}},)"
                                    R"({"task":{"task_type":"x","payload":1}},)"
                                    R"({"task":{"task_type":"llm","payload":1}}]})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_TRUE(has(reply.body, "\"durable\":\"3\"")) << reply.body;
  EXPECT_TRUE(has(reply.body, R"("refusals":[{"sequence":"2","code":5,)")) << reply.body;
  EXPECT_TRUE(has(reply.body, R"("accepted":[{"sequence":"1","task_id":"t-)")) << reply.body;
  EXPECT_TRUE(has(reply.body, R"({"sequence":"3","task_id":"t-)")) << reply.body;
  const RawReply brief =
      doors.http("POST", "/api/v1/tasks:batch",
                 R"({"want_ids":false,"tasks":[{"task":{"task_type":"llm","payload":1}}]})");
  EXPECT_TRUE(has(brief.body, R"("accepted":[])")) << brief.body;
}

// ---- Old paths ----------------------------------------------------------------------------------

TEST(OldPaths, GoOnAndNameTheirSuccessors) {
  Doors doors;
  doors.pause();
  const RawReply old = doors.http("POST", "/v1/tasks",
                                  R"({"task":{"task_id":"a b","task_type":"llm","payload":1}})");
  EXPECT_EQ(old.status, 200) << old.body;
  EXPECT_EQ(old.header("Deprecation"), "true");
  EXPECT_EQ(old.header("Link"), "</api/v1/tasks>; rel=\"successor-version\"");
  const RawReply status = doors.http("GET", "/v1/tasks/a%20b?with_spec=true");
  EXPECT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(status.header("Link"), "</api/v1/tasks/a%20b>; rel=\"successor-version\"");
  const RawReply refused = doors.http("GET", "/v1/tasks/nothing");
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.header("Deprecation"), "true");
  const RawReply stream = doors.http("GET", "/v1/events?follow=false&from_start=true");
  EXPECT_EQ(stream.status, 200);
  EXPECT_EQ(stream.header("Deprecation"), "true");
  for (const char* path : {"/api/v1/tasks", "/queue/status"}) {
    EXPECT_EQ(doors.http("GET", path).header("Deprecation"), "") << path;
  }
  for (const char* path : {"/v1", "/v1/chat/completions", "/v1x/tasks", "/api/v1", "/api/tasks"}) {
    const RawReply none = doors.http("GET", path);
    EXPECT_EQ(none.status, 404) << path;
    EXPECT_EQ(none.header("Deprecation"), "") << path;
  }
}

TEST(HttpDoor, APayloadMayBeAnyJson) {
  Doors doors;
  doors.pause();
  EXPECT_EQ(doors
                .http("POST", "/api/v1/tasks",
                      R"({"task":{"task_id":"a","task_type":"llm","payload":{"prompt":"hi"}}})")
                .status,
            200);
  const RawReply reply = doors.http("GET", "/api/v1/tasks/a?with_spec=true");
  EXPECT_TRUE(has(reply.body, R"("payload":"eyJwcm9tcHQiOiJoaSJ9")")) << reply.body;
}

TEST(HttpDoor, PagesForProbesAndPrometheus) {
  Doors doors;
  RawHttp client(doors.server->http_port());
  EXPECT_TRUE(has(client.ask("GET", "/health").body, "\"status\":\"ok\""));
  EXPECT_EQ(client.ask("GET", "/healthz").body, "ok\n");
  EXPECT_EQ(client.ask("GET", "/readyz").status, 200);
  EXPECT_TRUE(has(client.ask("GET", "/queue/status").body, "\"name\":\"llm\""));
  const RawReply metrics = client.ask("GET", "/metrics");
  EXPECT_TRUE(has(metrics.body, "berth_queue_tasks{queue=\"llm\",state=\"pending\"} 0"));
  EXPECT_TRUE(has(metrics.header("Content-Type"), "version=0.0.4"));
  EXPECT_TRUE(has(client.ask("GET", "/gpu/metrics").body,
                  "berth_gpu_up{gpu=\"0\",UUID=\"GPU-0\",device=\"gpu-0\",model_name=\"test\","
                  "Hostname=\"local\"} 1"));
  EXPECT_TRUE(has(client.ask("GET", "/openapi.json").body, "\"openapi\":\"3.1.0\""));
  const RawReply head = client.ask("HEAD", "/healthz");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "3");
  EXPECT_EQ(client.ask("GET", "/healthz").body, "ok\n") << "the connection goes on after a HEAD";
}

TEST(HttpDoor, WhatABrowserCouldBeTalkedIntoIsRefused) {
  Doors doors;
  RawHttp rebinding(doors.server->http_port());
  rebinding.send("GET /api/v1/server HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(rebinding.reply().status, 403);
  EXPECT_EQ(doors
                .http("POST", "/api/v1/pause", R"({"task_type":"llm"})",
                      "Origin: http://evil.example\r\n")
                .status,
            403);
  EXPECT_EQ(
      doors.http("POST", "/api/v1/pause", R"({"task_type":"llm"})", "Origin: http://localhost\r\n")
          .status,
      200);
  RawHttp form(doors.server->http_port());
  form.send(
      "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
      "Content-Length: 19\r\n\r\n{\"task_type\":\"llm\"}");
  EXPECT_EQ(form.reply().status, 400);
}

TEST(HttpDoor, LoopbackHostsAreKnown) {
  for (const char* host :
       {"localhost", "localhost:80", "127.0.0.1:8080", "127.1.2.3", "[::1]:9", "[::1]"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host : {"", "127.evil.example", "localhost.evil.example", "10.0.0.1", "[::2]",
                           "::1", "[::1].evil"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

// ---- Limits -------------------------------------------------------------------------------------

ApiOptions short_limits() {
  ApiOptions options;
  options.http_limits.header_time = std::chrono::milliseconds(300);
  options.http_limits.body_time = std::chrono::milliseconds(500);
  return options;
}

TEST(HttpLimits, ALongHeaderIsCut) {
  Doors doors;
  RawHttp client(doors.server->http_port());
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x'));
  const RawReply reply = client.reply();
  EXPECT_EQ(reply.status, 431);
  EXPECT_TRUE(has(reply.body, "\"status\":431")) << reply.body;
}

TEST(HttpLimits, AnAnnouncedLargeBodyIsRefusedUnread) {
  Doors doors;
  RawHttp client(doors.server->http_port());
  client.send(
      "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 300000000\r\n\r\n");
  EXPECT_EQ(client.reply().status, 413);
}

TEST(HttpLimits, AChunkedBodyIsCutAtTheLimit) {
  Doors doors;
  RawHttp client(doors.server->http_port());
  client.send(
      "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(65'536, ' ') + "\r\n";
  std::size_t sent = 0;
  while (sent < 300'000'000 && client.send(chunk))
    sent += 65'536;
  EXPECT_LT(sent, 32'000'000U) << "the server went on reading";
}

TEST(HttpLimits, SlowRequestsAreGivenUp) {
  Doors doors(short_limits());
  RawHttp header(doors.server->http_port());
  header.send("GET /healthz HTTP/1.1\r\nHost: lo");
  EXPECT_FALSE(header.receive()) << "the connection is closed";
  RawHttp body(doors.server->http_port());
  body.send(
      "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 100\r\n\r\n{");
  EXPECT_FALSE(body.receive());
}

// A client that sends a byte now and then does not get its time prolonged by it.
TEST(HttpLimits, DrippingDoesNotHelp) {
  Doors doors(short_limits());
  RawHttp client(doors.server->http_port());
  client.send("GET /healthz HTTP/1.1\r\nX: ");
  const auto began = std::chrono::steady_clock::now();
  while (client.send("x") && std::chrono::steady_clock::now() - began < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST(HttpLimits, SlowClientsDoNotDisturbOthers) {
  Doors doors;
  std::vector<std::unique_ptr<RawHttp>> slow;
  for (int i = 0; i < 256; ++i) {
    slow.push_back(std::make_unique<RawHttp>(doors.server->http_port()));
    ASSERT_TRUE(slow.back()->connected());
    slow.back()->send(i % 2 ? "GET /health"
                            : "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                              "application/json\r\nContent-Length: 1000000\r\n\r\n{");
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(doors.http("GET", "/healthz").status, 200);
}

TEST(HttpLimits, ANewcomerTakesThePlaceOfWhoHasBeenIdleLongest) {
  ApiOptions options;
  options.http_limits.guests.all = 4;
  Doors doors(std::move(options));
  std::vector<std::unique_ptr<RawHttp>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawHttp>(doors.server->http_port()));
    EXPECT_EQ(clients.back()->ask("GET", "/healthz").status, 200);
  }
  EXPECT_EQ(clients.front()->ask("GET", "/healthz").status, 200);
  EXPECT_EQ(doors.http("GET", "/healthz").status, 200);
  EXPECT_FALSE(clients[1]->receive()) << "it was idle longest";
  EXPECT_EQ(clients.front()->ask("GET", "/healthz").status, 200);
}

TEST(HttpLimits, OneConnectionTooManyGetsAnAnswerAtOnce) {
  ApiOptions options;
  options.http_limits.guests.all = 1;
  Doors doors(std::move(options));
  auto only = std::make_unique<RawHttp>(doors.server->http_port());
  only->send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  only->read_until("retry:");
  EXPECT_EQ(RawHttp(doors.server->http_port()).reply().status, 503);
  only.reset();
  while (RawHttp(doors.server->http_port()).ask("GET", "/healthz").status != 200)
    std::this_thread::yield();
}

TEST(HttpLimits, BodiesTogetherHaveALimit) {
  ApiOptions options;
  options.http_limits.bodies = {.all = 1'500'000, .per_sender = 1'500'000};
  Doors doors(std::move(options));
  const std::string head =
      "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n";
  RawHttp first(doors.server->http_port());
  first.send(head);
  EXPECT_EQ(first.reply().status, 100);
  RawHttp second(doors.server->http_port());
  second.send(head);
  const RawReply full = second.reply();
  EXPECT_EQ(full.status, 503);
  EXPECT_TRUE(has(full.body, "\"need\":\"2000000\"")) << full.body;
  EXPECT_TRUE(has(full.body, "\"have\":\"1500000\"")) << full.body;
  EXPECT_EQ(doors.http("GET", "/healthz").status, 200);
}

TEST(HttpLimits, NonsenseIsAnsweredWith400) {
  Doors doors;
  for (const char* text :
       {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "G\x01T / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    RawHttp client(doors.server->http_port());
    client.send(text);
    EXPECT_EQ(client.reply().status, 400) << text;
  }
}

// What another reader could take for the beginning of a second request ends the connection.
TEST(HttpLimits, NothingIsSmuggledBehindARequest) {
  Doors doors;
  const std::string second = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const auto post = [](const std::string& fields) {
    return "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
           fields + "\r\n";
  };
  const std::pair<std::string, int> cases[] = {
      {post("Transfer-Encoding: gzip\r\n"), 501},
      {post("Transfer-Encoding: xchunked\r\n"), 501},
      {post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400},
      {post("Content-Length: 2\r\nContent-Length: 3\r\n") + "{}", 400},
      {post("X: a\r\n Content-Length: 2\r\n"), 400},
      {post("Host: elsewhere\r\n"), 400},
      {post("Content-Length: 0\r\nX: a\nY: b\r\n"), 400},
  };
  for (const auto& [text, status] : cases) {
    RawHttp client(doors.server->http_port());
    client.send(text + second);
    EXPECT_EQ(client.reply().status, status) << text;
    EXPECT_EQ(client.reply().status, 0) << "a second answer to " << text;
  }
}

TEST(HttpLimits, WhatStandsBehindABodyIsNotBelieved) {
  ApiOptions options;
  options.authentication = true;
  Doors doors(std::move(options));
  const std::string admin = doors.secret_of("", Role::admin);
  RawHttp client(doors.server->http_port());
  client.send(
      "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nAuthorization: Bearer " +
      admin + "\r\n\r\n");
  EXPECT_EQ(client.reply().status, 401);
}

// ---- Streams ------------------------------------------------------------------------------------

TEST(Sse, EventsComeAndResume) {
  Doors doors;
  RawHttp client(doors.server->http_port());
  client.send(
      "GET /api/v1/events?user_id=alice&after_sequence=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string text = client.read_until("retry:");
  EXPECT_TRUE(has(text, "Content-Type: text/event-stream"));
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response, "alice").ok());
  text = client.read_until("\"state\":\"COMPLETED\"");
  EXPECT_TRUE(has(text, "\"state\":\"PENDING\""));
  const std::size_t at = text.find("id: ");
  ASSERT_NE(at, std::string::npos);
  const std::string first = text.substr(at + 4, text.find('\n', at) - at - 4);
  RawHttp again(doors.server->http_port());
  const RawReply rest = again.ask("GET", "/api/v1/events?user_id=alice&follow=false", "",
                                  "Last-Event-ID: " + first + "\r\n");
  EXPECT_EQ(rest.status, 200);
  EXPECT_FALSE(has(rest.body, "\"state\":\"PENDING\""));
  EXPECT_TRUE(has(rest.body, "\"state\":\"COMPLETED\"")) << rest.body;
}

TEST(Sse, WhatIsNoLongerKeptIsAProblemNotAStream) {
  Doors doors;
  const RawReply reply = doors.http("GET", "/api/v1/events", "", "Last-Event-ID: 99999999\r\n");
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(has(reply.body, "events_gone")) << reply.body;
  EXPECT_TRUE(has(reply.body, "yet; the events that are kept come after number ")) << reply.body;
}

TEST(Sse, AnIdleStreamIsKeptAlive) {
  ApiOptions options;
  options.http_limits.keep_alive_every = std::chrono::milliseconds(50);
  Doors doors(std::move(options));
  RawHttp client(doors.server->http_port());
  client.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(has(client.read_until(": keep-alive"), ": keep-alive"));
}

TEST(Sse, AStoppingServerEndsTheStream) {
  Doors doors;
  RawHttp client(doors.server->http_port());
  client.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.read_until("retry:");
  std::thread stopper([&] { doors.server->stop(seconds(10)); });
  const std::string text = client.read_until("\r\n0\r\n\r\n");
  EXPECT_TRUE(has(text, "\r\n0\r\n\r\n")) << "it ended in the middle";
  stopper.join();
}

}  // namespace
}  // namespace berth::api::http_door_test
