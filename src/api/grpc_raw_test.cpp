// gRPC as a client without our stubs sees it: health, reflection, and what garbage is answered
// with.
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::grpc_raw_test {
namespace {

using testing::Doors;
using Stub = v1::Scheduler::Stub;

grpc::ByteBuffer bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}
std::string text_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

std::string health_of(Doors& doors) {
  grpc::GenericStub stub(doors.channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", bytes(""), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  EXPECT_TRUE(status.ok()) << status.error_message();
  return text_of(answer);
}

TEST(Health, GoesNotServingBeforeTheDoorsClose) {
  Doors doors;
  EXPECT_EQ(health_of(doors), "\x08\x01");
  doors.server->not_serving();
  EXPECT_EQ(health_of(doors), "\x08\x02");
  v1::ServerInfo info;
  EXPECT_TRUE(doors.call(&Stub::GetServerInfo, {}, info).ok());
}

// One call on raw bytes: what it sends, what came back, how it ended.
class RawCall {
 public:
  RawCall(Doors& doors, const std::string& method) : stub_(doors.channel()) {
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(nullptr);
    wait();
  }
  ~RawCall() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  bool send(const std::string& text) {
    call_->Write(bytes(text), nullptr);
    return wait();
  }
  void no_more() {
    call_->WritesDone(nullptr);
    wait();
  }
  std::string receive() {
    grpc::ByteBuffer answer;
    call_->Read(&answer, nullptr);
    return wait() ? text_of(answer) : "";
  }
  grpc::Status end() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    wait();
    return status;
  }

 private:
  bool wait() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
    return ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Fields of a ServerReflectionRequest.
const std::string kListServices("\x3a\x00", 2);
std::string file_with(const std::string& symbol) {
  return std::string("\x22") + static_cast<char>(symbol.size()) + symbol;
}

TEST(Reflection, IsServedAsV1AndAsV1Alpha) {
  Doors doors;
  for (const std::string version : {"v1", "v1alpha"}) {
    RawCall call(doors, "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo");
    ASSERT_TRUE(call.send(kListServices));
    const std::string services = call.receive();
    for (const char* name :
         {"berth.v1.Scheduler", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
          "grpc.reflection.v1alpha.ServerReflection"}) {
      EXPECT_TRUE(has(services, name)) << version << " does not name " << name;
    }
    ASSERT_TRUE(call.send(file_with("berth.v1.Scheduler")));
    EXPECT_TRUE(has(call.receive(), "SubmitTasksRequest")) << version;
    ASSERT_TRUE(call.send(file_with("grpc.reflection.v1.ServerReflection")));
    EXPECT_TRUE(has(call.receive(), ".grpc.reflection.v1.ServerReflectionRequest")) << version;
    call.no_more();
    const grpc::Status status = call.end();
    EXPECT_TRUE(status.ok()) << version << ": " << status.error_message();
  }
}

// ---- What nobody should send --------------------------------------------------------------------

TEST(Garbage, AMethodThatIsNotThereIsNamed) {
  Doors doors;
  RawCall call(doors, "/berth.v1.Scheduler/SubmitTsk");
  const grpc::Status status = call.end();
  EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED);
  EXPECT_EQ(testing::reason_of(status), "unknown_method");
  EXPECT_EQ(status.error_message(),
            "there is no method \"/berth.v1.Scheduler/SubmitTsk\"; did you mean "
            "\"/berth.v1.Scheduler/SubmitTask\"?");
  RawCall elsewhere(doors, "/x.Y/Z");
  const grpc::Status other = elsewhere.end();
  EXPECT_EQ(testing::reason_of(other), "unknown_method");
  EXPECT_EQ(other.error_message(), "there is no method \"/x.Y/Z\"; reflection lists them");
}

TEST(Garbage, AMessageThatCannotBeReadIsABadRequest) {
  Doors doors;
  const std::pair<std::string, std::string> cases[] = {
      {"SubmitTask", "\xff\xff\xff"},
      {"GetTaskStatus", "\x0a\x01\xff"},  // a text that is not UTF-8
      {"TaskEvents", "\xff\xff\xff"},
      {"SubmitTasks", "\xff\xff\xff"},
  };
  for (const auto& [method, garbage] : cases) {
    RawCall call(doors, "/berth.v1.Scheduler/" + method);
    call.send(garbage);
    if (method != "SubmitTasks") call.no_more();
    EXPECT_EQ(call.receive(), "");
    const grpc::Status status = call.end();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << method << status.error_message();
    EXPECT_EQ(testing::reason_of(status), "bad_message") << method;
    EXPECT_TRUE(has(status.error_message(), "not a " + method)) << status.error_message();
  }
}

TEST(Garbage, NoMessageAtAllIsABadRequestToo) {
  Doors doors;
  RawCall call(doors, "/berth.v1.Scheduler/SubmitTask");
  call.no_more();
  const grpc::Status status = call.end();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(testing::reason_of(status), "bad_message") << status.error_message();
}

}  // namespace
}  // namespace berth::api::grpc_raw_test
