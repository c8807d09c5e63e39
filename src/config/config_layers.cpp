// See config_layers.h.
#include "config/config_layers.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/assert.h"
#include "config/overrides.h"
#include "config/quantity.h"

namespace berth::config {
namespace {

// What exists before anybody says anything. The three queues are those that clients of the first
// day expect; the GPUs stand in where no real one is found.
constexpr std::string_view kBuiltIn = R"(
[[tenants]]
name = "default"

[[queues]]
name = "llm"
max_batch_size = 8
max_batch_wait = "5ms"
batch_base = "40ms"
batch_per_task = "10ms"

[[queues]]
name = "embedding"
max_batch_size = 32
max_batch_wait = "2ms"
batch_base = "5ms"
batch_per_task = "1ms"

[[queues]]
name = "diffusion"
max_batch_size = 4
max_batch_wait = "10ms"
batch_base = "200ms"
batch_per_task = "100ms"

[[gpus.simulated]]
name = "a100"
kind = "A100"
vram = "40GB"
count = 2

[[gpus.simulated]]
name = "l4"
kind = "L4"
vram = "24GB"
)";

Node& child_table(Node& table, const std::string& key, Origin at) {
  if (Node* found = table.find(key); found != nullptr) return *found;
  table.entries.push_back({key, at, Node::table_at(at)});
  return table.entries.back().value;
}

std::string name_of(const Node& block) {
  const Node* name = block.find("name");
  return name == nullptr ? "" : name->text;
}

// Adds the keys of `below` that `block` does not have, in whatever unit.
void fill_in(Node& block, const Node& below) {
  for (const Entry& entry : below.entries) {
    const std::string_view base = without_unit_suffix(entry.key);
    const bool has = std::ranges::any_of(block.entries, [&](const Entry& own) {
      return own.key == entry.key || without_unit_suffix(own.key) == base;
    });
    if (!has) block.entries.push_back(entry);
  }
}

// A block of the document with the name of one in `below` keeps the latter's other keys; the rest
// of `below` comes first.
void lay_blocks_under(Node& document, const std::string& key, const Node& below) {
  Node* blocks = document.find(key);
  if (blocks == nullptr) {
    document.entries.push_back({key, below.at, below});
    return;
  }
  if (!blocks->is_array_of_tables()) return;  // the reader reports it
  std::vector<Node> untouched;
  for (const Node& block : below.items) {
    const auto same = std::ranges::find(blocks->items, name_of(block), name_of);
    if (same == blocks->items.end()) {
      untouched.push_back(block);
    } else {
      fill_in(*same, block);
    }
  }
  blocks->items.insert(blocks->items.begin(), untouched.begin(), untouched.end());
}

bool describes_nodes(const Node& document) {
  const Node* cluster = document.find("cluster");
  return cluster != nullptr && cluster->is(Node::Kind::table) && cluster->find("nodes") != nullptr;
}

// server.data -> server_data
std::string with_underscores(std::string key) {
  std::ranges::replace(key, '.', '_');
  return key;
}

std::string variable_of(std::string key) {
  key = with_underscores(std::move(key));
  std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::toupper(c); });
  return "BERTH_" + key;
}

// The part of BERTH_SERVER_DATA that names a key, in lower case; "" if it is no variable of ours.
std::string word_of(const std::string& variable) {
  constexpr std::string_view kPrefix = "BERTH_";
  if (!variable.starts_with(kPrefix)) return {};
  std::string word = variable.substr(kPrefix.size());
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

// "server_data_x" begins with the name of a section, so it was surely meant for us.
bool names_a_section(const std::string& word, const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [&](const std::string& key) {
    const std::size_t dot = key.find('.');
    return dot != key.npos && word.starts_with(key.substr(0, dot) + "_");
  });
}

}  // namespace

