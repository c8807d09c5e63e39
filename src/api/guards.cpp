// See guards.h.
#include "api/guards.h"

#include <vector>

namespace berth::api {

std::uint64_t Guards::add(Guard guard, std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  watched_.emplace(next_, Watched{std::move(guard), std::move(wake)});
  return next_++;
}

void Guards::forget(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  watched_.erase(number);
}

// The calls are made outside the lock: one may be the last to know its stream, which then ends and
// is forgotten here.
void Guards::review() {
  std::vector<Watched> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, watched] : watched_)
      all.push_back(watched);
  }
  for (const Watched& watched : all) {
    if (watched.guard()) watched.wake();
  }
}

}  // namespace berth::api
