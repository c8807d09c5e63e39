// gRPC reflection v1, beside the v1alpha of Debian's library: the messages are the same, so each
// question of a client is put to v1alpha, inside the process, and its answer is handed on.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

namespace berth::api {

class ReflectionV1 final : public grpc::Service {
 public:
  ReflectionV1();

  // Before the first call.
  void ask(grpc::Server* server) { server_ = server; }

 private:
  grpc::Server* server_ = nullptr;
};

}  // namespace berth::api
