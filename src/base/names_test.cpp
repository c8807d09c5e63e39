// The one rule for names.
#include "base/names.h"

#include <gtest/gtest.h>

namespace berth::names_test {
namespace {

TEST(Names, AreShortAndPrintable) {
  for (const std::string& good :
       {std::string("a"), std::string("a b/c:d"), std::string("{~}"), std::string(kNameMax, 'x')}) {
    EXPECT_EQ(flaw_in_name(good), "") << good;
  }
  EXPECT_EQ(flaw_in_name(""), "must not be empty");
  EXPECT_EQ(flaw_in_name(std::string(kNameMax + 1, 'x')), "has 201 characters; the limit is 200");
  for (const char* bad : {"a\n", "\x7f", "h\xc3\xa9"}) {
    EXPECT_EQ(flaw_in_name(bad), "may contain printable ASCII characters only") << bad;
  }
  for (const char* bad : {" a", "a "}) {
    EXPECT_EQ(flaw_in_name(bad), "must not begin or end with a space") << bad;
  }
}

}  // namespace
}  // namespace berth::names_test
