// Lists of ended tasks, part of which the history does not have yet.
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "api/testing/doors.h"
#include "store/layout.h"
#include "store/sqlite.h"

namespace berth::api::ended_list_test {
namespace {

using testing::Doors;
using Stub = v1::Scheduler::Stub;

void cancel(Doors& doors, const std::string& id) {
  v1::CancelTaskRequest request;
  request.set_task_id(id);
  v1::CancelTaskResponse response;
  ASSERT_TRUE(doors.call(&Stub::CancelTask, request, response).ok());
}

// Tasks end, and the history cannot be written from the half on: it has the even ones.
class HalfProjected : public ::testing::Test {
 protected:
  static constexpr int kTasks = 60;

  void SetUp() override {
    doors.pause();
    v1::SubmitTaskResponse response;
    for (int i = 0; i < kTasks; ++i)
      ASSERT_TRUE(doors.submit("a" + std::to_string(i), response).ok());
    for (int i = 0; i < kTasks; i += 2)
      cancel(doors, "a" + std::to_string(i));
    while (doors.running.service().stats().history_lag > 0)
      std::this_thread::yield();
    auto opened = store::Connection::open_to_write(
        store::history_path(doors.running.service().options().data));
    ASSERT_TRUE(opened.ok());
    writer = std::move(*opened);
    ASSERT_TRUE(writer->run("BEGIN IMMEDIATE").ok());
    for (int i = 1; i < kTasks; i += 2)
      cancel(doors, "a" + std::to_string(i));
  }
  void TearDown() override {
    if (!writer) return;
    EXPECT_TRUE(writer->run("ROLLBACK").ok());
  }

  std::vector<std::string> list(v1::ListTasksRequest request) {
    std::vector<std::string> ids;
    do {
      v1::ListTasksResponse page;
      EXPECT_TRUE(doors.call(&Stub::ListTasks, request, page).ok());
      EXPECT_LE(page.tasks_size(), request.page_size());
      for (const v1::TaskStatus& task : page.tasks())
        ids.push_back(task.task_id());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty() && ids.size() < 10 * kTasks);
    return ids;
  }

  Doors doors;
  std::optional<store::Connection> writer;
};

TEST_F(HalfProjected, EveryEndedTaskIsListedOnceWhateverThePageSize) {
  std::vector<std::string> all;
  for (int i = kTasks; i-- > 0;)
    all.push_back("a" + std::to_string(i));
  v1::ListTasksRequest request;
  request.mutable_filter()->add_states(v1::CANCELLED);
  for (const int size : {1, 7, 30, 59, 60, 61, 1000}) {
    request.set_page_size(size);
    EXPECT_EQ(list(request), all) << "page size " << size;
  }
}

TEST_F(HalfProjected, AFilterThatMeansFewFindsThemInBothPlaces) {
  v1::ListTasksRequest request;
  request.set_ended(true);
  request.set_page_size(1);
  for (const char* id : {"a4", "a5", "a59"})
    request.mutable_filter()->add_task_ids(id);
  EXPECT_EQ(list(request), (std::vector<std::string>{"a59", "a5", "a4"}));
}

}  // namespace
}  // namespace berth::api::ended_list_test
