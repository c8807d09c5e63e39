// ApiServer: both doors, opened and closed together. The only header of this layer that main needs,
// beside token_file.h.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/http_server.h"
#include "base/result.h"
#include "base/time.h"
#include "berth/v1/scheduler.pb.h"
#include "service/service.h"

namespace berth::api {

struct ApiOptions {
  std::string grpc_address = "127.0.0.1:50051";  // HOST:PORT; port 0: a free one
  std::string http_address = "127.0.0.1:8080";
  bool authentication = false;
  std::filesystem::path tokens;  // see token_file.h
  TlsFiles tls;
  bool reflection = true;
  HttpLimits http_limits;
  int message_bytes_max = static_cast<int>(kConfigurable.max_message);  // over gRPC
  std::size_t payload_bytes_max = SpecLimits().payload_bytes;
  StreamLimits stream_limits;  // of events, output and submits, over both doors
  std::string version;
  bool simulated_gpus = false;
  std::function<v1::GetConfigResponse()> config;
  std::function<Result<v1::ReloadConfigResponse>(bool dry_run)> reload;
  std::function<Result<v1::BackupResponse>(const std::string& path)> backup;
  std::function<void(const std::string&)> log;
  std::function<std::string(const std::string& tenant)> commands_refused;  // see MainHooks
};

class ApiServer {
 public:
  // Refuses an address other than loopback without TLS and authentication. The service must be
  // started, and must outlive the server.
  static Result<std::unique_ptr<ApiServer>> start(const ApiOptions& options,
                                                  service::Service& service);
  ~ApiServer();

  int grpc_port() const;
  int http_port() const;

  // Health says so at once; requests are still answered, so that those who ask first can go away.
  void not_serving();
  // Takes nothing new, ends streams, lets answers under way end within `grace`.
  void stop(Duration grace);

 private:
  struct Parts;
  explicit ApiServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Whether HOST:PORT can be reached from this machine only.
bool is_loopback_address(const std::string& address);

}  // namespace berth::api
