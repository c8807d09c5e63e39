// Document: a TOML text as a small tree whose every key and value knows where it was written.
//
// It stands between toml++ and the readers, so that values from the file, from `--set` and from the
// cells of a CSV are read, checked and reported by the same code. It knows no key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"

namespace berth::config {

struct Entry;

struct Node {
  enum class Kind : std::uint8_t { table, array, text, integer, real, boolean, date };

  Kind kind = Kind::table;
  Origin at;
  std::string text;
  std::int64_t integer = 0;
  double real = 0.0;
  bool boolean = false;
  std::vector<Node> items;     // of an array
  std::vector<Entry> entries;  // of a table, in the order of the input

  static Node of_text(Origin at, std::string value);
  static Node table_at(Origin at);

  bool is(Kind k) const { return kind == k; }
  // An array whose items are all tables, and which has at least one.
  bool is_array_of_tables() const;

  // The value of a table's key; null if absent.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
};

struct Entry {
  std::string key;
  Origin at;
  Node value;
};

// `the string "x"`, `the integer 3`, `a table`: for messages.
std::string describe(const Node& node);

// The text as a TOML string, in quotes.
std::string toml_string(std::string_view text);

// The text as a TOML key: bare where it can be, else in quotes.
std::string toml_key(std::string_view text);

// Parses a whole TOML text. A syntax error is reported and gives none.
std::optional<Node> parse_document(std::string_view text, std::uint32_t source,
                                   Diagnostics& diagnostics);

// Parses what stands after `=`, as TOML; anything that is no TOML value is taken as a string, so
// that `--set policy.order=fifo` needs no quotes.
Node parse_value(std::string_view text, Origin at);

}  // namespace berth::config
