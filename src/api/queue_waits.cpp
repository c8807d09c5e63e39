// See queue_waits.h.
#include "api/queue_waits.h"

#include <algorithm>

namespace berth::api {
namespace {

constexpr std::size_t kVisitedMax = 20'000;

}  // namespace

std::map<std::string, Duration> oldest_waits(const ApiContext& context) {
  const Time now = context.now();
  return context.service.view().read([&](const service::Board& board) {
    std::map<std::string, Duration> waits;
    std::size_t visited = 0;
    board.tasks().each_from(TaskNo{0}, [&](const service::TaskLine& line) {
      if (line.state == core::TaskState::pending) {
        Duration& wait = waits[board.names().queues()[line.card->queue.value].name];
        wait = std::max(wait, now - line.eligible);
      }
      return ++visited < kVisitedMax;
    });
    return waits;
  });
}

}  // namespace berth::api
