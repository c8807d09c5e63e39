// See listing.h.
#include "cli/listing.h"

#include <algorithm>
#include <compare>
#include <sstream>

#include "base/assert.h"
#include "cli/table.h"
#include "cli/text.h"
#include "config/diagnostics.h"
#include "config/quantity.h"

namespace berth::cli {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + text : text + space;
}

std::string in_small_letters(std::string_view title) {
  std::string name(title);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

bool is_empty(const Cell& cell) { return cell.text == "-"; }

// Which of two cells comes first; empty ones come last, however the column is turned.
std::strong_ordering compared(const Cell& a, const Cell& b, bool descends) {
  if (is_empty(a) || is_empty(b)) return is_empty(a) <=> is_empty(b);
  const std::strong_ordering upwards =
      a.number && b.number ? *a.number <=> *b.number : a.text.compare(b.text) <=> 0;
  return descends ? 0 <=> upwards : upwards;
}

}  // namespace

Cell count_cell(std::uint64_t count) {
  return {count_text(count), static_cast<std::int64_t>(count)};
}
Cell integer_cell(std::int64_t integer) { return {std::to_string(integer), integer}; }
Cell age_cell(std::int64_t ms) { return {age_text(ms), ms}; }
Cell time_cell(std::int64_t ms) { return {time_text(ms), ms}; }
Cell vram_cell(std::int64_t mb) { return {config::vram_text(mb), mb}; }

std::vector<SortKey> sort_keys(std::span<const std::string> given) {
  std::vector<SortKey> keys;
  for (const std::string& list : given) {
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
      const bool descends = word.starts_with('-');
      keys.push_back({in_small_letters(word.substr(descends ? 1 : 0)), descends});
    }
  }
  return keys;
}

std::vector<std::size_t> Listing::columns_of(std::span<const SortKey> keys,
                                             std::string& error) const {
  std::vector<std::string> names;
  std::string list;
  for (const Column& column : columns_) {
    names.push_back(in_small_letters(column.title));
    list += (list.empty() ? "" : ", ") + names.back();
  }
  std::vector<std::size_t> columns;
  for (const SortKey& key : keys) {
    const auto found = std::ranges::find(names, key.column);
    columns.push_back(static_cast<std::size_t>(found - names.begin()));
    if (found != names.end() || !error.empty()) continue;
    const std::string nearest = config::nearest_name(key.column, names);
    error = "--sort: no column is named " + config::quoted(key.column) +
            (nearest.empty() ? "" : "; did you mean " + config::quoted(nearest) + "?") +
            (nearest.empty() ? "; the columns are " : " The columns are ") + list;
  }
  return columns;
}

std::string Listing::sort(std::span<const SortKey> keys) {
  std::string error;
  const std::vector<std::size_t> columns = columns_of(keys, error);
  if (!error.empty()) return error;
  const auto comes_first = [&](std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t column = columns[i];
      const auto order = compared(rows_[a][column], rows_[b][column], keys[i].descends);
      if (order != 0) return order < 0;
    }
    return false;
  };
  std::ranges::stable_sort(order_, comes_first);
  std::vector<std::vector<Cell>> sorted;
  for (const std::size_t place : order_)
    sorted.push_back(std::move(rows_[place]));
  rows_ = std::move(sorted);
  return {};
}

void Listing::add(std::vector<Cell> row) {
  ASSERT(row.size() == columns_.size());
  for (Cell& cell : row) {
    cell.text = harmless(cell.text);
    if (cell.text.empty()) cell.text = "-";
  }
  order_.push_back(rows_.size());
  rows_.push_back(std::move(row));
}

void Listing::print(std::ostream& out, const Look& look) const {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].is_wide && !look.wide) continue;
    shown.push_back(i);
    if (look.headers) widths[i] = columns_[i].title.size();
    for (const auto& row : rows_)
      widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  const auto print_row = [&](const auto& cell_of) {
    std::string line;
    for (const std::size_t i : shown) {
      const Cell cell = cell_of(i);
      const bool last = i == shown.back();
      const std::string text = last && !columns_[i].is_number
                                   ? cell.text
                                   : padded(cell.text, widths[i], columns_[i].is_number);
      line += (line.empty() ? "" : "  ") + painted(text, cell.colour, look.colours);
    }
    out << line << "\n";
  };
  if (look.headers) print_row([&](std::size_t i) { return Cell(std::string(columns_[i].title)); });
  for (const auto& row : rows_)
    print_row([&](std::size_t i) { return row[i]; });
}

void Listing::print_names(std::ostream& out) const {
  for (const auto& row : rows_)
    out << row.front().text << "\n";
}

void Facts::print(std::ostream& out, const Look& look) const {
  std::size_t widest = 0;
  for (const auto& [name, value] : facts_)
    widest = value.text.empty() ? widest : std::max(widest, width_of(name));
  for (const auto& [name, value] : facts_) {
    if (value.text.empty()) continue;
    out << padded(name, widest + 2, false)
        << painted(harmless(value.text), value.colour, look.colours) << "\n";
  }
}

std::string painted(const std::string& text, Colour colour, bool colours) {
  if (!colours || colour == Colour::none) return text;
  const char* code = "0";
  switch (colour) {
    case Colour::none:
      break;
    case Colour::green:
      code = "32";
      break;
    case Colour::yellow:
      code = "33";
      break;
    case Colour::red:
      code = "31";
      break;
    case Colour::blue:
      code = "34";
      break;
    case Colour::grey:
      code = "90";
      break;
  }
  return "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
}

std::string state_name(v1::TaskState state) {
  return state == v1::TASK_STATE_UNSPECIFIED ? "unknown"
                                             : in_small_letters(v1::TaskState_Name(state));
}

Cell state_cell(v1::TaskState state) {
  Colour colour = Colour::none;
  switch (state) {
    case v1::COMPLETED:
      colour = Colour::green;
      break;
    case v1::RUNNING:
    case v1::STARTING:
      colour = Colour::blue;
      break;
    case v1::PENDING:
      colour = Colour::yellow;
      break;
    case v1::FAILED:
    case v1::EXPIRED:
      colour = Colour::red;
      break;
    case v1::WAITING:
    case v1::CANCELLED:
      colour = Colour::grey;
      break;
    default:
      break;
  }
  return {state_name(state), colour};
}

bool has_ended(v1::TaskState state) {
  return state == v1::COMPLETED || state == v1::FAILED || state == v1::CANCELLED ||
         state == v1::EXPIRED;
}

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string list;
  for (const std::string& name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace berth::cli
