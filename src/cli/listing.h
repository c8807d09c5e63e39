// Listing: a table for people, in aligned columns under a heading, with states in colour.
//
// A command that lists things is a table of columns: each has a title and makes its cell from a
// row. Titles in small letters are the keys of --sort. Texts are made harmless when they are
// printed. The first column is the name that scripts take.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/v1/scheduler.pb.h"

namespace berth::cli {

enum class Colour { none, green, yellow, red, blue, grey };

struct Cell {
  // A text is a cell by itself, so that a row is a list of texts.
  Cell(std::string shown, Colour as = Colour::none)  // NOLINT(google-*)
      : text(std::move(shown)), colour(as) {}
  Cell(const char* shown) : text(shown) {}  // NOLINT(google-*)
  Cell(std::string shown, std::int64_t sorted_by) : text(std::move(shown)), number(sorted_by) {}
  std::string text;
  Colour colour = Colour::none;
  std::optional<std::int64_t> number;  // what it is sorted by; none: its text
};

// Cells that are sorted by their numbers, not by their texts.
Cell count_cell(std::uint64_t count);     // 12,345
Cell integer_cell(std::int64_t integer);  // 12345
Cell age_cell(std::int64_t ms);           // 3m12s
Cell time_cell(std::int64_t ms);          // 250ms
Cell vram_cell(std::int64_t mb);          // 8GB

struct Column {
  std::string_view title;
  bool is_number = false;  // then it is set right
  bool is_wide = false;    // then it is shown only when asked for
};

// A column of rows of this kind: what it is called, and how it makes its cell.
template <class Row>
struct ColumnOf {
  std::string_view title;
  Cell (*cell)(const Row& row, std::int64_t now_unix_ms);
  bool is_number = false;
  bool is_wide = false;
};

// One key of --sort.
struct SortKey {
  std::string column;  // its title in small letters
  bool descends = false;
};
// "queue,-age": by queue, then the highest age first.
std::vector<SortKey> sort_keys(std::span<const std::string> given);

struct Look {
  bool wide = false;
  bool headers = true;
  bool colours = false;
};

class Listing {
 public:
  explicit Listing(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES a cell for each column. An empty text is shown as "-".
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }

  // Puts the rows in the order of the keys; rows that are equal keep theirs, and empty cells come
  // last. Returns what is wrong with the keys; "": nothing.
  std::string sort(std::span<const SortKey> keys);
  // The places that the rows had before they were sorted.
  const std::vector<std::size_t>& order() const { return order_; }

  void print(std::ostream& out, const Look& look) const;
  void print_names(std::ostream& out) const;

 private:
  // The column of each key; a key without one is noted in the error.
  std::vector<std::size_t> columns_of(std::span<const SortKey> keys, std::string& error) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::size_t> order_;
};

// The rows under their columns.
template <class Row>
Listing listing_of(const google::protobuf::RepeatedPtrField<Row>& rows,
                   std::span<const ColumnOf<Row>> columns, std::int64_t now_unix_ms) {
  std::vector<Column> titles;
  for (const ColumnOf<Row>& column : columns)
    titles.push_back({column.title, column.is_number, column.is_wide});
  Listing listing(std::move(titles));
  for (const Row& row : rows) {
    std::vector<Cell> cells;
    for (const ColumnOf<Row>& column : columns)
      cells.push_back(column.cell(row, now_unix_ms));
    listing.add(std::move(cells));
  }
  return listing;
}

// "name   value" lines, for one thing; lines without a value are left out.
class Facts {
 public:
  void add(std::string name, Cell value) { facts_.emplace_back(std::move(name), std::move(value)); }
  void print(std::ostream& out, const Look& look) const;

 private:
  std::vector<std::pair<std::string, Cell>> facts_;
};

// The text in its colour, or as it is.
std::string painted(const std::string& text, Colour colour, bool colours);

// "pending", in the colour of how well that is.
Cell state_cell(v1::TaskState state);
std::string state_name(v1::TaskState state);
// Of a task or an event. One that is being cancelled runs still; here it says what it is about.
template <class Message>
Cell state_cell_of(const Message& message) {
  Cell cell = state_cell(message.state());
  if (message.reason().code() == "cancelling") cell.text = "cancelling";
  return cell;
}
bool has_ended(v1::TaskState state);

// "a, b"
std::string joined(const google::protobuf::RepeatedPtrField<std::string>& names);

}  // namespace berth::cli
