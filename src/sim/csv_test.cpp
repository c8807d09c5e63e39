// CSV: quotes, empty cells, comments, places.
#include "sim/csv.h"

#include <gtest/gtest.h>

namespace berth::sim::csv_test {
namespace {

std::vector<std::vector<std::string>> rows_of(std::string_view text) {
  Diagnostics diagnostics;
  std::vector<std::vector<std::string>> rows;
  EXPECT_TRUE(for_each_csv_row(text, 0, diagnostics, [&](std::vector<CsvCell>& cells) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const CsvCell& cell : cells)
      row.push_back(cell.text);
  }));
  return rows;
}

using Rows = std::vector<std::vector<std::string>>;

TEST(Csv, CellsAndLines) {
  EXPECT_EQ(rows_of("a,b\n1,\n\n# no row\r\n,2\r\n"), (Rows{{"a", "b"}, {"1", ""}, {"", "2"}}));
  EXPECT_EQ(rows_of("\xef\xbb\xbfx"), (Rows{{"x"}}));
}

TEST(Csv, QuotesKeepCommasAndLines) {
  EXPECT_EQ(rows_of("\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\nx"),
            (Rows{{"a,b", "say \"hi\"", "two\nlines"}, {"x"}}));
}

TEST(Csv, PlacesCountColumnsAndLinesInsideQuotes) {
  Diagnostics diagnostics;
  std::vector<Origin> places;
  for_each_csv_row("a,b\n\"x\ny\",z\n", 3, diagnostics,
                   [&](std::vector<CsvCell>& cells) { places.push_back(cells.back().at); });
  EXPECT_EQ(places, (std::vector<Origin>{{3, 1, 3}, {3, 3, 4}}));
}

TEST(Csv, WhatIsWrittenIsReadAgain) {
  const std::string text = csv_cell("plain") + "," + csv_cell("a,\"b\"\n") + "\n";
  EXPECT_EQ(rows_of(text), (Rows{{"plain", "a,\"b\"\n"}}));
}

}  // namespace
}  // namespace berth::sim::csv_test
