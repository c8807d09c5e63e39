// Session: the agent's side of agent.proto. It hands each message to the part that carries it out.
//
// Everything here runs on the loop's thread. It knows no sockets: messages come as values, answers
// go to `send`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/gpu_streams.h"
#include "agent/gpu_table.h"
#include "agent/lease_store.h"
#include "agent/leases.h"
#include "agent/loop.h"
#include "agent/models.h"
#include "agent/outputs.h"
#include "agent/processes.h"
#include "agent/reports.h"
#include "agent/worker.h"

namespace berth::agent {

class Session {
 public:
  using Send = Agent::Send;

  // The worker is to be stopped before this is destroyed.
  Session(Loop& loop, Worker& worker, const AgentOptions& options, std::uint64_t incarnation,
          Send send);

  // What earlier incarnations left. Before all else; an error: it cannot be told.
  Result<std::vector<FoundLease>> find_leases() { return store_.find_leases(); }
  // Adopts it, says Hello, and begins to beat.
  void begin(std::vector<FoundLease>&& found);
  void receive(berth::v1::ServerMessage&& message);

  // What nvidia-smi says of the real GPUs. One that is missing twice in a row is reported lost. If
  // it tells nothing at all five times in a row, all are: nobody knows whether they still work.
  void take_readings(const Result<std::vector<GpuReadings>>& readings);

 private:
  berth::v1::AgentMessage hello_of(const std::vector<FoundLease>& found) const;
  void adopt(FoundLease&& found);
  void forget(const berth::v1::Report& report);
  void welcome(const berth::v1::Welcome& message);
  void beat();
  void stop_if_disconnected();
  GpuReadings readings_of(std::uint32_t gpu);
  void report_lost(std::uint32_t gpu, const std::string& why);
  void report_returned(std::uint32_t gpu);
  void miss_all(const std::string& why);

  Loop& loop_;
  Worker& worker_;
  const AgentOptions& options_;
  std::uint64_t incarnation_;
  Send send_;
  GpuTable gpus_;
  GpuStreams streams_;
  LeaseStore store_;
  bool knows_all_ = store_.was_welcomed();
  Processes processes_;
  Outputs outputs_;
  Reports reports_;
  Leases leases_;
  Models models_;
  std::map<std::string, GpuReadings> measured_;  // of the real GPUs, by UUID
  std::vector<int> missed_;                      // readings in a row without this GPU
  std::vector<bool> lost_;                       // as reported last
  int failures_ = 0;                             // readings in a row that failed
  Time renewed_at_{};                            // when the server was last heard to know this node
  Duration renewal_{};                           // how long that holds; zero: for ever
};

}  // namespace berth::agent
