// Workers: a few threads for what must not run on the release thread or on a network thread:
// sending replies, reading the history, pulling streams.
//
// post never blocks. Jobs begin in the order they were posted; with several threads they overlap.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::api {

class Workers {
 public:
  using Job = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  explicit Workers(std::size_t threads);
  ~Workers();

  void post(Job job);
  void after(Clock::duration delay, Job job);

  // Does what was posted, forgets what was to come later, ends the threads. Jobs posted from now on
  // are done by the caller of post.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::multimap<Clock::time_point, Job> later_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::api
