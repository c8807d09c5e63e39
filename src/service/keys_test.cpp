// Keys against a plain map: what is taken, by whom, and until when; and what a key costs.
#include "service/keys.h"

#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace berth::service::keys_test {
namespace {

constexpr Duration kRemember = minutes(10);

TaskCard card(std::uint64_t task, std::string id, std::string request_id = {}) {
  TaskCard made;
  made.task = TaskNo{task};
  made.tenant = TenantId{static_cast<std::uint32_t>(task % 3)};
  made.id = std::move(id);
  made.request_id = std::move(request_id);
  made.digest = task * 7;
  return made;
}

std::vector<std::byte> bytes_of(const Keys& keys) {
  journal::Writer out;
  keys.encode(out);
  return {out.view().begin(), out.view().end()};
}

TEST(Keys, AnswerAsAPlainMapDoesOverALongLife) {
  struct Plain {
    std::uint64_t task = 0;
    Time forget_at = Time::never();
  };
  Rng random(5);
  Keys keys;
  std::map<std::string, Plain> plain;
  std::vector<TaskCard> live;
  Time now{0};
  for (std::uint64_t task = 3; task < 20'000; ++task) {
    now = now + milliseconds(random.between(0, 400));
    const std::string id = "id-" + std::to_string(random.between(0, 3'000));
    const TaskCard made = card(task - task % 3, id, random.between(0, 1) == 0 ? "" : "r" + id);
    const auto known = plain.find(id);
    const bool free = known == plain.end() || known->second.forget_at <= now;
    const Keys::Known* found = keys.find(made.tenant, Keys::Kind::task_id, id, now);
    ASSERT_EQ(found == nullptr, free) << id;
    if (found != nullptr) {
      EXPECT_EQ(found->task.value, known->second.task);
    }
    if (free) {
      TaskCard taken = made;
      taken.task.value = task * 3;
      keys.take(taken);
      plain[id] = {taken.task.value, Time::never()};
      live.push_back(taken);
    }
    if (!live.empty() && random.between(0, 2) > 0) {
      const std::size_t at =
          static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(live.size()) - 1));
      keys.end(live[at].task, now + kRemember);
      plain[live[at].id].forget_at = now + kRemember;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
    keys.forget(now);
    if (task % 2'000 == 0) {
      journal::Writer out;
      keys.encode(out);
      journal::Reader in(out.view());
      Keys again = Keys::decode(in);
      ASSERT_TRUE(in.ok() && in.at_end());
      EXPECT_EQ(bytes_of(again), bytes_of(keys));
      keys = std::move(again);
    }
  }
  for (const TaskCard& one : live)
    keys.end(one.task, now);
  for (int i = 0; i < 1'000; ++i)
    keys.forget(now + kRemember + kRemember);
  EXPECT_EQ(keys.size(), 0u);
}

TEST(Keys, ARequestIdAndAnIdOfTheSameTextAreTwo) {
  Keys keys;
  keys.take(card(3, "same", "other"));
  EXPECT_NE(keys.find(TenantId{0}, Keys::Kind::task_id, "same", Time{0}), nullptr);
  EXPECT_NE(keys.find(TenantId{0}, Keys::Kind::request_id, "other", Time{0}), nullptr);
  EXPECT_EQ(keys.find(TenantId{0}, Keys::Kind::request_id, "same", Time{0}), nullptr);
  EXPECT_EQ(keys.find(TenantId{1}, Keys::Kind::task_id, "same", Time{0}), nullptr);
}

// Half a million tasks of a day, each with two keys.
TEST(Keys, CostAboutFortyBytesEach) {
  Keys keys;
  constexpr std::uint64_t kTasks = 500'000;
  for (std::uint64_t task = 1; task <= kTasks; ++task) {
    keys.take(card(task, "id-" + std::to_string(task), "request-" + std::to_string(task)));
    keys.end(TaskNo{task}, Time{0} + kRemember);
  }
  EXPECT_EQ(keys.size(), 2 * kTasks);
  const double each = static_cast<double>(keys.bytes()) / static_cast<double>(keys.size());
  EXPECT_LT(each, 64) << "40 of the row, and what finds it";
  EXPECT_EQ(bytes_of(keys).size(), 8 + 40 * keys.size());
}

}  // namespace
}  // namespace berth::service::keys_test
