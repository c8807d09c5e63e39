// See overrides.h.
#include "config/overrides.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "config/quantity.h"

namespace berth::config {
namespace {

struct Segment {
  std::string key;
  std::optional<std::size_t> index;  // of `key[3]`
};

constexpr std::size_t kSegmentsMax = 16;

// a."b.c"[2].d -> a, b.c[2], d. None: not a path, or an absurdly long one.
std::optional<std::vector<Segment>> split_path(std::string_view path) {
  std::vector<Segment> segments;
  std::size_t i = 0;
  while (i < path.size() && segments.size() < kSegmentsMax) {
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
  Setter(Origin at, Node value, std::span<const std::string> known_keys, Diagnostics& diagnostics)
      : at_(at), value_(std::move(value)), known_keys_(known_keys), diagnostics_(diagnostics) {}

  void set(Node& document, std::span<const Segment> path) { set_in_table(document, path, ""); }

 private:
  // `section` is the path of the table, with dots between.
  void set_in_table(Node& table, std::span<const Segment> path, const std::string& section) {
    const Segment& segment = path.front();
    const bool last = path.size() == 1;
    if (last && !segment.index) return set_key(table, segment.key);
    Node* child = table.find(segment.key);
    if (child == nullptr) {
      if (segment.index) {
        std::vector<std::string> there;
        for (const Entry& entry : table.entries)
          there.push_back(entry.key);
        return fail("there is no " + quoted(segment.key) + suggestion(segment.key, there));
      }
      table.entries.push_back({segment.key, at_, Node::table_at(at_)});
      child = &table.entries.back().value;
    }
    const std::string below = section.empty() ? segment.key : section + "." + segment.key;
    if (segment.index) return set_in_item(*child, path, below);
    set_below(*child, path.subspan(1), below);
  }

  void fail(std::string message) { diagnostics_.error(at_, std::move(message)); }

  // Replaces the key, in whatever unit it was spelled before.
  void set_key(Node& table, const std::string& key) {
    const std::string_view base = without_unit_suffix(key);
    std::erase_if(table.entries, [&](const Entry& entry) {
      return entry.key == key || without_unit_suffix(entry.key) == base;
    });
    table.entries.push_back({key, at_, value_});
  }

  void set_below(Node& node, std::span<const Segment> rest, const std::string& section) {
    if (node.is(Node::Kind::table)) return set_in_table(node, rest, section);
    if (!node.is_array_of_tables()) {
      return fail(quoted(section) + " is " + describe(node) + ", not a table");
    }
    if (rest.size() > 1) {
      std::vector<std::string> names;
      for (Node& item : node.items) {
        const Node* name = item.find("name");
        if (name == nullptr) continue;
        if (name->text == rest.front().key) return set_in_table(item, rest.subspan(1), section);
        names.push_back(name->text);
      }
      if (!is_known(section + "." + std::string(without_unit_suffix(rest.front().key)))) {
        return fail_to_select(rest.front().key, section, std::move(names));
      }
    }
    for (Node& item : node.items)
      set_in_table(item, rest, section);
  }

  bool is_known(const std::string& path) const {
    return std::ranges::find(known_keys_, path) != known_keys_.end();
  }

  // The word is neither the name of a block nor one of its keys.
  void fail_to_select(const std::string& word, const std::string& section,
                      std::vector<std::string> names) {
    std::string meant = suggestion(word, names);
    const std::string prefix = section + ".";
    for (const std::string& key : known_keys_) {
      if (key.starts_with(prefix)) names.push_back(key.substr(prefix.size()));
    }
    if (const std::string nearest = nearest_name(word, names); !nearest.empty()) {
      meant = "; did you mean " + quoted(nearest) + "?";
    }
    fail("no block of " + section + " is named " + quoted(word) + meant);
  }

  void set_in_item(Node& node, std::span<const Segment> path, const std::string& section) {
    const Segment& segment = path.front();
    const std::size_t index = *segment.index;
    if (!node.is(Node::Kind::array)) {
      return fail(quoted(segment.key) + " is " + describe(node) + ", not a list");
    }
    if (index >= node.items.size()) {
      const std::string count = std::to_string(node.items.size());
      return fail(quoted(segment.key) + " has " + count +
                  (node.items.size() == 1 ? " element" : " elements") + ", counted from 0");
    }
    Node& item = node.items[index];
    if (path.size() == 1) {
      item = value_;
    } else {
      set_below(item, path.subspan(1), section);
    }
  }

  Origin at_;
  Node value_;
  std::span<const std::string> known_keys_;
  Diagnostics& diagnostics_;
};

}  // namespace

void apply_override(Node& document, std::string_view setting,
                    std::span<const std::string> known_keys, Diagnostics& diagnostics) {
  const Origin at{diagnostics.add_source("--set " + std::string(setting)), 0, 0};
  apply_override_at(document, setting, at, known_keys, diagnostics);
}

void apply_override_at(Node& document, std::string_view setting, Origin at,
                       std::span<const std::string> known_keys, Diagnostics& diagnostics) {
  const std::size_t equals = setting.find('=');
  if (equals == setting.npos || equals == 0) {
    return diagnostics.error(at, "expected path=value, such as policy.order=fifo");
  }
  const std::optional<std::vector<Segment>> path = split_path(setting.substr(0, equals));
  if (!path) {
    return diagnostics.error(at, "not a path: " + quoted(setting.substr(0, equals)) +
                                     "; expected keys with dots between, such as policy.order");
  }
  Setter setter(at, parse_value(setting.substr(equals + 1), at), known_keys, diagnostics);
  setter.set(document, *path);
}

}  // namespace berth::config