std::optional<Node> ConfigLayers::lay(const ConfigSources& sources, const ReadFile& read_file) {
  std::optional<Node> document = Node();
  if (sources.path) document = read(*sources.path, read_file);
  if (!document) return std::nullopt;
  lay_built_in(*document, keeps_built_in_queues(*document, sources));
  lay_environment(*document, sources.environment);
  lay_settings(*document, sources.settings);
  return document;
}

std::string ConfigLayers::origin(const std::optional<Origin>& at) const {
  if (!at) return "default";
  const auto found = origins_.find(at->source);
  if (found == origins_.end()) return "default";
  return at->source == file_ ? found->second + ":" + std::to_string(at->line) : found->second;
}

std::optional<Node> ConfigLayers::read(const std::string& path, const ReadFile& read_file) {
  std::string problem;
  const std::optional<std::string> text = read_file(path, problem);
  const std::uint32_t source = diagnostics_.add_source(path, text.value_or(""));
  if (!text) {
    diagnostics_.error({source, 0, 0}, "cannot read the configuration: " + problem);
    return std::nullopt;
  }
  file_ = source;
  origins_[source] = "file " + path;
  std::optional<Node> document = parse_document(*text, source, diagnostics_);
  if (document) document->at = {source, 0, 0};
  return document;
}

void ConfigLayers::lay_built_in(Node& document, bool with_queues) {
  const std::uint32_t source = diagnostics_.add_source("built-in defaults", std::string(kBuiltIn));
  const std::optional<Node> below = parse_document(kBuiltIn, source, diagnostics_);
  ASSERT(below);
  lay_blocks_under(document, "tenants", *below->find("tenants"));
  if (with_queues) lay_blocks_under(document, "queues", *below->find("queues"));
  const Node& gpus = *below->find("gpus");
  Node& own = child_table(document, "gpus", gpus.at);
  // Whoever describes GPUs, or the nodes they are in, means all of them.
  if (own.is(Node::Kind::table) && !describes_nodes(document)) fill_in(own, gpus);
}

bool ConfigLayers::keeps_built_in_queues(Node file, const ConfigSources& sources) const {
  Diagnostics ignored;
  ConfigLayers others(keys_, ignored);
  others.lay_environment(file, sources.environment);
  others.lay_settings(file, sources.settings);
  const Node* keep = file.find("builtin_queues");
  return keep == nullptr || !keep->is(Node::Kind::boolean) || keep->boolean;
}

void ConfigLayers::lay_environment(Node& document,
                                   const std::map<std::string, std::string>& environment) {
  for (const auto& [variable, value] : environment) {
    const std::string word = word_of(variable);
    if (word.empty()) continue;
    const auto names = [&](const std::string& key) {
      const std::string plain = with_underscores(key);
      return plain == word || plain == without_unit_suffix(word);
    };
    const auto key = std::ranges::find_if(keys_.single, names);
    if (key == keys_.single.end() && !names_a_section(word, keys_.single)) continue;
    const std::string origin = "environment " + variable;
    const Origin at{diagnostics_.add_source(origin), 0, 0};
    origins_[at.source] = origin;
    if (key == keys_.single.end()) {
      std::vector<std::string> variables;
      for (const std::string& candidate : keys_.single)
        variables.push_back(variable_of(candidate));
      diagnostics_.error(at, "no key has this variable" + suggestion(variable, variables));
      continue;
    }
    std::string setting = *key + word.substr(key->size());  // a unit stays
    setting += "=" + value;
    apply_override_at(document, setting, at, keys_.all, diagnostics_);
  }
}

void ConfigLayers::lay_settings(Node& document, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    const bool is_set = setting.flag == "--set";
    const Origin at{diagnostics_.add_source(setting.flag + (is_set ? " " + setting.text : "")), 0,
                    0};
    origins_[at.source] = "flag " + setting.flag;
    apply_override_at(document, setting.text, at, keys_.all, diagnostics_);
  }
}

}  // namespace berth::config
