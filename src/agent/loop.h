// Loop: one thread's events: tasks posted by others, timers, files that can be read.
//
// Knows nothing of leases. All but post() and quit() belong to the thread that is in run().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "base/time.h"

namespace berth::agent {

class Loop {
 public:
  using Task = std::function<void()>;

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  // The clock of all timers: it never runs backwards and means nothing outside this boot.
  static Time now();

  // Any thread. Tasks run in the order of their posting; after quit() they are dropped.
  void post(Task task);
  void quit();

  // Runs `task` once, at `due` or as soon after as the loop gets to it. Equal instants: in order.
  void at(Time due, Task task);
  void after(Duration delay, Task task) { at(now() + delay, std::move(task)); }

  // Runs `on_readable` whenever `fd` can be read, until unwatch. The caller keeps and closes fd.
  void watch(int fd, Task on_readable);
  void unwatch(int fd);

  // Until quit().
  void run();

 private:
  struct Timer {
    Time due;
    std::uint64_t order;
    std::shared_ptr<Task> task;
    bool operator<(const Timer& other) const {  // std::priority_queue puts the largest first
      return due != other.due ? due > other.due : order > other.order;
    }
  };

  void run_posted();
  void run_due_timers();
  void set_alarm();

  int epoll_ = -1;
  int wake_ = -1;   // eventfd: something was posted
  int alarm_ = -1;  // timerfd: the first timer is due
  std::atomic<bool> quit_ = false;
  std::mutex mutex_;
  std::vector<Task> posted_;
  std::priority_queue<Timer> timers_;
  std::uint64_t timer_order_ = 0;
  Time alarm_at_ = Time::never();
  std::map<int, std::shared_ptr<Task>> watched_;
};

}  // namespace berth::agent
