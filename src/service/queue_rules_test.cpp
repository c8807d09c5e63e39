// What a queue says of its tasks: commands apart, defaults and limits; and tasks that change
// queues.
#include <gtest/gtest.h>

#include "service/testing/desk.h"

namespace berth::service::queue_rules_test {
namespace {

using core::TaskState;
using testing::Desk;
using testing::new_task;
using Kind = SubmitOutcome::Kind;

class QueueRules : public ::testing::Test {
 public:
  QueueRules() { desk_.furnish(); }
  ~QueueRules() override {
    EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{}) << "the journal leads elsewhere";
  }

 protected:
  Desk desk_;
};

NewTask task_with_command(const std::string& id) {
  NewTask task = new_task(id);
  task.has_command = true;
  return task;
}

TEST_F(QueueRules, ACommandIsABatchOfItsOwnUnlessItsQueueSaysOtherwise) {
  DefineQueue queue{.name = "llm", .spec = desk_.sequencer.names().queues()[0].spec};
  queue.spec.max_batch_size = 4;
  desk_.control(queue);
  std::vector<NewTask> all;
  for (const char* id : {"a", "b", "c", "d"})
    all.push_back(task_with_command(id));
  desk_.submit(std::move(all), false);
  EXPECT_EQ(desk_.agent.leases.size(), 4U);
  queue.spec.batch_commands = true;
  desk_.control(queue);
  all.clear();
  for (const char* id : {"e", "f", "g", "h"})
    all.push_back(task_with_command(id));
  desk_.submit(std::move(all), true);
  ASSERT_EQ(desk_.agent.leases.size(), 5U);
  EXPECT_EQ(desk_.agent.leases.back().tasks_size(), 4);
}

TEST_F(QueueRules, AQueueSaysWhatItsTasksDoNotSay) {
  DefineQueue queue{.name = "llm", .spec = desk_.sequencer.names().queues()[0].spec};
  queue.defaults = {.share = Milli{250},
                    .tolerated_wait = seconds(30),
                    .run_limit = seconds(60),
                    .max_run_limit = seconds(90)};
  desk_.control(queue);
  NewTask plain = new_task("plain");
  const CardPtr card = plain.card;
  EXPECT_EQ(desk_.submit(std::move(plain)).kind, Kind::accepted);
  EXPECT_EQ(card->run_limit, seconds(60));
  EXPECT_EQ(card->share, Milli{250});
  NewTask says = new_task("says");
  says.says_share = true;
  says.card->run_limit = seconds(80);
  const CardPtr own = says.card;
  EXPECT_EQ(desk_.submit(std::move(says)).kind, Kind::accepted);
  EXPECT_EQ(own->run_limit, seconds(80));
  EXPECT_EQ(own->share, Milli{1000});
  NewTask over = new_task("over");
  over.card->run_limit = seconds(91);
  const SubmitOutcome refused = desk_.submit(std::move(over));
  EXPECT_EQ(refused.kind, Kind::run_limit_over_queue);
  EXPECT_EQ(refused.reason.need, seconds(91).ns);
  EXPECT_EQ(refused.reason.have, seconds(90).ns);
  // A snapshot knows them, too.
  Replayer restored(minutes(24 * 60));
  const Status read = restored.restore(desk_.snapshot());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(restored.board().names().queues()[0].defaults, queue.defaults);
}

TEST_F(QueueRules, ATaskThatWaitsBecomesAnother) {
  desk_.control(DefineQueue{.name = "other"});
  NewTask task = new_task("a");
  task.spec.held = true;
  const TaskNo number = desk_.submit(std::move(task)).task;
  const auto card_of = [&] {
    return desk_.view.read([&](const Board& board) { return board.tasks().find(number)->card; });
  };
  const auto change = [&](const TaskCard& card, const std::string& queue) {
    ChangeTask wanted{number, new_task("a")};
    *wanted.to.card = card;
    wanted.to.card->priority = wanted.to.spec.priority = 7;
    wanted.to.card->spec = "changed";
    wanted.to.queue = queue;
    wanted.to.spec.tolerated_wait = Duration{1};  // which it is not asked to have
    return desk_.control(std::move(wanted));
  };
  const TaskCard before = *card_of();
  EXPECT_EQ(change(before, "nowhere").submit.kind, Kind::unknown_queue);
  EXPECT_EQ(change(before, "other").kind, ControlOutcome::Kind::done);
  EXPECT_EQ(card_of()->priority, 7);
  EXPECT_EQ(card_of()->spec, "changed");
  EXPECT_EQ(card_of()->id, "a");
  desk_.view.read([&](const Board& board) {
    EXPECT_EQ(board.queues()[0].waiting, 0U);
    EXPECT_EQ(board.queues()[1].waiting, 1U);
    return 0;
  });
  desk_.control(ReleaseTask{number});
  EXPECT_EQ(desk_.ended.at(0).state, TaskState::completed);
  EXPECT_EQ(change(before, "other").reason.code, core::ReasonCode::unknown_task);
}

// An array begins its group: the group's limit is what its first task says.
TEST_F(QueueRules, AnArrayIsAGroupOfItsOwnAndKeepsItsLimit) {
  desk_.agent.finishes_at_once = false;
  const auto member = [](const std::string& id) {
    NewTask task = task_with_command(id);
    task.card->group_name = "x";
    task.in_array = true;
    task.spec.at_once = 2;
    return task;
  };
  std::vector<NewTask> array;
  for (const char* id : {"x[0]", "x[1]", "x[2]"})
    array.push_back(member(id));
  EXPECT_EQ(desk_.submit(std::move(array), true).front().kind, Kind::accepted);
  EXPECT_EQ(desk_.agent.leases.size(), 2U);
  std::vector<NewTask> more;
  more.push_back(member("x[3]"));
  const SubmitOutcome refused = desk_.submit(std::move(more), true).front();
  EXPECT_EQ(refused.kind, Kind::group_in_use);
  EXPECT_EQ(refused.what, "x");
}

}  // namespace
}  // namespace berth::service::queue_rules_test
