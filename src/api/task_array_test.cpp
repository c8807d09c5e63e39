// Arrays: the tasks that one spec stands for, and what is wrong with it.
#include "api/task_array.h"

#include <gtest/gtest.h>

namespace berth::api::task_array_test {
namespace {

v1::TaskSpec array(const std::string& indices) {
  v1::TaskSpec spec;
  spec.set_task_id("x");
  spec.mutable_command()->add_argv("./train");
  spec.mutable_array()->set_indices(indices);
  spec.mutable_array()->set_at_once(3);
  return spec;
}

std::string ids(const std::string& indices, std::size_t most = 100) {
  const auto tasks = tasks_of_array(array(indices), "task.", most);
  if (const auto* flaws = std::get_if<1>(&tasks)) {
    std::string text;
    for (const FieldFlaw& flaw : *flaws)
      text += flaw.field + ": " + flaw.flaw + "\n";
    return text;
  }
  std::string text;
  for (const v1::TaskSpec& task : std::get<0>(tasks))
    text += task.task_id() + " ";
  return text;
}

TEST(TaskArray, StandsForATaskOfEachIndex) {
  EXPECT_EQ(ids("0-3"), "x[0] x[1] x[2] x[3] ");
  EXPECT_EQ(ids("7"), "x[7] ");
  EXPECT_EQ(ids("1,5,9"), "x[1] x[5] x[9] ");
  EXPECT_EQ(ids("0-30:10,99"), "x[0] x[10] x[20] x[30] x[99] ");
}

TEST(TaskArray, ATaskKnowsItsIndexItsArrayAndTheLimit) {
  const auto tasks = std::get<0>(tasks_of_array(array("4-5"), "task.", 100));
  const v1::TaskSpec& last = tasks.back();
  EXPECT_EQ(last.group(), "x");
  EXPECT_EQ(last.array().indices(), "5");
  EXPECT_EQ(last.array().at_once(), 3U);
  EXPECT_TRUE(is_array(array("4-5")));
  EXPECT_TRUE(is_array(array("4")));
  EXPECT_FALSE(is_array(last)) << "it stands for itself";
}

TEST(TaskArray, SaysWhatIsWrong) {
  const std::string how =
      "\" is not a range of numbers up to a billion: write 0-99, 1,5,9 or 0-30:10\n";
  EXPECT_EQ(ids(""), "task.array.indices: \"" + how);
  for (const std::string part : {"a", "5-3", "1-", "-1", "0-9:0", "3:2", "1-2-3", "9999999999"})
    EXPECT_EQ(ids(part), "task.array.indices: \"" + part + how);
  EXPECT_EQ(ids("1,"), "task.array.indices: \"" + how);
  EXPECT_EQ(ids("0-5,3"), "task.array.indices: \"3\" does not rise: 5 comes before it\n");
  EXPECT_EQ(ids("0-999999999", 100),
            "task.array.indices: there are 1000000000 tasks or more; the limit is 100\n");
}

TEST(TaskArray, IsAGroupOfItsOwnWithAnId) {
  v1::TaskSpec spec = array("0-1");
  spec.clear_task_id();
  spec.set_group("g");
  const auto flaws = std::get<1>(tasks_of_array(spec, "", 100));
  ASSERT_EQ(flaws.size(), 2U);
  EXPECT_EQ(flaws[0].field, "task_id");
  EXPECT_EQ(flaws[1].field, "group");
}

}  // namespace
}  // namespace berth::api::task_array_test
