// See overrides.h.
#include "sim/overrides.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/quantity.h"

namespace berth::sim {
namespace {

struct Segment {
  std::string key;
  std::optional<std::size_t> index;  // of `key[3]`
};

constexpr std::size_t kDeepest = 16;

// a."b.c"[2].d -> a, b.c[2], d. None: not a path, or an absurdly long one.
std::optional<std::vector<Segment>> split_path(std::string_view path) {
  std::vector<Segment> segments;
  std::size_t i = 0;
  while (i < path.size() && segments.size() < kDeepest) {
    Segment segment;
    if (path[i] == '"') {
      const std::size_t end = path.find('"', i + 1);
      if (end == path.npos) return std::nullopt;
      segment.key = path.substr(i + 1, end - i - 1);
      i = end + 1;
    } else {
      const std::size_t end = std::min(path.find_first_of(".[\"", i), path.size());
      segment.key = path.substr(i, end - i);
      i = end;
    }
    if (segment.key.empty()) return std::nullopt;
    if (i < path.size() && path[i] == '[') {
      const std::size_t end = path.find(']', i);
      if (end == path.npos) return std::nullopt;
      std::size_t index = 0;
      const char* last = path.data() + end;
      const auto parsed = std::from_chars(path.data() + i + 1, last, index);
      if (parsed.ec != std::errc() || parsed.ptr != last) return std::nullopt;
      segment.index = index;
      i = end + 1;
    }
    segments.push_back(std::move(segment));
    if (i == path.size()) return segments;
    if (path[i] != '.' || i + 1 == path.size()) return std::nullopt;
    ++i;
  }
  return std::nullopt;
}

class Setter {
 public:
  Setter(Origin at, Node value, Diagnostics& diagnostics)
      : at_(at), value_(std::move(value)), diagnostics_(diagnostics) {}

  void set_in_table(Node& table, std::span<const Segment> path) {
    const Segment& segment = path.front();
    const bool last = path.size() == 1;
    if (last && !segment.index) return set_key(table, segment.key);
    Node* child = table.find(segment.key);
    if (child == nullptr) {
      if (segment.index) return fail("there is no " + quoted(segment.key));
      table.entries.push_back({segment.key, at_, Node::table_at(at_)});
      child = &table.entries.back().value;
    }
    if (segment.index) return set_in_item(*child, path);
    set_below(*child, segment.key, path.subspan(1));
  }

 private:
  void fail(std::string message) { diagnostics_.error(at_, std::move(message)); }

  // Replaces the key, in whatever unit it was spelled before.
  void set_key(Node& table, const std::string& key) {
    const std::string_view base = without_unit_suffix(key);
    std::erase_if(table.entries, [&](const Entry& entry) {
      return entry.key == key || without_unit_suffix(entry.key) == base;
    });
    table.entries.push_back({key, at_, value_});
  }

  void set_below(Node& node, std::string_view key, std::span<const Segment> rest) {
    if (node.is(Node::Kind::table)) return set_in_table(node, rest);
    if (!node.is_array_of_tables()) {
      return fail(quoted(key) + " is " + describe(node) + ", not a table");
    }
    if (rest.size() > 1) {
      // A name selects one element, unless the word is a key of every element's own.
      for (Node& item : node.items) {
        const Node* name = item.find("name");
        if (name != nullptr && name->text == rest.front().key) {
          return set_in_table(item, rest.subspan(1));
        }
      }
    }
    for (Node& item : node.items)
      set_in_table(item, rest);
  }

  void set_in_item(Node& node, std::span<const Segment> path) {
    const Segment& segment = path.front();
    const std::size_t index = *segment.index;
    if (!node.is(Node::Kind::array)) {
      return fail(quoted(segment.key) + " is " + describe(node) + ", not a list");
    }
    if (index >= node.items.size()) {
      return fail(quoted(segment.key) + " has " + std::to_string(node.items.size()) +
                  " elements, counted from 0");
    }
    Node& item = node.items[index];
    if (path.size() == 1) {
      item = value_;
    } else {
      set_below(item, segment.key, path.subspan(1));
    }
  }

  Origin at_;
  Node value_;
  Diagnostics& diagnostics_;
};

}  // namespace

void apply_override(Node& document, std::string_view setting, Diagnostics& diagnostics) {
  const Origin at{diagnostics.add_source("--set " + std::string(setting)), 0, 0};
  const std::size_t equals = setting.find('=');
  if (equals == setting.npos || equals == 0) {
    return diagnostics.error(at, "expected path=value, such as policy.order=fifo");
  }
  const std::optional<std::vector<Segment>> path = split_path(setting.substr(0, equals));
  if (!path) {
    return diagnostics.error(at, "not a path: " + quoted(setting.substr(0, equals)) +
                                     "; expected keys with dots between, such as policy.order");
  }
  Setter setter(at, parse_value(setting.substr(equals + 1), at), diagnostics);
  setter.set_in_table(document, *path);
}

}  // namespace berth::sim
