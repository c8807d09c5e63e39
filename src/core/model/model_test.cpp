// The tables of the model: task states and reasons, and the documents that repeat them.
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "core/model/reason.h"
#include "core/model/specs.h"
#include "core/model/task_states.h"

namespace berth::core::model_test {
namespace {

TEST(TaskStates, TheGlossaryRepeatsTheTable) {
  std::ifstream file("docs/glossary.md");
  ASSERT_TRUE(file) << "run from the root of the repository";
  std::stringstream text;
  text << file.rdbuf();
  for (const TaskStateInfo& state : kTaskStates) {
    const std::string row = "| " + std::string(state.name) + " | " +
                            (state.terminal ? "yes" : "no") + " | " + std::string(state.meaning) +
                            " |";
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

TEST(TaskStates, TerminalOnesLeadNowhereAndEveryOtherCanEnd) {
  for (std::size_t from = 0; from < kTaskStates.size(); ++from) {
    bool can_end = false;
    for (std::size_t to = 0; to < kTaskStates.size(); ++to) {
      const bool may = may_step(static_cast<TaskState>(from), static_cast<TaskState>(to));
      if (kTaskStates[from].terminal) {
        EXPECT_FALSE(may);
      }
      can_end |= may && kTaskStates[to].terminal;
    }
    EXPECT_EQ(can_end, !kTaskStates[from].terminal) << kTaskStates[from].name;
  }
  EXPECT_EQ(name_of(TaskState::starting), "starting");
  EXPECT_FALSE(may_step(TaskState::waiting, TaskState::completed));
}

TEST(Speeds, AreThoseOfTheClassAndElseTheGeneralOne) {
  GpuSpec gpu{.speed = Milli{2000}};
  EXPECT_EQ(speed_for(gpu, WorkClassId::none()), Milli{2000});
  EXPECT_EQ(speed_for(gpu, WorkClassId{3}), Milli{2000});
  gpu.class_speeds = {{WorkClassId{1}, Milli{1400}}, {WorkClassId{3}, Milli{700}}};
  EXPECT_EQ(speed_for(gpu, WorkClassId::none()), Milli{2000});
  EXPECT_EQ(speed_for(gpu, WorkClassId{1}), Milli{1400});
  EXPECT_EQ(speed_for(gpu, WorkClassId{2}), Milli{2000});
  EXPECT_EQ(speed_for(gpu, WorkClassId{3}), Milli{700});
}

TEST(Reasons, HaveNamesOfTheirOwnAndASentence) {
  std::set<std::string_view> names;
  for (const ReasonInfo& reason : kReasons) {
    EXPECT_TRUE(names.insert(reason.name).second) << reason.name;
    EXPECT_FALSE(reason.sentence.empty()) << reason.name;
  }
  EXPECT_EQ(info_of(ReasonCode::vram_short).unit, "MiB");
  EXPECT_FALSE(Reason{});
}

// Snapshots hold these numbers.
TEST(Reasons, KeepTheirPlaces) {
  EXPECT_EQ(static_cast<int>(ReasonCode::task_held), 36);
  EXPECT_EQ(static_cast<int>(ReasonCode::gpu_held), 65);
  EXPECT_EQ(static_cast<int>(ReasonCode::not_started), 75);
  EXPECT_EQ(static_cast<int>(ReasonCode::attempt_stopping), 76);
}

}  // namespace
}  // namespace berth::core::model_test
