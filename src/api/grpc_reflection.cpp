// See grpc_reflection.h.
#include "api/grpc_reflection.h"

#include <chrono>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/server_callback.h>

namespace berth::api {
namespace {

constexpr const char* kMethod = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
constexpr const char* kAlphaMethod =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr std::chrono::seconds kPatience{5};
const std::string kAlpha = ".grpc.reflection.v1alpha.";
const std::string kStable = ".grpc.reflection.v1.";

void rename(std::string& type) {
  if (type.starts_with(kAlpha)) type.replace(0, kAlpha.size(), kStable);
}

// So that reflection can describe v1 itself: v1alpha's file under the other name. Once for the
// process; the bytes are never given back.
void describe_stable() {
  using google::protobuf::DescriptorPool;
  static const std::string kBytes = [] {
    const auto* alpha = DescriptorPool::generated_pool()->FindFileContainingSymbol(
        "grpc.reflection.v1alpha.ServerReflection");
    if (alpha == nullptr) return std::string();
    google::protobuf::FileDescriptorProto file;
    alpha->CopyTo(&file);
    file.set_name("grpc/reflection/v1/reflection.proto");
    file.set_package("grpc.reflection.v1");
    for (auto& message : *file.mutable_message_type())
      for (auto& field : *message.mutable_field())
        if (field.has_type_name()) rename(*field.mutable_type_name());
    for (auto& service : *file.mutable_service()) {
      for (auto& method : *service.mutable_method()) {
        rename(*method.mutable_input_type());
        rename(*method.mutable_output_type());
      }
    }
    return file.SerializeAsString();
  }();
  // Once: the pool keeps no copy of the bytes.
  [[maybe_unused]] static const bool kIsAdded = [] {
    if (kBytes.empty()) return false;
    DescriptorPool::InternalAddGeneratedFile(kBytes.data(), static_cast<int>(kBytes.size()));
    return true;
  }();
}

// One question to v1alpha and its answer. It waits: the answer comes from descriptors in memory.
// Not by callbacks: the last channel that uses them may not end on a thread of theirs.
grpc::Status ask_alpha(grpc::Server& server, const grpc::ByteBuffer& question,
                       grpc::ByteBuffer& answer) {
  grpc::GenericStub stub(server.InProcessChannel({}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  grpc::CompletionQueue queue;
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, kAlphaMethod, &queue);
  call->StartCall(nullptr);
  bool is_good = wait();
  if (is_good) {
    call->WriteLast(question, {}, nullptr);
    is_good = wait();
  }
  if (is_good) {
    call->Read(&answer, nullptr);
    is_good = wait();
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  queue.Shutdown();
  while (wait()) {
  }
  if (status.ok() && !is_good) return {grpc::StatusCode::UNAVAILABLE, "reflection gave no answer"};
  return status;
}

class Conversation final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Conversation(grpc::Server& server) : server_(server) { StartRead(&question_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    answer_.Clear();
    const grpc::Status status = ask_alpha(server_, question_, answer_);
    if (!status.ok()) return Finish(status);
    StartWrite(&answer_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&question_);
  }
  void OnDone() override { delete this; }

 private:
  grpc::Server& server_;
  grpc::ByteBuffer question_;
  grpc::ByteBuffer answer_;
};

}  // namespace

ReflectionV1::ReflectionV1() {
  describe_stable();
  AddMethod(new grpc::internal::RpcServiceMethod(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                 nullptr));
  MarkMethodRawCallback(
      0, new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
             [this](grpc::CallbackServerContext*) { return new Conversation(*server_); }));
}

}  // namespace berth::api
