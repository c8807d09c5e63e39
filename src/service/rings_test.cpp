// What the rings hold back, and for whom there is always room.
#include "service/rings.h"

#include <gtest/gtest.h>

namespace berth::service::rings_test {
namespace {

SubmitCommand submit_of(std::size_t tasks, std::size_t bytes_each) {
  SubmitCommand command;
  for (std::size_t i = 0; i < tasks; ++i) {
    NewTask task;
    task.card = std::make_shared<TaskCard>();
    task.card->spec = std::string(bytes_each, 'x');
    command.tasks.push_back(std::move(task));
  }
  return command;
}

constexpr Rings::Room kRoom{true, true};
constexpr Duration kNoWait{0};

TEST(Rings, AreFullInTasksOrInBytes) {
  Rings rings({.tasks = 10, .task_bytes = 1000, .controls = 1});
  EXPECT_TRUE(rings.offer(submit_of(8, 10)));
  EXPECT_FALSE(rings.offer(submit_of(3, 10)));
  EXPECT_FALSE(rings.offer(submit_of(1, 921)));
  EXPECT_TRUE(rings.offer(submit_of(1, 920)));
  EXPECT_EQ(rings.refused(), 2U);
  EXPECT_EQ(rings.take(kNoWait, kRoom).submits.size(), 2U);
  EXPECT_TRUE(rings.offer(submit_of(1, 5000))) << "into an empty ring any one fits";
  EXPECT_FALSE(rings.offer(submit_of(1, 0)));
}

TEST(Rings, GiveOnlyWhatThereIsRoomFor) {
  Rings rings({.tasks = 10, .task_bytes = 1000, .controls = 1});
  rings.offer(submit_of(1, 1));
  EXPECT_TRUE(rings.offer(ControlCommand{HoldTask{TaskNo{1}}, {}}));
  EXPECT_FALSE(rings.offer(ControlCommand{HoldTask{TaskNo{2}}, {}}));
  rings.push(SessionEnded{7});
  const Rings::Helping first = rings.take(kNoWait, {false, false});
  EXPECT_EQ(first.reports.size(), 1U);
  EXPECT_TRUE(first.controls.empty());
  EXPECT_TRUE(first.submits.empty());
  const Rings::Helping second = rings.take(kNoWait, kRoom);
  EXPECT_EQ(second.controls.size(), 1U);
  EXPECT_EQ(second.submits.size(), 1U);
}

// However many ask, a submit waits for one of them at most.
TEST(Rings, QuestionsComeBehindSubmitsOneWithEachHelping) {
  Rings rings({.questions = 3});
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(rings.offer(ControlCommand{ExplainTask{TaskNo{i}}, {}}));
  EXPECT_FALSE(rings.offer(ControlCommand{ExplainTask{TaskNo{4}}, {}}));
  EXPECT_FALSE(rings.offer(ControlCommand{ReadSignals{}, {}}));
  EXPECT_TRUE(rings.offer(ControlCommand{HoldTask{TaskNo{1}}, {}})) << "a ring of their own";
  rings.offer(submit_of(200, 1));
  rings.offer(submit_of(200, 1));
  rings.offer(submit_of(200, 1));
  const Rings::Helping first = rings.take(kNoWait, kRoom);
  EXPECT_EQ(first.controls.size(), 1U);
  EXPECT_EQ(first.submits.size(), 2U);
  EXPECT_EQ(first.questions.size(), 1U);
  const Rings::Helping second = rings.take(kNoWait, kRoom);
  EXPECT_EQ(second.submits.size(), 1U);
  EXPECT_EQ(second.questions.size(), 1U);
  rings.close();
  EXPECT_TRUE(rings.take(kNoWait, {false, true}).questions.empty());
  EXPECT_EQ(rings.take(kNoWait, kRoom).questions.size(), 1U);
  EXPECT_TRUE(rings.take(kNoWait, kRoom).closed);
}

TEST(Rings, AreClosedWhenTheyAreEmptyToo) {
  Rings rings({});
  rings.offer(submit_of(1, 1));
  rings.close();
  EXPECT_FALSE(rings.offer(submit_of(1, 1)));
  EXPECT_FALSE(rings.take(kNoWait, {true, false}).closed);
  EXPECT_TRUE(rings.take(kNoWait, kRoom).closed);
}

}  // namespace
}  // namespace berth::service::rings_test
