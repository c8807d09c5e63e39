// See workers.h.
#include "api/workers.h"

#include <utility>

namespace berth::api {

Workers::Workers(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

Workers::~Workers() { stop(); }

void Workers::post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      jobs_.push_back(std::move(job));
      wake_.notify_one();
      return;
    }
  }
  job();
}

void Workers::after(Clock::duration delay, Job job) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  later_.emplace(Clock::now() + delay, std::move(job));
  wake_.notify_one();
}

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    later_.clear();
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    while (!later_.empty() && later_.begin()->first <= Clock::now()) {
      jobs_.push_back(std::move(later_.begin()->second));
      later_.erase(later_.begin());
    }
    if (!jobs_.empty()) {
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // what it held is let go outside the lock
      lock.lock();
    } else if (stopping_) {
      return;
    } else if (later_.empty()) {
      wake_.wait(lock);
    } else {
      const Clock::time_point due = later_.begin()->first;  // another thread may take it away
      wake_.wait_until(lock, due);
    }
  }
}

}  // namespace berth::api
