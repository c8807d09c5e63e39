// What is UTF-8, quoting, and the writer.
#include "base/json.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace berth::json_test {
namespace {

TEST(Utf8, IsOneFormOfEachCharacter) {
  for (const std::string_view good : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                      "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(Quoting, EscapesAndReplaces) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(json_quoted("h\xc3\xa9"), "\"h\xc3\xa9\"");
  EXPECT_EQ(json_quoted("x\xffy\xc3"), "\"x\xef\xbf\xbdy\xef\xbf\xbd\"");
}

TEST(JsonWriter, SeesToCommasAndQuotes) {
  JsonWriter json(0);
  json.begin_object().member("a\"", 1).member("b", std::string("x\ny")).key("c").begin_array();
  json.value(true).null().value(0.25).begin_object().end_object().end_array();
  json.members("d", std::vector<std::string>{"p", "q"}).key("e").raw("[7]").end_object();
  EXPECT_EQ(json.text(),
            R"({"a\"":1,"b":"x\u000ay","c":[true,null,0.25,{}],"d":["p","q"],"e":[7]})");
}

TEST(JsonWriter, IndentsWhatPeopleRead) {
  JsonWriter json;
  json.begin_object().member("a", 1).key("b").begin_array().value(2).end_array().end_object();
  EXPECT_EQ(json.text(), "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
}

}  // namespace
}  // namespace berth::json_test
