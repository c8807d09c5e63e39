// The arithmetic of reports, and the JSON they become.
#include "sim/report.h"

#include <gtest/gtest.h>

namespace berth::sim::report_test {
namespace {

TEST(Report, PercentilesAreNearestRank) {
  std::vector<double> values;
  EXPECT_EQ(percentile(values, 50), 0.0);
  for (int i = 1; i <= 100; ++i)
    values.push_back(i);
  EXPECT_EQ(percentile(values, 0), 1.0);
  EXPECT_EQ(percentile(values, 50), 50.0);
  EXPECT_EQ(percentile(values, 99), 99.0);
  EXPECT_EQ(percentile(values, 100), 100.0);
  EXPECT_EQ(percentile({4.0}, 99), 4.0);
}

TEST(Report, WaitsAreSummarised) {
  std::vector<double> waits = {30, 10, 20};
  const Waits summary = summarise(waits);
  EXPECT_DOUBLE_EQ(summary.mean, 20.0);
  EXPECT_DOUBLE_EQ(summary.p50, 20.0);
  EXPECT_DOUBLE_EQ(summary.p99, 30.0);
  EXPECT_DOUBLE_EQ(summary.max, 30.0);
}

TEST(Report, SpreadsGoFromLeastToGreatest) {
  const Spread spread = spread_of({5, 1, 3, 2, 4});
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.p5, 1);
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.p95, 5);
  EXPECT_EQ(spread.max, 5);
}

TEST(Json, EscapesAndNests) {
  JsonWriter json(0);
  json.begin_object()
      .member("text", "a\"b\\c\n")
      .member("number", 1.5)
      .member("whole", 3.0)
      .member("count", 7)
      .member("yes", true);
  json.key("list").begin_array().value(1).value("x").end_array();
  json.key("empty").begin_object().end_object().key("nothing").null().end_object();
  EXPECT_EQ(json.text(), R"({"text":"a\"b\\c\u000a","number":1.5,"whole":3,"count":7,"yes":true,)"
                         R"("list":[1,"x"],"empty":{},"nothing":null})");
}

TEST(Json, IndentsForReaders) {
  JsonWriter json;
  json.begin_object().member("a", 1).key("b").begin_array().value(2).end_array().end_object();
  EXPECT_EQ(json.text(), "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
}

TEST(Json, NumbersAreShortAndNeverInfinite) {
  EXPECT_EQ(decimal(0.1 + 0.2), "0.3");
  EXPECT_EQ(decimal(-0.0), "0");
  EXPECT_EQ(decimal(12.0), "12");
  EXPECT_EQ(JsonWriter(0).value(1e308 * 10).text(), "null");
}

}  // namespace
}  // namespace berth::sim::report_test
