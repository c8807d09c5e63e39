// See document.h. The only file that includes toml++.
#include "sim/document.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

// toml++ 3.3 asserts on some texts that are merely wrong ("[,a]"). Here an assertion of the parser
// is one more syntax error; the parser without exceptions is ours alone, so nobody else's changes.
constexpr void toml_assert(bool holds) {
  if (!holds) throw std::logic_error("the parser cannot go on");
}
#undef NDEBUG
#define TOML_ASSERT(expression) toml_assert(static_cast<bool>(expression))
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace berth::sim {
namespace {

// Scenarios nest four deep; what nests deeper is an attack on the stack, not an input.
constexpr int kDeepest = 32;

Origin origin_of(const toml::source_region& region, std::uint32_t source) {
  return {source, region.begin.line, region.begin.column};
}

Node convert(const toml::node& from, std::uint32_t source, int depth);

Node convert_table(const toml::table& from, std::uint32_t source, int depth) {
  Node node;
  for (const auto& [key, value] : from) {
    node.entries.push_back(
        {std::string(key.str()), origin_of(key.source(), source), convert(value, source, depth)});
  }
  // toml++ sorts by name; readers and messages want the order of the input.
  std::ranges::stable_sort(node.entries, {}, &Entry::at);
  return node;
}

Node convert(const toml::node& from, std::uint32_t source, int depth) {
  Node node;
  if (const toml::table* table = from.as_table(); table != nullptr) {
    if (depth < kDeepest) node = convert_table(*table, source, depth + 1);
  } else if (const toml::array* array = from.as_array(); array != nullptr) {
    node.kind = Node::Kind::array;
    if (depth < kDeepest) {
      for (const toml::node& item : *array) {
        node.items.push_back(convert(item, source, depth + 1));
      }
    }
  } else if (const auto* text = from.as_string(); text != nullptr) {
    node.kind = Node::Kind::text;
    node.text = text->get();
  } else if (const auto* integer = from.as_integer(); integer != nullptr) {
    node.kind = Node::Kind::integer;
    node.integer = integer->get();
  } else if (const auto* real = from.as_floating_point(); real != nullptr) {
    node.kind = Node::Kind::real;
    node.real = real->get();
  } else if (const auto* boolean = from.as_boolean(); boolean != nullptr) {
    node.kind = Node::Kind::boolean;
    node.boolean = boolean->get();
  } else {
    node.kind = Node::Kind::date;
  }
  node.at = origin_of(from.source(), source);
  return node;
}

// toml++ builds one table per segment of a dotted key and frees them recursively.
bool nests_too_deep(std::string_view text, Origin& at) {
  std::uint32_t line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view key = text.substr(0, std::min(text.substr(0, end).find('='), end));
    if (std::ranges::count(key, '.') > 4 * kDeepest && key.find_first_of("\"'#") == key.npos) {
      at.line = line;
      at.column = 1;
      return true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
  return false;
}

// The table header that toml++ gave up on: the first whose name does not begin like a key.
Origin bad_header(std::string_view text, std::uint32_t source) {
  std::uint32_t line = 1;
  for (std::size_t i = 0; i < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', i), text.size());
    const std::size_t first = text.find_first_not_of(" \t", i);
    if (first < end && text[first] == '[') {
      const std::size_t name = text.find_first_not_of("[ \t", first);
      const bool is_key =
          name < end && (std::isalnum(static_cast<unsigned char>(text[name])) != 0 ||
                         std::string_view("_-\"']").find(text[name]) < 5);
      if (!is_key) return {source, line, static_cast<std::uint32_t>(first - i + 1)};
    }
    i = end + 1;
  }
  return {source, 0, 0};
}

struct Parsed {
  std::optional<Node> node;
  Origin error_at;
  std::string error;
};

Parsed parse(std::string_view text, std::uint32_t source) {
  Parsed parsed;
  if (nests_too_deep(text, parsed.error_at)) {
    parsed.error_at.source = source;
    parsed.error = "this key has too many parts";
    return parsed;
  }
  try {
    const toml::parse_result result = toml::parse(text);
    if (result) {
      parsed.node = convert(result.table(), source, 0);
      return parsed;
    }
    parsed.error_at = origin_of(result.error().source(), source);
    parsed.error = result.error().description();
    constexpr std::string_view kOpening = "Error while parsing ";
    if (parsed.error.starts_with(kOpening)) {
      parsed.error = "in a " + parsed.error.substr(kOpening.size());
    }
  } catch (const std::logic_error&) {
    parsed.error_at = bad_header(text, source);
    parsed.error = "in a table header: expected a name";
  }
  return parsed;
}

void set_origin(Node& node, Origin at) {
  node.at = at;
  for (Node& item : node.items)
    set_origin(item, at);
  for (Entry& entry : node.entries) {
    entry.at = at;
    set_origin(entry.value, at);
  }
}

std::string shown(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.10g", value);
  return buffer;
}

}  // namespace

Node Node::of_text(Origin at, std::string value) {
  Node node;
  node.kind = Kind::text;
  node.at = at;
  node.text = std::move(value);
  return node;
}

Node Node::table_at(Origin at) {
  Node node;
  node.at = at;
  return node;
}

bool Node::is_array_of_tables() const {
  return kind == Kind::array && !items.empty() &&
         std::ranges::all_of(items, [](const Node& item) { return item.is(Kind::table); });
}

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::table:
      return "a table";
    case Node::Kind::array:
      return node.items.empty() ? "an empty list" : "a list";
    case Node::Kind::text:
      return "the string " + quoted(node.text);
    case Node::Kind::integer:
      return "the integer " + std::to_string(node.integer);
    case Node::Kind::real:
      return "the number " + shown(node.real);
    case Node::Kind::boolean:
      return node.boolean ? "true" : "false";
    case Node::Kind::date:
      return "a date or time of day";
  }
  return "something else";
}

std::optional<Node> parse_document(std::string_view text, std::uint32_t source,
                                   Diagnostics& diagnostics) {
  Parsed parsed = parse(text, source);
  if (!parsed.node) diagnostics.error(parsed.error_at, "not valid TOML: " + parsed.error);
  return std::move(parsed.node);
}

Node parse_value(std::string_view text, Origin at) {
  Parsed parsed = parse("value = " + std::string(text), at.source);
  if (!parsed.node || parsed.node->entries.size() != 1) {
    return Node::of_text(at, std::string(text));
  }
  Node node = std::move(parsed.node->entries.front().value);
  set_origin(node, at);
  return node;
}

}  // namespace berth::sim
