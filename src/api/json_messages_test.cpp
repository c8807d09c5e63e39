// JSON and query parameters into messages.
#include "api/json_messages.h"

#include <gtest/gtest.h>

#include "berth/v1/scheduler.pb.h"

namespace berth::api::json_messages_test {
namespace {

TEST(Query, SetsFieldsByPathAndThoseOfTheFilterByName) {
  v1::ListTasksRequest request;
  for (const auto& [key, value] : query_parameters(
           "page_size=5&ended&group=a%20b&filter.user_id=x+y&states=running&states=FAILED&"
           "labels.k=v&page_token=%7e")) {
    ASSERT_FALSE(set_field(request, key, value)) << key;
  }
  EXPECT_EQ(request.page_size(), 5);
  EXPECT_TRUE(request.ended());
  EXPECT_EQ(request.filter().group(), "a b");
  EXPECT_EQ(request.filter().user_id(), "x y");
  EXPECT_EQ(request.filter().states_size(), 2);
  EXPECT_EQ(request.filter().states(1), v1::FAILED);
  EXPECT_EQ(request.filter().labels().at("k"), "v");
  EXPECT_EQ(request.page_token(), "~");
}

TEST(Query, SaysWhatIsWrong) {
  v1::ListTasksRequest request;
  EXPECT_TRUE(set_field(request, "nothing", "1"));
  EXPECT_TRUE(set_field(request, "page_size", "x"));
  EXPECT_TRUE(set_field(request, "page_size", ""));
  EXPECT_TRUE(set_field(request, "page_size", "99999999999"));
  EXPECT_TRUE(set_field(request, "ended", "perhaps"));
  EXPECT_TRUE(set_field(request, "states", "sleeping"));
  EXPECT_TRUE(set_field(request, "filter", "x"));
  EXPECT_TRUE(set_field(request, "labels", "x"));
  EXPECT_TRUE(set_field(request, "filter.group.x", "x"));
  EXPECT_TRUE(set_field(request, "", "x"));
}

// A message with other bytes in its texts could not be written as JSON any more.
TEST(Query, RefusesTextThatIsNotUtf8) {
  v1::ListTasksRequest request;
  for (const char* query :
       {"group=%ff", "labels.k=%c3", "labels.%80=v", "page_token=%ed%a0%80", "task_ids=%c0%80"}) {
    for (const auto& [key, value] : query_parameters(query))
      EXPECT_TRUE(set_field(request, key, value)) << query;
  }
  EXPECT_EQ(request.filter().ByteSizeLong(), 0U);
  EXPECT_EQ(request.page_token(), "");
  EXPECT_FALSE(set_field(request, "group", "h\xc3\xa9"));
  EXPECT_NE(json_of(request).find("h\xc3\xa9"), std::string::npos);
}

TEST(Json, KeepsTheNamesOfTheProtoAndWritesDefaults) {
  v1::QueueStatus status;
  status.set_name("llm");
  status.set_oldest_wait_ms(5);
  const std::string json = json_of(status);
  EXPECT_NE(json.find("\"oldest_wait_ms\":\"5\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"ready\":\"0\""), std::string::npos) << json;
}

TEST(Json, UnknownFieldsAndBadTextAreRefused) {
  v1::PauseRequest request;
  EXPECT_FALSE(read_json("{\"task_type\":\"llm\"}", request));
  EXPECT_EQ(request.task_type(), "llm");
  EXPECT_TRUE(read_json("{\"taskk\":1}", request));
  EXPECT_TRUE(read_json("{", request));
  EXPECT_TRUE(read_json(std::string(100'000, '['), request));
}

// ---- Bytes as JSON ------------------------------------------------------------------------------

std::string payload_of(const std::string& value) {
  v1::SubmitTaskRequest request;
  const auto problem = read_json(
      R"({"task": {"task_type": "llm", "payload": )" + value + R"(, "labels": {"payload": "x"}}})",
      request);
  return problem ? "refused" : request.task().payload();
}

TEST(JsonBytes, AValueIsItsOwnTextAndAStringIsBase64) {
  EXPECT_EQ(payload_of(R"({"prompt": "h\u00e9, \"x\"", "n": [1, 2.50, null]})"),
            R"({"prompt": "h\u00e9, \"x\"", "n": [1, 2.50, null]})");
  EXPECT_EQ(payload_of("[1,\n {}]"), "[1,\n {}]");
  EXPECT_EQ(payload_of("-1.5e+3"), "-1.5e+3");
  EXPECT_EQ(payload_of("12345678901234567890"), "12345678901234567890");
  EXPECT_EQ(payload_of("true"), "true");
  EXPECT_EQ(payload_of("null"), "");
  EXPECT_EQ(payload_of(R"("aGk=")"), "hi");
}

TEST(JsonBytes, InEachPlaceWhereAPayloadMayStand) {
  v1::SubmitTasksRequest many;
  ASSERT_FALSE(
      read_json(R"({"tasks":[{"task":{"payload":{"a":1}}},{"task":{"payload":[2]}}]})", many));
  EXPECT_EQ(many.tasks(0).task().payload(), R"({"a":1})");
  EXPECT_EQ(many.tasks(1).task().payload(), "[2]");
  v1::SubmitWorkflowRequest workflow;
  ASSERT_FALSE(read_json(R"({"tasks":[{"payload":{"payload":{}}}]})", workflow));
  EXPECT_EQ(workflow.tasks(0).payload(), R"({"payload":{}})");
}

TEST(JsonBytes, WhatIsNoJsonIsRefusedAndOtherFieldsAreAsStrictAsBefore) {
  for (const char* value : {"{\"a\": nonsense}", "{'a': 1}", "[1,]", "{\"a\":1,}", "01", "1.", "+1",
                            "\x01", "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}", "{\"a\" 1}", "tru"}) {
    EXPECT_EQ(payload_of(value), "refused") << value;
  }
  EXPECT_EQ(payload_of(std::string(200, '[') + std::string(200, ']')), "refused");
  EXPECT_EQ(payload_of("{\"a\": \"\xff\"}"), "refused");
  v1::SubmitTaskRequest request;
  EXPECT_TRUE(read_json(R"({"task": {"workdir": {"a": 1}}})", request));
  EXPECT_TRUE(read_json(R"({"task": {"labels": {"payload": {"a": 1}}}})", request));
}

}  // namespace
}  // namespace berth::api::json_messages_test
