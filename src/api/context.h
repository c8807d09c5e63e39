// ApiContext: what every handler needs: the service, threads, limits, and what main told.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "api/caller.h"
#include "api/guards.h"
#include "api/streams.h"
#include "api/task_spec_reader.h"
#include "api/workers.h"
#include "base/result.h"
#include "berth/v1/scheduler.pb.h"
#include "service/service.h"

namespace berth::api {

inline constexpr std::array<double, 12> kSubmitBoundsS = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                                                          0.05,   0.1,   0.2,   0.5,   1.0,  5.0};

// What the composition root knows and the service does not.
struct MainHooks {
  std::string version;
  bool authentication = false;
  bool simulated_gpus = false;
  std::function<v1::GetConfigResponse()> config;
  std::function<Result<v1::ReloadConfigResponse>(bool dry_run)> reload;
  std::function<Result<v1::BackupResponse>(const std::string& path)> backup;
  std::function<void(const std::string&)> log;
  // Why the commands of a tenant may not run here, and what to do; "": they may. Empty: all may.
  std::function<std::string(const std::string& tenant)> commands_refused;
};

struct ApiContext {
  ApiContext(service::Service& the_service, MainHooks the_hooks, const StreamLimits& streams_most)
      : service(the_service), hooks(std::move(the_hooks)), streams(streams_most) {}

  Time now() const { return service.options().clock(); }
  // How engine time is told to people, as released.
  service::ClockMapped clock() const {
    return service.view().read([](const service::Board& board) { return board.names().clock(); });
  }

  service::Service& service;
  MainHooks hooks;
  SpecLimits limits;
  std::size_t submit_outstanding_max = kSubmitOutstanding;
  Streams streams;
  // Why a caller would no longer be let in; and who listens, to be asked about again and again.
  std::function<std::optional<Problem>(const Caller&)> objection = [](const Caller&) {
    return std::optional<Problem>();
  };
  Guards guards;
  std::atomic<bool> serving{true};
  service::Latency<kSubmitBoundsS> submit_latency;
  const std::int64_t started_unix_ms = service.options().wall_clock() / 1'000'000;
  // Apart, so that what may take long never keeps an answer waiting. Last: their jobs use the rest,
  // so they end first.
  Workers slow{2};     // pulls streams, reloads, copies: reads of the journal and the history
  Workers workers{2};  // HTTP requests
  Workers probes{1};   // whether the server is alive: behind nobody who reads from disk
  Workers replies{1};  // words for what the service answered, and sending them
};

}  // namespace berth::api
