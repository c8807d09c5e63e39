// What is UTF-8, and quoting.
#include "api/json_text.h"

#include <gtest/gtest.h>

namespace berth::api::json_text_test {
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
  EXPECT_EQ(json_quoted("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"");
  EXPECT_EQ(json_quoted("h\xc3\xa9"), "\"h\xc3\xa9\"");
  EXPECT_EQ(json_quoted("x\xffy\xc3"), "\"x\xef\xbf\xbdy\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace berth::api::json_text_test
