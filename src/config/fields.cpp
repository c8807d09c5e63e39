// See fields.h.
#include "config/fields.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/names.h"
#include "config/notes.h"

namespace berth::config {
namespace {

Unit unit_of(const NumberType& type) {
  if (type.kind == NumberType::Kind::bytes) return Unit::bytes;
  return type.kind == NumberType::Kind::time ? Unit::time : Unit::vram;
}

bool has_unit(const NumberType& type) {
  return type.kind != NumberType::Kind::integer && type.kind != NumberType::Kind::decimal;
}

std::string decimal_text(std::int64_t value, std::int64_t scale) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.10g",
                static_cast<double>(value) / static_cast<double>(scale));
  return buffer;
}

// How messages speak of a unit.
struct UnitWords {
  std::string all;
  std::string example;
  std::string example_suffix;
};

UnitWords words_of(Unit unit) {
  switch (unit) {
    case Unit::time:
      return {"ns, us, ms, s, min, h or d", "ms", "_ms"};
    case Unit::vram:
      return {"MB, GB or TB", "GB", "_gb"};
    case Unit::bytes:
      break;
  }
  return {"B, KiB, MiB or GiB", "MiB", "_mb"};
}

}  // namespace

std::string toml_of(std::int64_t value, const NumberType& type) {
  switch (type.kind) {
    case NumberType::Kind::integer:
      return std::to_string(value);
    case NumberType::Kind::decimal:
      return decimal_text(value, type.scale);
    case NumberType::Kind::time:
      return "\"" + duration_text(value) + "\"";
    case NumberType::Kind::vram:
    case NumberType::Kind::memory:
      return "\"" + vram_text(value) + "\"";
    case NumberType::Kind::bytes:
      return "\"" + bytes_text(value) + "\"";
  }
  return {};
}

std::string name_expectation() {
  return "a name of 1 to " + std::to_string(kNameMax) +
         " printable ASCII characters, no space at either end";
}

bool is_name(std::string_view text) { return flaw_in_name(text).empty(); }

std::string expectation(const NumberType& type) {
  switch (type.kind) {
    case NumberType::Kind::integer:
      return "an integer from " + std::to_string(type.low) + " to " + std::to_string(type.high);
    case NumberType::Kind::decimal:
      return "a number from " + decimal_text(type.low, type.scale) + " to " +
             decimal_text(type.high, type.scale);
    case NumberType::Kind::time:
      return "a duration such as \"120ms\", from " + duration_text(type.low) + " to " +
             duration_text(type.high);
    case NumberType::Kind::vram:
      return "an amount of VRAM such as \"8GB\", from " + vram_text(type.low) + " to " +
             vram_text(type.high);
    case NumberType::Kind::memory:
      return "an amount of memory such as \"64GB\", from " + vram_text(type.low) + " to " +
             vram_text(type.high);
    case NumberType::Kind::bytes:
      return "a size such as \"64MiB\", from " + bytes_text(type.low) + " to " +
             bytes_text(type.high);
  }
  return "a number";
}

std::string with_article(std::string_view noun) {
  const bool vowel = !noun.empty() && std::string_view("aeiou").find(noun.front()) != noun.npos;
  return (vowel ? "an " : "a ") + std::string(noun);
}

TableReader::TableReader(const Node& table, std::string path, Diagnostics& diagnostics,
                         std::string block)
    : table_(table), path_(std::move(path)), block_(std::move(block)), diagnostics_(diagnostics) {}

std::string TableReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const Node* TableReader::take(std::string_view key) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
  if (diagnostics_.notes() != nullptr) diagnostics_.notes()->keys.insert(path_of(key));
  return table_.find(key);
}

const Node* TableReader::require(std::string_view key, std::string_view expected_text) {
  const Node* node = take(key);
  if (node == nullptr) {
    error(key, "missing " + path_of(key) + ": expected " + std::string(expected_text));
  }
  return node;
}

bool TableReader::has_number(std::string_view key) const {
  if (has(key)) return true;
  return std::ranges::any_of(table_.entries, [&](const Entry& entry) {
    return entry.key != key && without_unit_suffix(entry.key) == key;
  });
}

Origin TableReader::origin_of(std::string_view key) const {
  const Node* node = table_.find(key);
  return node == nullptr ? table_.at : node->at;
}

void TableReader::error(std::string_view key, std::string message) {
  diagnostics_.error(origin_of(key), std::move(message));
}

void TableReader::expected(std::string_view key, const Node& found, std::string_view what,
                           std::string_view hint) {
  diagnostics_.error(found.at, path_of(key) + ": expected " + std::string(what) + ", found " +
                                   describe(found) + std::string(hint));
}

void TableReader::note(std::string_view key, const Node* found, std::string value) {
  if (diagnostics_.notes() == nullptr) return;
  std::optional<Origin> at;
  if (found != nullptr) at = found->at;
  diagnostics_.notes()->values.push_back({path_, block_, std::string(key), std::move(value), at});
}

