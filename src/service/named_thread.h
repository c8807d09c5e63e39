// A thread with a name, as top, perf and debuggers show it.
#pragma once

#include <thread>
#include <utility>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace berth::service {

// `name`: at most 15 characters; what is longer is not shown.
template <class Run>
std::thread named_thread(const char* name, Run&& run) {
  return std::thread([name, run = std::forward<Run>(run)]() mutable {
    (void)pthread_setname_np(pthread_self(), name);
    run();
  });
}

// For work that may lag: it takes what processor time the others leave, a tenth of theirs when they
// leave none, and the disk when nobody else wants it.
template <class Run>
std::thread background_thread(const char* name, Run&& run) {
  return named_thread(name, [run = std::forward<Run>(run)]() mutable {
    constexpr int kNice = 10;
    // On Linux the priority is the thread's, not the process's.
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
    // As ioprio_set(2) says; <linux/ioprio.h> of newer kernels is not C++.
    constexpr int kWhoProcess = 1;
    constexpr int kClassIdle = 3 << 13;
    (void)syscall(SYS_ioprio_set, kWhoProcess, 0, kClassIdle);
    run();
  });
}

}  // namespace berth::service
