// The guide and the example say what the code does: the same keys, the same defaults.
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load_config.h"
#include "config/quantity.h"

namespace berth::config::config_guide_test {
namespace {

const std::string kRoot = BERTH_SOURCE_DIR;

std::string text_of(const std::string& path) {
  std::string error;
  const std::optional<std::string> text = read_whole_file(path, error);
  EXPECT_TRUE(text) << path << ": " << error;
  return text.value_or("");
}

// "a | `b` | c" -> {"a", "`b`", "c"}
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    cells.push_back(
        first == cell.npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
  }
  return cells;
}

// "`x`" -> "x"; all else as it is.
std::string without_ticks(const std::string& cell) {
  return cell.size() > 2 && cell.front() == '`' ? cell.substr(1, cell.size() - 2) : cell;
}

// "### `[[queues]]`" -> "queues."; "" for what is no section.
std::string section_of(const std::string& heading) {
  const std::size_t first = heading.find_first_not_of('[', heading.find('['));
  if (first == heading.npos || heading.find('[') == heading.npos) return "";
  return heading.substr(first, heading.find(']') - first) + ".";
}

// Of each key in the tables of "The keys": what the column `default` says.
std::map<std::string, std::string> documented_defaults() {
  std::map<std::string, std::string> result;
  std::istringstream guide(text_of(kRoot + "/docs/guide/configuration.md"));
  std::string section;
  bool inside = false;
  for (std::string line; std::getline(guide, line);) {
    if (line.starts_with("## ")) inside = line == "## The keys";
    if (!inside) continue;
    if (line.starts_with("### ")) section = section_of(line);
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = cells_of(line);
    EXPECT_EQ(cells.size(), 4U) << line;
    result[section + without_ticks(cells[0])] = without_ticks(cells[2]);
  }
  return result;
}

TEST(ConfigGuide, NamesEveryKeyAndNoOther) {
  std::set<std::string> documented;
  std::set<std::string> sections;
  const std::vector<std::string> keys = known_config_keys();
  const std::set<std::string> known(keys.begin(), keys.end());
  for (const auto& [key, value] : documented_defaults()) {
    // The guide may name a key with its unit.
    const std::string name = known.contains(key) ? key : std::string(without_unit_suffix(key));
    EXPECT_TRUE(known.contains(name)) << key << " is in the guide, but is no key";
    documented.insert(name);
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      sections.insert(name.substr(0, dot));
  }
  EXPECT_GT(documented.size(), 80U);
  for (const std::string& key : known) {
    EXPECT_TRUE(documented.contains(key) || sections.contains(key))
        << key << " is not in docs/guide/configuration.md";
  }
}

TEST(ConfigGuide, SaysTheDefaults) {
  Diagnostics diagnostics;
  const std::optional<LoadedConfig> defaults = load_config({}, diagnostics);
  ASSERT_TRUE(defaults);
  std::map<std::string, std::string> documented = documented_defaults();
  for (const ConfigValue& value : defaults->values) {
    if (!value.block.empty()) continue;
    EXPECT_EQ(documented[value.key()], value.value.empty() ? "none" : value.value) << value.key();
  }
}

TEST(ConfigGuide, TheExampleIsGood) {
  Diagnostics diagnostics;
  const auto loaded = load_config({.path = kRoot + "/examples/berth.toml"}, diagnostics);
  ASSERT_TRUE(loaded) << diagnostics.text();
  EXPECT_EQ(loaded->config.tenants.names,
            (std::vector<std::string>{"default", "research", "batch"}));
  EXPECT_EQ(loaded->config.queues.size(), 4U);
}

}  // namespace
}  // namespace berth::config::config_guide_test
