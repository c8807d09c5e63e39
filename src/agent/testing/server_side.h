// What the agent's tests share: a server's side that collects what the agent sends, and the
// messages it sends itself. For tests only.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent::testing {

// Removed with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-agent-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The messages of one agent, in order. Waiting has a limit, after which the test fails.
class Collector {
 public:
  using Message = berth::v1::AgentMessage;

  void take(Message&& message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    came_.notify_all();
  }

  // The first message not yet looked at that is `wanted`; those before it are passed over.
  Message next(const std::function<bool(const Message&)>& wanted) {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
      for (; seen_ < messages_.size(); ++seen_) {
        if (wanted(messages_[seen_])) return messages_[seen_++];
      }
      if (came_.wait_until(lock, deadline) == std::cv_status::timeout) {
        ADD_FAILURE() << "the agent did not send what was expected";
        return {};
      }
    }
  }

  berth::v1::Hello hello() {
    return next([](const Message& m) { return m.has_hello(); }).hello();
  }
  berth::v1::Heartbeat heartbeat() {
    return next([](const Message& m) { return m.has_heartbeat(); }).heartbeat();
  }
  berth::v1::Report report() {
    return next([](const Message& m) { return m.has_report(); }).report();
  }
  berth::v1::Report report(berth::v1::Report::BodyCase body) {
    return next([body](const Message& m) {
             return m.has_report() && m.report().body_case() == body;
           })
        .report();
  }

  // The outcomes of a lease's tasks, up to its LeaseEnded.
  std::vector<berth::v1::TaskOutcome> outcomes(std::uint64_t lease) {
    std::vector<berth::v1::TaskOutcome> all;
    while (true) {
      const berth::v1::Report told = next([lease](const Message& m) {
                                       return m.report().task_ended().lease() == lease ||
                                              m.report().lease_ended().lease() == lease;
                                     }).report();
      if (told.has_task_ended()) {
        all.push_back(told.task_ended().outcome());
        continue;
      }
      all.insert(all.end(), told.lease_ended().outcomes().begin(),
                 told.lease_ended().outcomes().end());
      return all;
    }
  }

  // All reports so far, whether looked at or not.
  std::vector<berth::v1::Report> reports() {
    const std::lock_guard lock(mutex_);
    std::vector<berth::v1::Report> all;
    for (const Message& message : messages_) {
      if (message.has_report()) all.push_back(message.report());
    }
    return all;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Message> messages_;
  std::size_t seen_ = 0;
};

inline berth::v1::ServerMessage welcome(std::uint64_t acknowledged = 0) {
  berth::v1::ServerMessage message;
  message.mutable_welcome()->set_protocol(1);
  message.mutable_welcome()->set_acknowledged(acknowledged);
  return message;
}

inline berth::v1::ServerMessage acknowledge(std::uint64_t seq) {
  berth::v1::ServerMessage message;
  message.mutable_acknowledge()->set_seq(seq);
  return message;
}

inline berth::v1::ServerMessage stop(std::uint64_t lease, std::uint64_t task_no) {
  berth::v1::ServerMessage message;
  message.mutable_stop()->set_lease(lease);
  message.mutable_stop()->set_task_no(task_no);
  return message;
}

// On the first simulated GPU; its tasks are numbered from 1 and say nothing of their run time.
inline berth::v1::Lease lease_of(std::uint64_t id, int tasks) {
  berth::v1::Lease lease;
  lease.set_id(id);
  lease.set_queue("llm");
  lease.set_model("m");
  lease.set_share_milli(1000);
  lease.add_gpus("SIM-a100-0");
  for (int i = 1; i <= tasks; ++i) {
    berth::v1::LeasedTask& task = *lease.add_tasks();
    task.set_task_no(static_cast<std::uint64_t>(i));
    task.set_task_id("task-" + std::to_string(i));
    task.set_tenant("ada");
    task.set_attempt(1);
    task.mutable_spec()->set_task_type("llm");
  }
  return lease;
}

inline berth::v1::ServerMessage message_of(berth::v1::Lease lease) {
  berth::v1::ServerMessage message;
  *message.mutable_lease() = std::move(lease);
  return message;
}

// An agent on a folder, welcomed.
struct RunningAgent {
  explicit RunningAgent(AgentOptions options) {
    auto started = Agent::start(std::move(options),
                                [this](berth::v1::AgentMessage&& m) { sent.take(std::move(m)); });
    if (!started) {
      ADD_FAILURE() << started.error().message;
      return;
    }
    agent = std::move(*started);
    hello = sent.hello();
  }
  void give(berth::v1::ServerMessage message) { agent->receive(std::move(message)); }
  void give(berth::v1::Lease lease) { agent->receive(message_of(std::move(lease))); }

  Collector sent;
  berth::v1::Hello hello;
  std::unique_ptr<Agent> agent;
};

inline AgentOptions options_in(const std::filesystem::path& folder) {
  AgentOptions options;
  options.folder = folder;
  options.gpus = simulated_gpus();
  options.heartbeat = milliseconds(50);
  return options;
}

}  // namespace berth::agent::testing
