// Courier: carries what was decided to the agents, after it is durable, in the order of decision.
//
// The release thread notes errands as it applies a group and runs them afterwards. An
// agent's messages wait here until its session has been welcomed. Sessions are opened and closed
// from any thread; output of tasks passes through without touching the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "berth/v1/agent.pb.h"
#include "core/action.h"
#include "service/board.h"
#include "service/group.h"

namespace berth::service {

class Courier {
 public:
  using ToAgent = std::function<void(v1::ServerMessage&&)>;
  using ReadSpec = std::function<Result<std::string>(const TaskCard&)>;

  Courier(std::uint64_t epoch, ReadSpec read_spec)
      : epoch_(epoch), read_spec_(std::move(read_spec)) {}

  // One thing to carry, with what building its message needs.
  struct Errand {
    std::variant<ToAgentMessage, core::BatchStarted, core::StopTask, core::LoadModel,
                 core::EvictModel>
        what;
    std::string agent;
    std::vector<std::string> gpus;  // UUIDs
    v1::Gang gang;                  // of a batch on several GPUs
    std::string queue;
    std::string model;
    std::vector<CardPtr> cards;
    std::vector<std::string> tenants;  // of the cards
    Mib weights{0};
    core::QueueSpec queue_spec;
    std::string work_class;  // of the queue; "": none
    std::string executor;    // likewise
    Time now;
  };
  // Under the view's lock, after the action was applied. Nothing to carry: adds nothing.
  static void note(core::Action& action, Time now, const Board& board,
                   std::vector<Errand>& errands);

  // Outside the lock, on the release thread.
  void run(std::vector<Errand>&& errands);

  std::uint64_t open(ToAgent to_agent);
  void close(std::uint64_t session);
  // Tells the agent that the server knows of it. It waits for no disk: what stops an agent's tasks
  // is a server that is gone, not one that is slow.
  void answer_heartbeat(std::uint64_t session);

  // Output of tasks.
  using LogSink = std::function<bool(const v1::LogData&)>;
  struct LogWish {
    std::string agent;  // of the node where the task runs; "": it has ended, or is not known here
    TaskNo task;
    std::uint32_t attempt = 0;
    bool follow = false;
    std::uint64_t window = 0;  // bytes that may come until `more_log`
  };
  std::uint64_t open_log(const LogWish& wish, LogSink sink);
  void more_log(std::uint64_t log, std::uint64_t bytes);
  void close_log(std::uint64_t log);
  void log_data(const v1::LogData& data);

 private:
  struct Session {
    ToAgent to_agent;
  };
  struct Log {
    std::uint64_t session = 0;
    LogSink sink;
  };

  v1::ServerMessage message_for(Errand& errand) const;
  v1::ServerMessage lease_for(Errand& errand, const core::BatchStarted& batch) const;
  void send_to_agent(const std::string& agent, v1::ServerMessage&& message);
  void send_to_session(ToAgentMessage&& message);
  void send_about_log(std::uint64_t session, const v1::LogRequest& request);

  const std::uint64_t epoch_;
  const ReadSpec read_spec_;

  std::mutex mutex_;
  std::uint64_t next_session_ = 1;
  std::uint64_t next_log_ = 1;
  std::map<std::uint64_t, Session> sessions_;
  std::map<std::string, std::uint64_t> agent_sessions_;           // welcomed, by agent
  std::map<std::string, std::vector<v1::ServerMessage>> unsent_;  // by agent
  std::map<std::uint64_t, Log> logs_;
};

}  // namespace berth::service
