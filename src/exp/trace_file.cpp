// See trace_file.h.
#include "exp/trace_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "config/files.h"
#include "sim/csv.h"

namespace berth::exp {

std::optional<TraceFile> TraceFile::read(const std::string& path,
                                         config::Diagnostics& diagnostics) {
  std::string problem;
  const std::optional<std::string> text = config::read_whole_file(path, problem);
  TraceFile file;
  file.source_ = diagnostics.add_source(path);
  if (!text) {
    file.error("cannot read the trace: " + problem, diagnostics);
    return std::nullopt;
  }
  const bool is_csv =
      sim::for_each_csv_row(*text, file.source_, diagnostics, [&](std::vector<sim::CsvCell>& row) {
        if (file.columns_.empty()) {
          for (const sim::CsvCell& cell : row)
            file.columns_.push_back(cell.text);
          return;
        }
        if (row.size() != file.columns_.size()) {
          diagnostics.error(row.front().at, "expected " + std::to_string(file.columns_.size()) +
                                                " cells, as in the heading, found " +
                                                std::to_string(row.size()));
          return;
        }
        std::vector<Cell>& cells = file.rows_.emplace_back();
        for (sim::CsvCell& cell : row)
          cells.push_back({std::move(cell.text), cell.at});
      });
  if (!is_csv) return std::nullopt;
  return file;
}

std::size_t TraceFile::position(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  return found == columns_.end() ? kNone : static_cast<std::size_t>(found - columns_.begin());
}

std::vector<std::string> TraceFile::missing(const std::vector<std::string>& columns) const {
  std::vector<std::string> names;
  std::ranges::copy_if(columns, std::back_inserter(names),
                       [&](const std::string& column) { return !has(column); });
  return names;
}

const std::string& TraceFile::text(std::size_t row, std::string_view column) const {
  static const std::string kEmpty;
  const std::size_t at = position(column);
  return at == kNone ? kEmpty : rows_[row][at].text;
}

std::int64_t TraceFile::number(std::size_t row, std::string_view column, std::int64_t low,
                               std::int64_t high, config::Diagnostics& diagnostics) const {
  const std::string& cell = text(row, column);
  std::int64_t value = 0;
  const char* last = cell.data() + cell.size();
  const auto parsed = std::from_chars(cell.data(), last, value);
  const bool is_whole = parsed.ptr == last && parsed.ec == std::errc();
  if (is_whole && value >= low && value <= high) return value;
  error(row, column,
        std::string(column) + ": expected a whole number from " + std::to_string(low) + " to " +
            std::to_string(high) + ", found " + config::quoted(cell),
        diagnostics);
  return 0;
}

void TraceFile::error(std::size_t row, std::string_view column, const std::string& message,
                      config::Diagnostics& diagnostics) const {
  const std::size_t at = position(column);
  diagnostics.error(rows_[row][at == kNone ? 0 : at].at, message);
}

void TraceFile::error(const std::string& message, config::Diagnostics& diagnostics) const {
  diagnostics.error({source_, 0, 0}, message);
}

std::optional<std::vector<std::string>> files_in(const std::string& folder,
                                                 config::Diagnostics& diagnostics) {
  std::error_code problem;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (at->is_regular_file()) names.push_back(at->path().filename().string());
  }
  if (problem) {
    const std::uint32_t source = diagnostics.add_source(folder);
    diagnostics.error({source, 0, 0}, "cannot list the folder of traces: " + problem.message());
    return std::nullopt;
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace berth::exp
