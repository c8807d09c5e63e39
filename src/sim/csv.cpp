// See csv.h.
#include "sim/csv.h"

#include <utility>

namespace berth::sim {
namespace {

// Walks the text once, counting lines and columns.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, std::uint32_t source) : text_(text), at_{source, 1, 1} {}

  bool at_end() const { return position_ == text_.size(); }

  // Reads one line into `cells`; false when a quote stays open.
  bool read_row(std::vector<CsvCell>& cells) {
    cells.clear();
    while (true) {
      CsvCell& cell = cells.emplace_back();
      cell.at = at_;
      if (!read_cell(cell.text)) return false;
      if (at_end()) return true;
      if (step() == '\n') return true;
    }
  }

 private:
  char step() {
    const char c = text_[position_++];
    if (c == '\n') {
      ++at_.line;
      at_.column = 1;
    } else {
      ++at_.column;
    }
    return c;
  }

  bool read_cell(std::string& out) {
    if (!at_end() && text_[position_] == '"') {
      step();
      while (true) {
        if (at_end()) return false;
        const char c = step();
        if (c != '"') {
          out += c;
        } else if (!at_end() && text_[position_] == '"') {
          out += step();
        } else {
          break;
        }
      }
    }
    while (!at_end() && text_[position_] != ',' && text_[position_] != '\n')
      out += step();
    if (out.ends_with('\r')) out.pop_back();
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Origin at_;
};

}  // namespace

bool for_each_csv_row(std::string_view text, std::uint32_t source, Diagnostics& diagnostics,
                      const std::function<void(std::vector<CsvCell>&)>& row) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvScanner scanner(text, source);
  std::vector<CsvCell> cells;
  while (!scanner.at_end()) {
    if (!scanner.read_row(cells)) {
      diagnostics.error(cells.back().at, "a quote is opened here and never closed");
      return false;
    }
    const bool empty = cells.size() == 1 && cells.front().text.empty();
    if (!empty && !cells.front().text.starts_with('#')) row(cells);
  }
  return true;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

}  // namespace berth::sim
