// YAML from JSON: shapes, and texts that need quotes.
#include "cli/yaml.h"

#include <gtest/gtest.h>

namespace berth::cli::yaml_test {
namespace {

TEST(Yaml, HasTheShapeOfTheJson) {
  EXPECT_EQ(yaml_of_json(R"({"a": 1, "b": {"c": true, "d": {}}, "e": [], "f": ["x", 2],
                             "g": [{"h": null, "i": [{"j": 1.5}]}, {"k": "l"}], "m": [[1], []]})"),
            "a: 1\n"
            "b:\n"
            "  c: true\n"
            "  d: {}\n"
            "e: []\n"
            "f:\n"
            "- x\n"
            "- 2\n"
            "g:\n"
            "- h: null\n"
            "  i:\n"
            "  - j: 1.5\n"
            "- k: l\n"
            "m:\n"
            "-\n"
            "  - 1\n"
            "- []\n");
  EXPECT_EQ(yaml_of_json("{}"), "{}\n");
  EXPECT_EQ(yaml_of_json("[1]"), "- 1\n");
}

TEST(Yaml, TextsAreQuotedWhereTheyWouldBeSomethingElse) {
  const auto written = [](const std::string& json) {
    const std::string yaml = yaml_of_json("{\"k\": " + json + "}");
    return yaml.substr(3, yaml.size() - 4);
  };
  for (const char* plain : {"train-1", "a b", "8GB", "/data/x", "t-12", "x[0]", "a:b"})
    EXPECT_EQ(written("\"" + std::string(plain) + "\""), plain);
  for (const char* quoted : {"",   "12",   "1.5", "-1",   "2026-11-15", "0x1f", "1e5", "true",
                             "No", "null", "~",   "a: b", "a #b",       "- a",  "a ",  " a",
                             "a:", "&a",   "*",   "@x",   "größe",      "{",    "[a]", "y"})
    EXPECT_EQ(written("\"" + std::string(quoted) + "\""), "\"" + std::string(quoted) + "\"");
  EXPECT_EQ(written(R"("a\nb\"\\")"), R"("a\nb\"\\")") << "an escape of JSON is one of YAML";
  EXPECT_EQ(yaml_of_json(R"({"no": 1})"), "\"no\": 1\n");
}

}  // namespace
}  // namespace berth::cli::yaml_test
