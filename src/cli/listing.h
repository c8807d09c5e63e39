// Listing: a table for people, in aligned columns under a heading, with states in colour.
//
// Texts are made harmless when they are printed. The first column is the name that scripts take.
#pragma once

#include <initializer_list>
#include <ostream>
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
  std::string text;
  Colour colour = Colour::none;
};

struct Column {
  std::string_view title;
  bool is_number = false;  // then it is set right
  bool is_wide = false;    // then it is shown only when asked for
};

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

  void print(std::ostream& out, const Look& look) const;
  void print_names(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

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
