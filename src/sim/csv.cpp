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

  // Reads one line into `cells`; what is wrong with the last of them, or nothing.
  std::string_view read_row(std::vector<CsvCell>& cells) {
    cells.clear();
    while (true) {
      CsvCell& cell = cells.emplace_back();
      cell.at = at_;
      const std::string_view problem = read_cell(cell.text);
      if (!problem.empty() || at_end()) return problem;
      if (step() == '\n') return {};
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

  bool at_end_of_cell() const {
    return at_end() || text_[position_] == ',' || text_[position_] == '\n';
  }

  std::string_view read_cell(std::string& out) {
    const bool is_quoted = !at_end() && text_[position_] == '"';
    if (is_quoted) {
      step();
      while (true) {
        if (at_end()) return "a quote is opened here and never closed";
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
    const std::size_t quoted_size = out.size();
    while (!at_end_of_cell())
      out += step();
    if (out.size() > quoted_size && out.ends_with('\r')) out.pop_back();
    if (is_quoted && out.size() > quoted_size) return "this cell goes on after its closing quote";
    return {};
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
    if (const std::string_view problem = scanner.read_row(cells); !problem.empty()) {
      diagnostics.error(cells.back().at, std::string(problem));
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
