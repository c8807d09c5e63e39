// The oldest pending task against a plain list of them, over random histories.
#include "service/pending_line.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace berth::service::pending_line_test {
namespace {

// What the board knows of its tasks.
struct Known {
  std::map<TaskNo, Time> pending;
  PendingLine line;

  void join(std::uint64_t task, std::int64_t since) {
    pending[TaskNo{task}] = Time{since};
    line.join(Time{since}, TaskNo{task});
  }
  void leave(std::uint64_t task) {
    pending.erase(TaskNo{task});
    line.leave(TaskNo{task}, [&](TaskNo other, Time since) {
      const auto at = pending.find(other);
      return at != pending.end() && at->second == since;
    });
  }
  std::optional<Time> oldest() const {
    std::optional<Time> first;
    for (const auto& [task, since] : pending)
      first = first ? std::min(*first, since) : since;
    return first;
  }
};

TEST(PendingLine, KnowsTheOldestWhoeverLeaves) {
  Known known;
  EXPECT_EQ(known.line.oldest(), std::nullopt);
  for (std::uint64_t task = 1; task <= 3; ++task)
    known.join(task, static_cast<std::int64_t>(10 * task));
  known.leave(2);
  EXPECT_EQ(known.line.oldest(), Time{10});
  known.leave(1);
  EXPECT_EQ(known.line.oldest(), Time{30});
  known.join(1, 10);  // put back: it waits since then
  EXPECT_EQ(known.line.oldest(), Time{10});
  known.leave(1);
  known.leave(3);
  EXPECT_EQ(known.line.oldest(), std::nullopt);
}

TEST(PendingLine, AgreesWithAListOverRandomHistories) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    Known known;
    std::int64_t now = 0;
    for (int step = 0; step < 2'000; ++step) {
      const std::uint64_t task = random() % 200;
      now += static_cast<std::int64_t>(random() % 3);
      if (known.pending.contains(TaskNo{task})) {
        known.leave(task);
      } else {
        const bool put_back = random() % 8 == 0;
        known.join(task, put_back ? static_cast<std::int64_t>(random() % (now + 1)) : now);
      }
      ASSERT_EQ(known.line.oldest(), known.oldest()) << "round " << round << " step " << step;
    }
  }
}

TEST(PendingLine, OneOldTaskKeepsNoneOfTheOthersInMemory) {
  Known known;
  known.join(0, 0);
  for (std::uint64_t task = 1; task <= 100'000; ++task) {
    known.join(task, static_cast<std::int64_t>(task));
    known.leave(task);
  }
  EXPECT_EQ(known.line.oldest(), Time{0});
  EXPECT_LT(known.line.entries(), 100U);
}

}  // namespace
}  // namespace berth::service::pending_line_test
