// A real Service on a temporary folder with a quick agent: threads, journal, history. Tests wait on
// conditions, never on time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/service.h"
#include "service/testing/desk.h"
#include "service/testing/quick_agent.h"

namespace berth::service::testing {

inline Time steady_now() {
  return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count()};
}

class RunningService {
 public:
  // `hardware`: of the agent; none: two GPUs of which nothing more is known.
  explicit RunningService(const std::filesystem::path& data, ServiceOptions options = {},
                          std::optional<v1::Hello> hardware = {})
      : hardware_(std::move(hardware)),
        agent_([this](v1::AgentMessage&& m) { service_->agent_said(session_, std::move(m)); }) {
    options.data = data;
    options.version = "test";
    if (!options.clock) options.clock = steady_now;
    if (!options.wall_clock) options.wall_clock = [] { return steady_now().ns; };
    if (!options.log) options.log = [](const std::string&) {};
    Result<std::unique_ptr<Service>> opened = Service::open(std::move(options));
    if (!opened) {
      error = opened.error().message;
      return;
    }
    service_ = std::move(*opened);
    core::QueueSpec queue;
    queue.max_batch_size = 8;
    service_->configure({DefineQueue{"llm", "", queue}});
    session_ = service_->open_session([this](v1::ServerMessage&& m) {
      const std::lock_guard lock(mutex_);
      inbox_.push_back(std::move(m));
      news_.notify_one();
    });
    service_->start();
    agent_thread_ = std::thread([this] { run_agent(); });
    // Without a GPU every submit is refused as one that can never run.
    const std::size_t gpus = hardware_ ? static_cast<std::size_t>(hardware_->gpus_size()) : 2;
    while (service_->view().read([](const Board& board) { return board.gpus().size(); }) < gpus)
      std::this_thread::yield();
  }
  ~RunningService() { stop(); }

  void stop() {
    if (!service_) return;
    service_->stop();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      news_.notify_one();
    }
    if (agent_thread_.joinable()) agent_thread_.join();
  }

  // Blocks until the answer is there.
  std::vector<SubmitOutcome> submit(std::vector<NewTask> tasks) {
    std::promise<std::vector<SubmitOutcome>> promise;
    std::future<std::vector<SubmitOutcome>> answer = promise.get_future();
    EXPECT_TRUE(service_->offer(
        SubmitCommand{std::move(tasks), false, [&](std::span<const SubmitOutcome> got) {
                        promise.set_value({got.begin(), got.end()});
                      }}));
    return answer.get();
  }
  SubmitOutcome submit(NewTask task) {
    std::vector<NewTask> one;
    one.push_back(std::move(task));
    return submit(std::move(one)).at(0);
  }
  ControlOutcome control(Control what) {
    std::promise<ControlOutcome> promise;
    std::future<ControlOutcome> answer = promise.get_future();
    EXPECT_TRUE(service_->offer(ControlCommand{
        std::move(what), [&](const ControlOutcome& got) { promise.set_value(got); }}));
    return answer.get();
  }
  // Waits until no task is live.
  void settle() const {
    while (service_->view().read([](const Board& board) { return board.tasks().size(); }) > 0)
      std::this_thread::yield();
  }

  Service& service() { return *service_; }
  QuickAgent& agent() { return agent_; }
  std::string error;  // why it did not open

 private:
  void run_agent() {
    if (hardware_) {
      agent_.hello(*hardware_);
    } else {
      agent_.hello(2, 40'000);
    }
    std::unique_lock lock(mutex_);
    while (true) {
      news_.wait(lock, [&] { return stopping_ || !inbox_.empty(); });
      if (stopping_) return;
      v1::ServerMessage message = std::move(inbox_.front());
      inbox_.pop_front();
      lock.unlock();
      agent_.receive(std::move(message));
      lock.lock();
    }
  }

  const std::optional<v1::Hello> hardware_;
  std::unique_ptr<Service> service_;
  std::uint64_t session_ = 0;
  QuickAgent agent_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<v1::ServerMessage> inbox_;
  bool stopping_ = false;
  std::thread agent_thread_;
};

}  // namespace berth::service::testing
