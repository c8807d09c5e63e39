// The names that a scenario gives to ids of the core, in both directions.
//
// `#7` is the id 7 of something that nobody declared: so a scenario can be wrong on purpose.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::scenario {

class NameTable {
 public:
  std::optional<std::uint64_t> find(std::string_view name) const {
    if (name.size() > 1 && name.front() == '#') {
      std::uint64_t id = 0;
      const auto end = name.data() + name.size();
      if (std::from_chars(name.data() + 1, end, id).ptr == end) return id;
    }
    const auto it = std::find(names_.begin(), names_.end(), name);
    if (it == names_.end()) return std::nullopt;
    return static_cast<std::uint64_t>(it - names_.begin());
  }
  std::uint64_t add(std::string_view name) {
    names_.emplace_back(name);
    return names_.size() - 1;
  }
  std::uint64_t find_or_add(std::string_view name) {
    const auto known = find(name);
    return known ? *known : add(name);
  }
  std::string at(std::uint64_t id) const {
    return id < names_.size() ? names_[id] : "#" + std::to_string(id);
  }
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
};

struct Names {
  NameTable tenants;
  NameTable queues;
  NameTable models;
  NameTable gpus;
  NameTable nodes;
  NameTable kinds;
  NameTable work_classes;
  NameTable racks;
  NameTable islands;
  NameTable groups;
  NameTable signals;
  NameTable tasks;
};

}  // namespace berth::scenario