void TableReader::note_number(std::string_view key, const Node* found,
                              std::optional<std::int64_t> value, const NumberType& type) {
  if (diagnostics_.notes() == nullptr) return;
  if (!value) return note(key, found, "");
  for (const UnitName& unit :
       has_unit(type) ? units_of(unit_of(type)) : std::span<const UnitName>()) {
    if (type.shown_with.empty() || unit.suffix != type.shown_with) continue;
    const std::string number = exact_decimal(*value, unit.factor);
    if (!number.empty()) return note(std::string(key) + std::string(unit.suffix), found, number);
  }
  note(key, found, toml_of(*value, type));
}

bool TableReader::text(std::string_view key, std::string& out) {
  const Node* node = take(key);
  const bool found = node != nullptr && node->is(Node::Kind::text);
  if (found) out = node->text;
  if (node != nullptr && !found) expected(key, *node, "a string");
  note(key, node, out.empty() ? "" : toml_string(out));
  return found;
}

bool TableReader::name(std::string_view key, std::string& out) {
  std::string value = out;
  if (!text(key, value)) return false;
  if (!is_name(value)) {
    expected(key, *table_.find(key), name_expectation());
    return false;
  }
  out = std::move(value);
  return true;
}

bool TableReader::required_name(std::string_view key, std::string& out) {
  if (!has(key)) {
    require(key, "a name");
    return false;
  }
  return name(key, out);
}

bool TableReader::boolean(std::string_view key, bool& out) {
  const Node* node = take(key);
  const bool found = node != nullptr && node->is(Node::Kind::boolean);
  if (found) out = node->boolean;
  if (node != nullptr && !found) expected(key, *node, "true or false");
  note(key, node, out ? "true" : "false");
  return found;
}

bool TableReader::fraction(std::string_view key, double& out, double high) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  double value = -1.0;
  if (node->is(Node::Kind::real)) value = node->real;
  if (node->is(Node::Kind::integer)) value = static_cast<double>(node->integer);
  if (!(value >= 0.0 && value <= high)) {
    char what[60];
    std::snprintf(what, sizeof what, "a number from 0 to %g", high);
    expected(key, *node, what);
    return false;
  }
  out = value;
  return true;
}

bool TableReader::choice(std::string_view key, std::span<const std::string> names,
                         std::size_t& out) {
  const Node* node = take(key);
  const auto found = node != nullptr && node->is(Node::Kind::text)
                         ? std::ranges::find(names, node->text)
                         : names.end();
  if (found != names.end()) {
    out = static_cast<std::size_t>(found - names.begin());
  } else if (node != nullptr) {
    std::string what = "one of";
    for (const std::string& candidate : names) {
      what += (candidate == names.front() ? " \"" : ", \"") + candidate + "\"";
    }
    const std::string nearest =
        node->is(Node::Kind::text) ? nearest_name(node->text, names) : std::string();
    expected(key, *node, what,
             nearest.empty() ? std::string() : "; did you mean " + quoted(nearest) + "?");
  }
  note(key, node, toml_string(names[out]));
  return found != names.end();
}

std::optional<std::size_t> TableReader::find_name(std::string_view key, const Node& node,
                                                  std::string_view noun,
                                                  std::span<const std::string> names) {
  if (!node.is(Node::Kind::text)) {
    expected(key, node, "the name of " + with_article(noun));
    return std::nullopt;
  }
  const auto found = std::ranges::find(names, node.text);
  if (found == names.end()) {
    diagnostics_.error(node.at, path_of(key) + ": no " + std::string(noun) + " is named " +
                                    quoted(node.text) + suggestion(node.text, names));
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - names.begin());
}

bool TableReader::reference(std::string_view key, std::string_view noun,
                            std::span<const std::string> names, std::size_t& out) {
  const Node* node = take(key);
  if (node == nullptr) {
    note(key, node, "");
    return false;
  }
  const std::optional<std::size_t> found = find_name(key, *node, noun, names);
  if (found) out = *found;
  if (found) note(key, node, toml_string(names[*found]));
  return found.has_value();
}

bool TableReader::references(std::string_view key, std::string_view noun,
                             std::span<const std::string> names, std::vector<std::size_t>& out) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->is(Node::Kind::text)) {
    const std::optional<std::size_t> found = find_name(key, *node, noun, names);
    if (found) out.push_back(*found);
    return found.has_value();
  }
  if (!node->is(Node::Kind::array) || node->items.empty()) {
    expected(key, *node, "the name of " + with_article(noun) + ", or a list of names");
    return false;
  }
  bool all = true;
  for (const Node& item : node->items) {
    const std::optional<std::size_t> found = find_name(key, item, noun, names);
    if (found) out.push_back(*found);
    all = all && found.has_value();
  }
  return all;
}

