// TraceFile: a CSV of a public trace, its columns found by the names in its heading.
//
// Knows no trace. Every wrong cell is reported with its place, and reading goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"

namespace berth::exp {

class TraceFile {
 public:
  // None, with a diagnostic, if it cannot be read or is no CSV.
  static std::optional<TraceFile> read(const std::string& path, config::Diagnostics& diagnostics);

  bool has(std::string_view column) const { return position(column) != kNone; }
  // The columns among these that are missing.
  std::vector<std::string> missing(const std::vector<std::string>& columns) const;
  std::size_t rows() const { return rows_.size(); }

  // A cell; "" if there is no such column.
  const std::string& text(std::size_t row, std::string_view column) const;
  // A whole number in the range; 0, with a diagnostic, if the cell is none.
  std::int64_t number(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high,
                      config::Diagnostics& diagnostics) const;
  void error(std::size_t row, std::string_view column, const std::string& message,
             config::Diagnostics& diagnostics) const;
  // An error about the file as a whole.
  void error(const std::string& message, config::Diagnostics& diagnostics) const;

 private:
  struct Cell {
    std::string text;
    config::Origin at;
  };
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t position(std::string_view column) const;

  std::uint32_t source_ = 0;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;  // as many cells as columns
};

// The names of the files in a folder, sorted. None, with a diagnostic, if it cannot be listed.
std::optional<std::vector<std::string>> files_in(const std::string& folder,
                                                 config::Diagnostics& diagnostics);

}  // namespace berth::exp
