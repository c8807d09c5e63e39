// Server: one `berth serve`: the service, its embedded agent and the API, put together from a
// configuration. Only the composition is here.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "api/server.h"
#include "base/result.h"
#include "config/load_config.h"
#include "main/hardware.h"
#include "main/task_users.h"
#include "service/service.h"

namespace berth::main {

// For tests and benchmarks.
struct ServerTrials {
  double time_scale = 1.0;          // of simulated work; 0: it takes no time
  bool answer_before_sync = false;  // a planted fault
};

class Server {
 public:
  // Recovers, starts everything, and serves when it returns.
  static Result<std::unique_ptr<Server>> start(config::LoadedConfig config,
                                               config::ConfigSources sources,
                                               ServerTrials trials = {});
  ~Server();

  // Reads the configuration again: what can change without a restart does, and is on disk when this
  // returns. A sentence for each change and each refusal.
  Result<v1::ReloadConfigResponse> reload(bool dry_run);

  // Health says no, requests under way are answered, a snapshot is written; tasks go on.
  void stop();

  const config::ServerConfig& config() const { return config_.config; }
  int grpc_port() const { return api_->grpc_port(); }
  int http_port() const { return api_->http_port(); }
  std::string greeting() const;  // lines for people: where it listens, what it has

 private:
  Server(config::LoadedConfig config, config::ConfigSources sources, ServerTrials trials);
  Status find_users();
  Result<TaskUsers> users_for(const config::ServerConfig& config) const;
  Status open_service();
  Status start_agent();
  Status start_api();
  Status wait_for_agent();
  void to_agent(v1::ServerMessage&& message);
  Result<std::optional<agent::TaskUser>> user_of(const std::string& tenant) const;
  v1::GetConfigResponse config_response() const;
  service::Names known_names() const;
  void tell_settings(const service::ControlOutcome& outcome);

  std::mutex reload_mutex_;  // one at a time
  mutable std::mutex config_mutex_;
  config::LoadedConfig config_;  // in force: of what needs a restart, the values of the start
  mutable std::mutex users_mutex_;
  TaskUsers users_;  // under users_mutex_
  const config::ConfigSources sources_;
  const ServerTrials trials_;
  Hardware hardware_;
  std::promise<service::ControlOutcome> configured_;  // by what the service made of the start
  std::vector<std::string> settings_told_;            // for the greeting
  std::unique_ptr<service::Service> service_;
  std::filesystem::path group_root_;  // of the tasks' control groups; empty: none
  std::uint64_t session_ = 0;
  std::mutex agent_mutex_;
  std::condition_variable welcomed_;
  std::optional<std::string> refusal_;    // of the agent; "": it was welcomed
  std::vector<v1::ServerMessage> early_;  // answers to an agent that is still being started
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<api::ApiServer> api_;
  bool stopped_ = false;
};

}  // namespace berth::main