bool TableReader::texts(std::string_view key, std::vector<Node>& out) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  std::span<const Node> items(node, 1);
  if (node->is(Node::Kind::array)) items = node->items;
  bool all = true;
  for (const Node& item : items) {
    if (item.is(Node::Kind::text) && !item.text.empty()) {
      out.push_back(item);
    } else {
      expected(key, item, "a name, or a list of names");
      all = false;
    }
  }
  return all;
}

TableReader TableReader::table(std::string_view key) {
  static const Node kEmpty;
  const Node* node = take(key);
  if (node != nullptr && !node->is(Node::Kind::table)) {
    expected(key, *node, "a table [" + path_of(key) + "]");
    node = nullptr;
  }
  return {node == nullptr ? kEmpty : *node, path_of(key), diagnostics_};
}

std::vector<TableReader> TableReader::blocks(std::string_view key) {
  std::vector<TableReader> result;
  const Node* node = take(key);
  if (node == nullptr) return result;
  if (!node->is_array_of_tables()) {
    expected(key, *node, "[[" + path_of(key) + "]] blocks");
    return result;
  }
  for (const Node& item : node->items) {
    const Node* name = item.find("name");
    const std::string place = "[" + std::to_string(result.size()) + "]";
    result.emplace_back(item, path_of(key), diagnostics_,
                        name == nullptr || name->text.empty() ? place : name->text);
  }
  return result;
}

std::vector<TableReader> TableReader::required_blocks(std::string_view key) {
  if (!has(key)) error(key, "missing section [[" + path_of(key) + "]]: expected at least one");
  return blocks(key);
}

NumberNode TableReader::take_number(std::string_view key, const NumberType& type) {
  NumberNode found{take(key), 0};
  if (!has_unit(type)) return found;
  std::string found_key(key);
  for (const UnitName& unit : units_of(unit_of(type))) {
    if (unit.suffix.empty()) continue;
    const std::string with_unit = std::string(key) + std::string(unit.suffix);
    asked_with_unit_.push_back(with_unit);
    const Node* node = table_.find(with_unit);
    if (node == nullptr) continue;
    if (found.node != nullptr) {
      diagnostics_.error(node->at, path_of(with_unit) + ": already given as " + found_key);
      continue;
    }
    found = {node, unit.factor};
    found_key = with_unit;
  }
  return found;
}

std::optional<std::int64_t> TableReader::read_number(std::string_view key, NumberNode from,
                                                     const NumberType& type) {
  const Node& node = *from.node;
  const bool is_integer = node.is(Node::Kind::integer);
  const bool is_real = node.is(Node::Kind::real) && std::isfinite(node.real);
  std::optional<std::int64_t> value;
  std::string hint;

  if (type.kind == NumberType::Kind::integer) {
    if (is_integer) value = node.integer;
    // 1e6 is a way to write a million.
    constexpr double kExact = 9'007'199'254'740'992.0;
    if (is_real && node.real == std::floor(node.real) && std::abs(node.real) <= kExact) {
      value = static_cast<std::int64_t>(node.real);
    }
  } else if (type.kind == NumberType::Kind::decimal) {
    const double number = is_integer ? static_cast<double>(node.integer) : node.real;
    const double scaled = number * static_cast<double>(type.scale);
    if ((is_integer || is_real) && std::abs(scaled) < 9e18) {
      value = std::llround(scaled);
      // A number too small to be seen is not zero.
      if (*value == 0 && number != 0.0) value.reset();
    }
  } else {
    const Unit unit = unit_of(type);
    Quantity quantity{0, QuantityError::malformed};
    if (node.is(Node::Kind::text)) {
      quantity = parse_quantity(node.text, unit);
    } else if (from.factor > 0 && is_integer) {
      quantity = scaled_quantity(node.integer, from.factor, unit);
    } else if (from.factor > 0 && is_real) {
      quantity = scaled_quantity(node.real, from.factor, unit);
    } else if (is_integer || is_real) {
      const UnitWords words = words_of(unit);
      hint = "; write the unit as in \"1" + words.example + "\" or in the key as in " +
             std::string(key) + words.example_suffix;
    }
    if (quantity.error == QuantityError::none) value = quantity.value;
    if (quantity.error == QuantityError::no_unit || quantity.error == QuantityError::unknown_unit) {
      hint = "; its unit must be " + words_of(unit).all;
    }
  }
  if (value && *value >= type.low && *value <= type.high) return value;
  expected(key, node, expectation(type), hint);
  return std::nullopt;
}

void TableReader::finish() {
  for (const Entry& entry : table_.entries) {
    if (std::ranges::find(asked_, entry.key) != asked_.end()) continue;
    if (std::ranges::find(asked_with_unit_, entry.key) != asked_with_unit_.end()) continue;
    const std::string place = path_.empty() ? "" : " in " + path_;
    diagnostics_.error(entry.at, "unknown key " + quoted(entry.key) + place +
                                     suggestion(without_unit_suffix(entry.key), asked_));
  }
}

}  // namespace berth::config
