// A row of the history that is damaged or gone is told by its number: no list gets shorter, and no
// task is said not to exist.
#include <string>

#include <gtest/gtest.h>

#include "api/testing/doors.h"
#include "store/layout.h"
#include "store/sqlite.h"

namespace berth::api::damaged_history_test {
namespace {

using testing::Doors;

TEST(DamagedHistory, IsAnErrorThatNamesTheRow) {
  Doors doors;
  v1::SubmitTaskResponse submitted;
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(doors.submit(id, submitted).ok());
    doors.end_of(id);
  }
  while (doors.running.service().stats().history_lag > 0)
    std::this_thread::yield();
  const std::uint64_t damaged = doors.status_of("b").task_no();
  auto other = store::Connection::open_to_write(store::history_path(doors.folder.path() / "data"));
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(
      other
          ->run("UPDATE ended SET wait_ns = wait_ns + 1 WHERE task_no = " + std::to_string(damaged))
          .ok());

  v1::ListTasksRequest all;
  all.set_ended(true);
  v1::ListTasksResponse listed;
  v1::GetTaskStatusRequest one;
  one.set_task_id("b");
  v1::TaskStatus status;
  for (const grpc::Status& answer :
       {doors.call(&v1::Scheduler::Stub::ListTasks, all, listed),
        doors.call(&v1::Scheduler::Stub::GetTaskStatus, one, status)}) {
    EXPECT_EQ(answer.error_code(), grpc::StatusCode::INTERNAL) << answer.error_message();
    EXPECT_EQ(testing::reason_of(answer), "damaged_history");
    EXPECT_NE(answer.error_message().find("the row of task " + std::to_string(damaged)),
              std::string::npos)
        << answer.error_message();
    EXPECT_NE(answer.error_message().find("--rebuild-history"), std::string::npos);
  }
  EXPECT_EQ(doors.status_of("c").state(), v1::COMPLETED) << "others are answered";
}

TEST(DamagedHistory, ARowThatIsGoneIsToldToo) {
  Doors doors;
  v1::SubmitTaskResponse submitted;
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(doors.submit(id, submitted).ok());
    doors.end_of(id);
  }
  while (doors.running.service().stats().history_lag > 0)
    std::this_thread::yield();
  const std::string lost = std::to_string(doors.status_of("b").task_no());
  auto other = store::Connection::open_to_write(store::history_path(doors.folder.path() / "data"));
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other->run("DELETE FROM ended WHERE task_no = " + lost).ok());

  v1::ListTasksRequest all;
  all.set_ended(true);
  v1::ListTasksResponse listed;
  v1::GetTaskStatusRequest one;
  one.set_task_id("b");
  v1::TaskStatus status;
  for (const grpc::Status& answer :
       {doors.call(&v1::Scheduler::Stub::ListTasks, all, listed),
        doors.call(&v1::Scheduler::Stub::GetTaskStatus, one, status)}) {
    EXPECT_EQ(testing::reason_of(answer), "damaged_history") << answer.error_message();
    EXPECT_NE(answer.error_message().find("the row of task " + lost + " is missing"),
              std::string::npos)
        << answer.error_message();
    EXPECT_NE(answer.error_message().find("--rebuild-history"), std::string::npos);
  }
  EXPECT_EQ(doors.status_of("c").state(), v1::COMPLETED) << "others are answered";
}

}  // namespace
}  // namespace berth::api::damaged_history_test
