// The language of scenarios itself: a wrong file is explained with file, line and what was
// expected.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/compare.h"
#include "tests/scenarios/driver.h"
#include "tests/scenarios/options.h"
#include "tests/scenarios/script.h"

namespace berth::scenario::language_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    read_script("x.test", text);
  } catch (const ScriptError& error) {
    return error.what();
  }
  return "";
}

TEST(ScenarioLanguage, NamesFileLineAndWhatWasExpected) {
  EXPECT_EQ(error_of("gpu g0 40GB\n"), "x.test:1: expected a line `----` and the log after it");
  EXPECT_EQ(error_of("gpu g0 40\n----\n"), "x.test:1: expected a size such as 40GB");
  EXPECT_EQ(error_of("gpu g0 40GB speeed=2\n----\n"),
            "x.test:1: expected one of island=, kind=, mig=, node=, socket=, speed=, "
            "speed_by_class=, switch=, got `speeed=2`");
  EXPECT_EQ(error_of("queue q wait=5\n----\n"),
            "x.test:1: wait expects a time such as 120ms, 1.5s, 2m or forever, got `5`");
  EXPECT_EQ(error_of("queue q\n0s submit a p\n----\n"),
            "x.test:2: expected the name of a queue (q), got `p`");
  EXPECT_EQ(error_of("queue q\n2s submit a q\n1s submit b q\n----\n"),
            "x.test:3: expected a time not before the line above");
  EXPECT_EQ(error_of("queue q\nsubmit a q\n----\n"), "x.test:2: expected a time before `submit`");
  EXPECT_EQ(error_of("queue q\n0s submit a q\n0s submit a q\n----\n"),
            "x.test:3: expected a new name, `a` is a task");
  EXPECT_EQ(error_of("policy order=lifo\n----\n"),
            "x.test:1: expected one of fair, fifo, round_robin, cost_aware, sticky, slowdown, got "
            "`lifo`");
  EXPECT_THAT(error_of("0s sumbit a q\n----\n"),
              HasSubstr("x.test:1: expected a time or one of policy, node, gpu, tenant"));
}

TEST(ScenarioLanguage, ReadsValuesExactly) {
  EXPECT_EQ(read_duration("12.5ms"), microseconds(12'500));
  EXPECT_EQ(read_duration("2m"), minutes(2));
  EXPECT_EQ(read_duration("forever"), Duration::forever());
  EXPECT_EQ(read_duration("1.5"), std::nullopt);
  EXPECT_EQ(read_vram("17.5GB"), Mib{17'920});
  EXPECT_EQ(read_ratio("0.85"), Milli{850});
  EXPECT_EQ(read_ratio("1.2.3"), std::nullopt);
  EXPECT_THAT(read_names("a,b2..b4,c"), ElementsAre("a", "b2", "b3", "b4", "c"));
  EXPECT_THAT(read_names("a..b"), ElementsAre());
}

TEST(ScenarioLanguage, ShowsWhereLogsDiffer) {
  EXPECT_EQ(difference({"0s  accept a", "", "1s complete a"}, {"0s accept a", "1s   complete a"}),
            "");
  EXPECT_EQ(difference({"0s accept a", "1s complete a"}, {"0s accept a", "2s complete a"}),
            "    0s accept a\n  - 1s complete a\n  + 2s complete a\n");
}

TEST(ScenarioLanguage, WhatNeverComesToRestIsAFault) {
  const Script script =
      read_script("x.test", "gpu g0 40GB\nqueue q\n0s submit a q run=1s takes=9999h\n----\n");
  EXPECT_THAT(play(script).faults, ElementsAre(HasSubstr("a line `TIME stop` ends a scenario")));
}

}  // namespace
}  // namespace berth::scenario::language_test
