// Submitters for fault tests: threads that submit tasks and remember which were acknowledged.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/server_process.h"

namespace berth::faults {

class Load {
 public:
  // Each of the threads submits one task after the other until a call fails or `stop`.
  Load(const support::ServerProcess& server, int threads, std::string prefix,
       std::filesystem::path file)
      : prefix_(std::move(prefix)), file_(std::move(file)) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, i, address = &server] { run(*address, i); });
  }
  ~Load() { stop(); }

  // The ids that were acknowledged.
  std::set<std::string> stop() {
    stopping_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
    const std::lock_guard lock(mutex_);
    return acknowledged_;
  }

 private:
  void run(const support::ServerProcess& server, int number) {
    client::Client client = server.client(std::chrono::seconds(5));
    for (int i = 0; !stopping_; ++i) {
      const std::string id = prefix_ + "-" + std::to_string(number) + "-" + std::to_string(i);
      const auto answer = client.submit(support::append_line_task(id, file_));
      if (answer) {
        const std::lock_guard lock(mutex_);
        acknowledged_.insert(id);
      } else if (answer.failure().code == grpc::StatusCode::UNAVAILABLE ||
                 answer.failure().code == grpc::StatusCode::DEADLINE_EXCEEDED) {
        return;
      }
    }
  }

  const std::string prefix_;
  const std::filesystem::path file_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::set<std::string> acknowledged_;
  std::vector<std::thread> threads_;
};

// Waits until every one of the tasks has ended; names those the server does not know.
std::vector<std::string> wait_for_ends(const support::ServerProcess& server,
                                       const std::set<std::string>& ids);

}  // namespace berth::faults
