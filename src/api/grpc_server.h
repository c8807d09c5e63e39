// GrpcServer: the method table as a gRPC service, with health and reflection.
#pragma once

#include <memory>
#include <string>

#include "api/auth.h"
#include "api/handlers.h"
#include "api/limits.h"
#include "api/tls.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::api {

struct GrpcOptions {
  std::string address;  // "127.0.0.1:50051"; port 0: a free one
  Tls tls;
  int message_bytes_max = static_cast<int>(kConfigurable.max_message);
  int metadata_bytes_max = kGrpcMetadataBytes;
  int streams_max = kGrpcCallsAtOnce;
  bool reflection = true;
};

class GrpcServer {
 public:
  static Result<std::unique_ptr<GrpcServer>> start(const GrpcOptions& options, Handlers& handlers,
                                                   Authenticator& authenticator);
  ~GrpcServer();

  int port() const;
  void set_serving(bool serving);
  // Takes no new calls; those that run may end within `grace`, then they are cut off.
  void stop(Duration grace);

 private:
  struct Parts;
  explicit GrpcServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::api
