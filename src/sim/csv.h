// CSV as RFC 4180 has it: cells with their place, quotes doubled inside quotes. Knows no columns.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading.h"

namespace berth::sim {

struct CsvCell {
  std::string text;
  Origin at;
};

// Calls `row` with the cells of each line that is not empty and does not start with '#'. Returns
// false, with a diagnostic, when a quote is never closed or is not the end of its cell.
bool for_each_csv_row(std::string_view text, std::uint32_t source, Diagnostics& diagnostics,
                      const std::function<void(std::vector<CsvCell>&)>& row);

// The text as one cell: quoted if it must be.
std::string csv_cell(std::string_view text);

}  // namespace berth::sim
