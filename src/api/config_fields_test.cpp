// What the file can say of a tenant, a queue or a model can be put too, and what is put is what is
// shown. Lists of fields are compared, so that a new one cannot be forgotten on either side.
#include <algorithm>
#include <set>

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "api/testing/doors.h"
#include "config/load_config.h"
#include "config/quantity.h"

namespace berth::api::config_fields_test {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using testing::Doors;

// Of the file alone: what the name of the message is, and who a tenant's commands run as, which is
// for the administrator of the machine to say.
const std::set<std::string> kOnlyInTheFile = {"name", "unix_user"};

std::set<std::string> keys_of(const std::string& section) {
  std::set<std::string> keys;
  for (const std::string& key : config::known_config_keys()) {
    if (!key.starts_with(section + ".")) continue;
    const std::string name = key.substr(section.size() + 1);
    if (!kOnlyInTheFile.contains(name)) keys.insert(name);
  }
  return keys;
}

std::set<std::string> fields_of(const Descriptor& message) {
  std::set<std::string> names;
  for (int i = 0; i < message.field_count(); ++i)
    names.emplace(config::without_unit_suffix(message.field(i)->name()));
  return names;
}

TEST(ConfigFields, AreTheKeysOfTheFile) {
  EXPECT_EQ(fields_of(*v1::QueueConfig::descriptor()), keys_of("queues"));
  EXPECT_EQ(fields_of(*v1::TenantConfig::descriptor()), keys_of("tenants"));
  EXPECT_EQ(fields_of(*v1::ModelConfig::descriptor()), keys_of("models"));
}

// ---- Every field, put and read back -------------------------------------------------------------

constexpr const char* kQueue = R"({
  "model": "m", "max_batch_size": 7, "max_batch_wait_ms": "20", "adaptive": true,
  "refuse_late": true, "max_gpus": 2.5, "min_gpus": 1.5, "batch_base_ms": "5",
  "batch_per_task_ms": "3", "work_class": "decode", "commands": false, "executor": "process",
  "ranks": "node", "batch_commands": true, "max_queue_size": 11, "max_task_gpus": 3,
  "default_share": 0.5, "default_tolerated_wait_ms": "60000", "default_run_limit_ms": "1000",
  "max_run_limit_ms": "2000"})";
constexpr const char* kTenant = R"({
  "weight": 2.5, "max_queue_size": 9, "token_bucket_size": "17", "token_refill_rate": "5",
  "daily_token_limit": "99", "guaranteed_gpus": 1.5, "max_gpus": 3.5, "isolation": "gpu",
  "tier": 2, "parent": "above", "borrow_gpus": 0.5, "commands": false})";
constexpr const char* kModel = R"({
  "weights_mb": "2000", "vram_per_task_mb": "30", "load_time_ms": "700", "keep_alive_ms": "900"})";

template <class Config>
Config config_of(const char* json) {
  Config config;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &config).ok()) << json;
  return config;
}

// That every field is said, and otherwise than in one that nothing was said of.
void expect_all_said(const Message& put, const Message& otherwise) {
  const auto& reflection = *put.GetReflection();
  for (int i = 0; i < put.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = put.GetDescriptor()->field(i);
    EXPECT_TRUE(reflection.HasField(put, field)) << field->full_name() << " is not put here";
    google::protobuf::util::MessageDifferencer differencer;
    std::unique_ptr<Message> one(put.New());
    std::unique_ptr<Message> other(put.New());
    one->CopyFrom(put);
    other->CopyFrom(otherwise);
    for (int k = 0; k < put.GetDescriptor()->field_count(); ++k) {
      if (k == i) continue;
      reflection.ClearField(one.get(), put.GetDescriptor()->field(k));
      reflection.ClearField(other.get(), put.GetDescriptor()->field(k));
    }
    EXPECT_FALSE(differencer.Compare(*one, *other)) << field->full_name() << " is the default here";
  }
}

// By HTTP in, by gRPC out; `shown(name)` is the config that the status has.
template <class Config, class Shown>
void expect_kept(Doors& doors, const std::string& path, const char* json, const Shown& shown,
                 const char* plain = "{}") {
  for (const char* name : {"plain", "full"}) {
    const std::string config = std::string_view(name) == "full" ? json : plain;
    const testing::RawReply reply = doors.http("PUT", path + name, R"({"config":)" + config + "}");
    ASSERT_EQ(reply.status, 200) << reply.body;
  }
  const auto wanted = config_of<Config>(json);
  const Config kept = shown("full");
  expect_all_said(wanted, shown("plain"));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(kept, wanted))
      << kept.ShortDebugString() << "\ninstead of\n"
      << wanted.ShortDebugString();
}

TEST(ConfigFields, EveryOneIsKeptThatIsPut) {
  Doors doors;
  ASSERT_EQ(doors.http("PUT", "/api/v1/models/m", R"({"config":{"weights_mb":1}})").status, 200);
  ASSERT_EQ(doors.http("PUT", "/api/v1/tenants/above", R"({"config":{"weight":1}})").status, 200);
  using Stub = v1::Scheduler::Stub;
  expect_kept<v1::QueueConfig>(doors, "/api/v1/queues/", kQueue, [&](const char* name) {
    v1::GetQueueStatusRequest request;
    v1::GetQueueStatusResponse response;
    request.set_task_type(name);
    EXPECT_TRUE(doors.call(&Stub::GetQueueStatus, request, response).ok());
    return response.queues(0).config();
  });
  expect_kept<v1::TenantConfig>(doors, "/api/v1/tenants/", kTenant, [&](const char* name) {
    v1::GetTenantStatusRequest request;
    v1::GetTenantStatusResponse response;
    request.set_user_id(name);
    EXPECT_TRUE(doors.call(&Stub::GetTenantStatus, request, response).ok());
    return response.tenants(0).config();
  });
  expect_kept<v1::ModelConfig>(
      doors, "/api/v1/models/", kModel,
      [&](const char* name) {
        v1::GetModelStatusRequest request;
        v1::GetModelStatusResponse response;
        request.set_model(name);
        EXPECT_TRUE(doors.call(&Stub::GetModelStatus, request, response).ok());
        return response.models(0).config();
      },
      R"({"weights_mb":1})");
}

}  // namespace
}  // namespace berth::api::config_fields_test
