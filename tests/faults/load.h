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
  // Each of the threads submits one task after the other until a call fails or `stop`, for the
  // tenants in turn. With `padding` their specs are larger by so many bytes, and the journal grows
  // faster.
  Load(const support::ServerProcess& server, int threads, std::string prefix,
       std::filesystem::path file, std::vector<std::string> tenants = {""}, std::size_t padding = 0)
      : prefix_(std::move(prefix)),
        file_(std::move(file)),
        tenants_(std::move(tenants)),
        padding_(padding, 'x') {
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
      v1::SubmitTaskRequest request = support::append_line_task(id, file_);
      const auto turn = static_cast<std::size_t>(number + i);
      request.mutable_task()->set_user_id(tenants_[turn % tenants_.size()]);
      if (!padding_.empty()) (*request.mutable_task()->mutable_env())["PADDING"] = padding_;
      const auto answer = client.submit(request);
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
  const std::vector<std::string> tenants_;
  const std::string padding_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::set<std::string> acknowledged_;
  std::vector<std::thread> threads_;
};

// Waits until every one of the tasks, each of one of the tenants, has ended; names those the server
// does not know.
std::vector<std::string> wait_for_ends(const support::ServerProcess& server,
                                       const std::set<std::string>& ids,
                                       const std::vector<std::string>& tenants = {""});

}  // namespace berth::faults
