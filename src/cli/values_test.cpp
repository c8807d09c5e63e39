// Texts for people and values of flags.
#include "cli/values.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/listing.h"
#include "cli/text.h"

namespace berth::cli::values_test {
namespace {

TEST(Text, AgesGrowCoarser) {
  EXPECT_EQ(age_text(-5), "0s");
  EXPECT_EQ(age_text(12'999), "12s");
  EXPECT_EQ(age_text(192'000), "3m12s");
  EXPECT_EQ(age_text(65'000), "1m05s");
  EXPECT_EQ(age_text(7'500'000), "2h05m");
  EXPECT_EQ(age_text(356'400'000), "4d03h");
  EXPECT_EQ(time_text(250), "250ms");
  EXPECT_EQ(time_text(2'300), "2.3s");
  EXPECT_EQ(time_text(61'000), "1m01s");
  EXPECT_EQ(bytes_text(812), "812 B");
  EXPECT_EQ(bytes_text(3'565'158), "3.4 MiB");
}

TEST(Text, InstantsAreReadAsTheyAreWritten) {
  EXPECT_EQ(parse_instant("1970-01-01T00:00:01Z"), 1000);
  EXPECT_EQ(parse_instant("2026-11-15T12:00:00.25+02:00"), 1'794'736'800'250);
  EXPECT_EQ(instant_text(1'794'736'800'250), "2026-11-15 10:00:00Z");
  EXPECT_EQ(parse_instant("2026-11-15 10:00:00Z"), 1'794'736'800'000);
  for (const char* wrong :
       {"", "2026", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-15T24:00:00Z",
        "2026-11-15T12:00:00", "2026-11-15T12:00:00.Z", "2026-11-15T12:00:00Zx"}) {
    EXPECT_EQ(parse_instant(wrong), std::nullopt) << wrong;
  }
}

TEST(Text, StrangersTextCannotMoveTheCursor) {
  EXPECT_EQ(harmless("größe …"), "größe …");
  EXPECT_EQ(harmless("a\x1b[2Jb\n\tc\x7f"), "a\\x1b[2Jb\\n\\tc\\x7f");
  EXPECT_EQ(harmless("\xc2\x9b"), "\\xc2\\x9b");           // a control character of 8 bits
  EXPECT_EQ(harmless("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // turns the direction of writing
  EXPECT_EQ(harmless("\xff\xc3"), "\\xff\\xc3");           // not UTF-8
  EXPECT_EQ(harmless("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");
}

TEST(Text, AWordOfAShellIsQuotedWhereItNeedsIt) {
  EXPECT_EQ(shell_word("train-1"), "train-1");
  EXPECT_EQ(shell_word("#12"), "'#12'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("\x1b"), "'\\x1b'");
}

TEST(Values, UnitsAreThoseThatPeopleKnow) {
  EXPECT_EQ(*read_size_mb("8GB"), 8192);
  EXPECT_EQ(*read_size_mb("512MB"), 512);
  EXPECT_EQ(*read_duration_ms("90s"), 90'000);
  EXPECT_EQ(*read_duration_ms("5min"), 300'000);
  EXPECT_EQ(*read_share_milli("0.5"), 500);
  EXPECT_EQ(*read_share_milli("50%"), 500);
  EXPECT_EQ(*read_share_milli("12.5%"), 125);
  EXPECT_EQ(*read_share_milli(".125"), 125);
  EXPECT_EQ(*read_share_milli("1"), 1000);
  EXPECT_EQ(*read_cpus_milli("4"), 4000);
  EXPECT_EQ(*read_cpus_milli("0.5"), 500);
  EXPECT_EQ(*read_cpus_milli("1000000"), 1'000'000'000);
  EXPECT_EQ(*read_instant_ms("+10min", 1000), 601'000);
  EXPECT_EQ(*read_pair("a=b=c"), (std::pair<std::string, std::string>("a", "b=c")));
}

TEST(Values, WhatIsWrongIsSaidWithAnExample) {
  EXPECT_EQ(read_size_mb("8").error().message, "expected a size such as 8GB or 512MB, found \"8\"");
  EXPECT_EQ(read_duration_ms("-1s").error().message,
            "expected a duration of 1ms or more, such as 500ms, 90s, 5min or 2h, found \"-1s\"");
  for (const char* wrong : {"", ".", "0", "1.5", "101%", "0.0001", "1.2.3", "x", "99999999999999"})
    EXPECT_FALSE(read_share_milli(wrong)) << wrong;
  EXPECT_EQ(read_cpus_milli("four").error().message,
            "expected a number of CPU cores from 0.001 to 1000000, such as 4 or 0.5, found "
            "\"four\"");
  for (const char* wrong : {"", "0", "-1", "0.0001", "50%", "1000000.001", "99999999999999999999"})
    EXPECT_FALSE(read_cpus_milli(wrong)) << wrong;
  for (const char* wrong : {"", "a", "=b"})
    EXPECT_FALSE(read_pair(wrong)) << wrong;
  EXPECT_FALSE(read_instant_ms("10min", 0));
}

TEST(Listing, ColumnsAlignNumbersRightAndWideOnesHide) {
  Listing listing({{"NAME"}, {"N", true}, {"MORE", false, true}, {"LAST"}});
  listing.add({"a\x1b", "1", "x", ""});
  listing.add({"größe", "1,000", "y", {"bad", Colour::red}});
  std::ostringstream plain;
  listing.print(plain, {});
  EXPECT_EQ(plain.str(),
            "NAME       N  LAST\n"
            "a\\x1b      1  -\n"
            "größe  1,000  bad\n");
  std::ostringstream wide;
  listing.print(wide, {.wide = true, .headers = false, .colours = true});
  EXPECT_EQ(wide.str(),
            "a\\x1b      1  x  -\n"
            "größe  1,000  y  \x1b[31mbad\x1b[0m\n");
  std::ostringstream names;
  listing.print_names(names);
  EXPECT_EQ(names.str(), "a\\x1b\ngröße\n");
}

}  // namespace
}  // namespace berth::cli::values_test
