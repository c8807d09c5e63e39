// TableReader: takes typed, range-checked values out of one table and reports all that is wrong.
//
// A reader asks for each key it knows; `finish` then reports the keys nobody asked for, with the
// nearest known name. So the code that reads a section is also the list of its keys.
// Values that are absent or wrong leave the target at its default.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "config/diagnostics.h"
#include "config/document.h"
#include "config/quantity.h"
#include "core/model/ranges.h"

namespace berth::config {

// What a number must be. Decimal: a plain number times `scale`, as are low and high.
struct NumberType {
  enum class Kind : std::uint8_t { integer, decimal, time, vram, memory, bytes };
  Kind kind = Kind::integer;
  std::int64_t low = 0;
  std::int64_t high = INT64_MAX;
  std::int64_t scale = 1;
  std::string_view shown_with = {};  // the unit that the key carries in notes, such as "_minutes"
};

inline constexpr std::int64_t kLongestTime = core::kDurationMax.ns;
// Of a task or a batch: on the slowest GPU there may be (a thousandth) it still fits into 64 bits.
inline constexpr std::int64_t kLongestRun = 100LL * 86'400 * 1'000'000'000;
inline constexpr std::int64_t kLargestVram = core::kMibMax;

constexpr NumberType integers(std::int64_t low, std::int64_t high) {
  return {NumberType::Kind::integer, low, high};
}
constexpr NumberType thousandths(std::int64_t low, std::int64_t high) {
  return {NumberType::Kind::decimal, low, high, 1'000};
}
constexpr NumberType millionths(std::int64_t low, std::int64_t high) {
  return {NumberType::Kind::decimal, low, high, 1'000'000};
}
constexpr NumberType durations(std::int64_t low = 0, std::int64_t high = kLongestTime) {
  return {NumberType::Kind::time, low, high};
}
constexpr NumberType vram_amounts(std::int64_t low = 0, std::int64_t high = kLargestVram) {
  return {NumberType::Kind::vram, low, high};
}

// Of a node: written as VRAM is.
constexpr NumberType memory_amounts(std::int64_t low = 0, std::int64_t high = core::kMibMax) {
  return {NumberType::Kind::memory, low, high};
}

constexpr NumberType sizes(std::int64_t low, std::int64_t high) {
  return {NumberType::Kind::bytes, low, high};
}

// The number as TOML, with its unit.
std::string toml_of(std::int64_t value, const NumberType& type);

// As base/names.h has it.
bool is_name(std::string_view text);
// `a name of 1 to 200 …`
std::string name_expectation();

// `an integer from 1 to 64`, `a duration such as "120ms", from 0s to 1h`.
std::string expectation(const NumberType& type);

// A key's value, and the unit its key carries (0: none, so the value itself must carry one).
struct NumberNode {
  const Node* node = nullptr;
  std::int64_t factor = 0;
};

class TableReader {
 public:
  // `path` names the table in messages, `queues`; "" is the whole document. `block` tells it from
  // others of its path in notes.
  TableReader(const Node& table, std::string path, Diagnostics& diagnostics,
              std::string block = {});

  Origin at() const { return table_.at; }
  Diagnostics& diagnostics() { return diagnostics_; }
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const;

  // Asks for a key: null if absent.
  const Node* take(std::string_view key);
  // The same, and its absence is an error.
  const Node* require(std::string_view key, std::string_view expected);
  // What is shown as the value in force; for keys that are taken by hand.
  void note(std::string_view key, const Node* found, std::string value);

  bool has(std::string_view key) const { return table_.find(key) != nullptr; }
  // The same, whether the unit stands in the value or in the key.
  bool has_number(std::string_view key) const;
  // Where the key's value stands, or the table if it is absent.
  Origin origin_of(std::string_view key) const;
  void error(std::string_view key, std::string message);

  bool text(std::string_view key, std::string& out);
  // A text that is_name.
  bool name(std::string_view key, std::string& out);
  bool required_name(std::string_view key, std::string& out);
  bool boolean(std::string_view key, bool& out);
  bool fraction(std::string_view key, double& out, double high = 1.0);
  // One of the names; `out` is its position, as a number or as an enumerator.
  bool choice(std::string_view key, std::span<const std::string> names, std::size_t& out);
  template <class Enum>
  bool choice(std::string_view key, std::span<const std::string> names, Enum& out) {
    auto position = static_cast<std::size_t>(out);
    const bool found = choice(key, names, position);
    out = static_cast<Enum>(position);
    return found;
  }

  // A reference by name to something declared elsewhere; `noun` is what it is.
  bool reference(std::string_view key, std::string_view noun, std::span<const std::string> names,
                 std::size_t& out);
  // The same for one name or a list of names.
  bool references(std::string_view key, std::string_view noun, std::span<const std::string> names,
                  std::vector<std::size_t>& out);
  // The table [key]; an empty one if it is absent.
  TableReader table(std::string_view key);
  // The blocks [[key]].
  std::vector<TableReader> blocks(std::string_view key);
  // The same, and their absence is an error.
  std::vector<TableReader> required_blocks(std::string_view key);

  // One string or a list of strings.
  bool texts(std::string_view key, std::vector<Node>& out);

  // Any number type, into an integer, a Duration, a Mib, a Milli, or an optional of these.
  template <class T>
  bool number(std::string_view key, T& out, const NumberType& type) {
    const NumberNode found = take_number(key, type);
    std::optional<std::int64_t> value;
    if (found.node != nullptr) value = read_number(key, found, type);
    if (value) assign(out, *value);
    note_number(key, found.node, amount_of(out), type);
    return value.has_value();
  }

  // The same, and its absence is an error.
  template <class T>
  bool required_number(std::string_view key, T& out, const NumberType& type) {
    if (take_number(key, type).node != nullptr) return number(key, out, type);
    error(key, "missing " + path_of(key) + ": expected " + expectation(type));
    return false;
  }

  // The node of a number, under its key or under the key with a unit: `wait` or `wait_ms`.
  NumberNode take_number(std::string_view key, const NumberType& type);
  // Checks one value; reports and gives none if it is not of the type.
  std::optional<std::int64_t> read_number(std::string_view key, NumberNode from,
                                          const NumberType& type);

  // Reports every key that nobody has asked for.
  void finish();

 private:
  template <std::integral T>
  static void assign(T& out, std::int64_t value) {
    out = static_cast<T>(value);
  }
  static void assign(Duration& out, std::int64_t value) { out.ns = value; }
  static void assign(Mib& out, std::int64_t value) { out.value = value; }
  static void assign(Milli& out, std::int64_t value) { out.value = value; }
  template <class T>
  static void assign(std::optional<T>& out, std::int64_t value) {
    out.emplace();
    assign(*out, value);
  }

  template <std::integral T>
  static std::optional<std::int64_t> amount_of(T value) {
    return static_cast<std::int64_t>(value);
  }
  static std::optional<std::int64_t> amount_of(Duration value) { return value.ns; }
  static std::optional<std::int64_t> amount_of(Mib value) { return value.value; }
  static std::optional<std::int64_t> amount_of(Milli value) { return value.value; }
  template <class T>
  static std::optional<std::int64_t> amount_of(const std::optional<T>& value) {
    return value ? amount_of(*value) : std::nullopt;
  }

  void note_number(std::string_view key, const Node* found, std::optional<std::int64_t> value,
                   const NumberType& type);
  void expected(std::string_view key, const Node& found, std::string_view what,
                std::string_view hint = {});
  std::optional<std::size_t> find_name(std::string_view key, const Node& node,
                                       std::string_view noun, std::span<const std::string> names);

  const Node& table_;
  std::string path_;
  std::string block_;
  Diagnostics& diagnostics_;
  std::vector<std::string> asked_;
  std::vector<std::string> asked_with_unit_;
};

// "task" -> "a task"; "id" -> "an id".
std::string with_article(std::string_view noun);

}  // namespace berth::config
