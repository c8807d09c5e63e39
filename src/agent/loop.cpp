// The loop itself: epoll over an eventfd, a timerfd and what is watched.
#include "agent/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/assert.h"

namespace berth::agent {
namespace {

void add_to_epoll(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ASSERT(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

void empty_counter(int fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd, &count, sizeof count);
}

}  // namespace

Loop::Loop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      alarm_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  ASSERT(epoll_ >= 0 && wake_ >= 0 && alarm_ >= 0);
  add_to_epoll(epoll_, wake_);
  add_to_epoll(epoll_, alarm_);
}

Loop::~Loop() {
  ::close(epoll_);
  ::close(wake_);
  ::close(alarm_);
}

Time Loop::now() {
  timespec clock{};
  ::clock_gettime(CLOCK_MONOTONIC, &clock);
  return Time{clock.tv_sec * 1'000'000'000 + clock.tv_nsec};
}

void Loop::post(Task task) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (!first) return;  // whoever was first has woken the loop
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(wake_, &one, sizeof one);
}

void Loop::quit() {
  quit_ = true;
  post([] {});
}

void Loop::at(Time due, Task task) {
  timers_.push({due, timer_order_++, std::make_shared<Task>(std::move(task))});
}

void Loop::watch(int fd, Task on_readable) {
  add_to_epoll(epoll_, fd);
  watched_[fd] = std::make_shared<Task>(std::move(on_readable));
}

void Loop::unwatch(int fd) {
  if (watched_.erase(fd) > 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::run() {
  std::array<epoll_event, 64> events;
  while (!quit_) {
    set_alarm();
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    if (count < 0) ASSERT(errno == EINTR);
    for (int i = 0; i < count && !quit_; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == wake_) {
        empty_counter(wake_);
        run_posted();
      } else if (fd == alarm_) {
        empty_counter(alarm_);
        alarm_at_ = Time::never();
      } else if (const auto found = watched_.find(fd); found != watched_.end()) {
        const std::shared_ptr<Task> task = found->second;  // it may unwatch itself
        (*task)();
      }
    }
    run_due_timers();
  }
}

void Loop::run_posted() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) {
    if (quit_) return;
    task();
  }
}

// Only those due at its beginning, so that timers that set timers cannot keep out everything else.
void Loop::run_due_timers() {
  if (timers_.empty()) return;
  const Time now = Loop::now();
  while (!timers_.empty() && timers_.top().due <= now && !quit_) {
    const std::shared_ptr<Task> task = timers_.top().task;
    timers_.pop();
    (*task)();
  }
}

void Loop::set_alarm() {
  const Time due = timers_.empty() ? Time::never() : timers_.top().due;
  if (due == alarm_at_) return;
  alarm_at_ = due;
  itimerspec spec{};  // zero: off
  if (due != Time::never()) {
    const std::int64_t ns = std::max<std::int64_t>(due.ns, 1);
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  ::timerfd_settime(alarm_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace berth::agent
