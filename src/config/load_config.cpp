// See load_config.h.
#include "config/load_config.h"

#include <algorithm>
#include <utility>

#include "config/config_layers.h"
#include "config/notes.h"
#include "config/server_sections.h"
#include "config/work_class.h"

namespace berth::config {
namespace {

template <class Section>
void read_section(TableReader& root, std::string_view key,
                  void (*read)(TableReader& table, Section& section), Section& section) {
  TableReader table = root.table(key);
  read(table, section);
}

void read_tenants(TableReader& root, ServerConfig& config) {
  NameBook names("tenant");
  std::vector<TableReader> tables = root.blocks("tenants");
  const std::vector<std::string> all = names_in(tables);
  for (TableReader& table : tables) {
    std::string name;
    Tenant tenant = config.tenant_defaults.tenant;
    read_tenant(table, all, name, tenant);
    names.claim(name, table.origin_of("name"), "tenants.name", table.diagnostics());
    config.tenants.add(std::move(name), tenant);
  }
  put_in_tree(tables, config.tenants,
              [](Tenant& tenant) -> core::TenantSpec& { return tenant.spec; });
  if (config.tenants.size() > config.tenant_defaults.max_tenants) {
    root.error("tenants", "tenants: there are " + std::to_string(config.tenants.size()) +
                              ", more than tenant_defaults.max_tenants, " +
                              std::to_string(config.tenant_defaults.max_tenants));
  }
}

void read_models(TableReader& root, ServerConfig& config) {
  NameBook names("model");
  for (TableReader& table : root.blocks("models")) {
    std::string name;
    core::ModelSpec model;
    read_model(table, name, model);
    table.finish();
    names.claim(name, table.origin_of("name"), "models.name", table.diagnostics());
    config.models.add(std::move(name), model);
  }
}

void read_queues(TableReader& root, ServerConfig& config) {
  NameBook names("queue");
  for (TableReader& table : root.blocks("queues")) {
    std::string name;
    Queue queue;
    read_queue(table, config.models.names, name, queue);
    names.claim(name, table.origin_of("name"), "queues.name", table.diagnostics());
    config.queues.add(std::move(name), queue);
  }
}

void check_work_classes(TableReader& root) {
  std::vector<TableReader> queues = root.blocks("queues");
  std::vector<TableReader> gpus = root.table("gpus").blocks("simulated");
  for (TableReader& kind : root.table("gpus").blocks("kinds"))
    gpus.push_back(kind);
  for (TableReader& nodes : root.table("cluster").blocks("nodes"))
    gpus.push_back(nodes);
  config::check_work_classes(queues, gpus);
}

// In the order of reference: a section may name what an earlier one declares.
ServerConfig read_config(const Node& document, const ReadFile& read_file,
                         Diagnostics& diagnostics) {
  ServerConfig config;
  TableReader root(document, "", diagnostics);
  root.boolean("builtin_queues", config.builtin_queues);
  read_section(root, "server", read_server, config.server);
  read_section(root, "limits", read_limits, config.limits);
  read_section(root, "store", read_store, config.store);
  read_section(root, "ids", read_ids, config.ids);
  read_section(root, "tasks", read_tasks, config.tasks);
  TableReader policy = root.table("policy");
  read_policy(policy, config.policy);
  policy.number("table_every", config.table_every, durations());
  policy.finish();
  config.tenant_defaults.make_unknown = !config.server.authentication;
  read_section(root, "tenant_defaults", read_tenant_defaults, config.tenant_defaults);
  read_tenants(root, config);
  read_models(root, config);
  read_queues(root, config);
  read_section(root, "gpus", read_gpus, config.gpus);
  const FileSource files{read_file};
  TableReader node = root.table("node");
  read_node(node, files, config.node);
  TableReader cluster = root.table("cluster");
  read_cluster(cluster, files, config.nodes);
  check_hardware(root, config);
  check_work_classes(root);
  root.finish();
  return config;
}

// What a tenant did not say itself, it has from where its defaults are.
const NotedValue& source_of(const NotedValue& noted, const Notes& notes) {
  if (noted.section != "tenants" || noted.at) return noted;
  const auto is_default = [&](const NotedValue& other) {
    return other.section == "tenant_defaults" && other.key == noted.key;
  };
  const auto found = std::ranges::find_if(notes.values, is_default);
  return found == notes.values.end() ? noted : *found;
}

std::vector<ConfigValue> values_of(const Notes& notes, const ConfigLayers& layers) {
  std::vector<ConfigValue> values;
  for (const NotedValue& noted : notes.values) {
    values.push_back({noted.section, noted.block, noted.key, noted.value,
                      layers.origin(source_of(noted, notes).at)});
  }
  return values;
}

// One table of each kind is read, so that every reader asks for its keys. Errors do not matter.
KeyBook read_keys() {
  constexpr std::string_view kSample =
      "[[models]]\nname = \"m\"\n[[cluster.nodes]]\nname = \"n\"\n[[gpus.simulated]]\n"
      "[[gpus.kinds]]\nname = \"k\"\n";
  Diagnostics diagnostics;
  Notes notes;
  diagnostics.note_in(&notes);
  const KeyBook none;
  const ReadFile read_sample = [&](const std::string&, std::string&) {
    return std::optional<std::string>(kSample);
  };
  const auto document = ConfigLayers(none, diagnostics).lay({.path = "sample"}, read_sample);
  (void)read_config(*document, read_sample, diagnostics);
  KeyBook keys;
  keys.all.assign(notes.keys.begin(), notes.keys.end());
  for (const NotedValue& noted : notes.values) {
    if (!noted.block.empty()) continue;
    const std::string section = noted.section.empty() ? "" : noted.section + ".";
    const std::string path = section + noted.key;
    // What is shown with a unit is known without.
    const bool is_known = notes.keys.contains(path);
    keys.single.push_back(is_known ? path : section + std::string(without_unit_suffix(noted.key)));
  }
  return keys;
}

}  // namespace

std::string ConfigValue::key() const {
  if (section.empty()) return name;
  std::string below = section;
  if (block.starts_with('[')) {
    below += block;
  } else if (!block.empty()) {
    below += "." + toml_key(block);
  }
  return below + "." + name;
}

std::optional<LoadedConfig> load_config(const ConfigSources& sources, Diagnostics& diagnostics,
                                        const ReadFile& read_file) {
  const KeyBook keys = read_keys();
  ConfigLayers layers(keys, diagnostics);
  const std::optional<Node> document = layers.lay(sources, read_file);
  if (!document) return std::nullopt;
  Notes notes;
  diagnostics.note_in(&notes);
  ServerConfig config = read_config(*document, read_file, diagnostics);
  diagnostics.note_in(nullptr);
  if (!diagnostics.empty()) return std::nullopt;
  return LoadedConfig{std::move(config), values_of(notes, layers)};
}

std::vector<std::string> known_config_keys() { return read_keys().all; }

std::string config_toml(std::span<const ConfigValue> values) {
  std::string text;
  const ConfigValue* before = nullptr;
  for (const ConfigValue& value : values) {
    const bool same_table =
        before != nullptr && before->section == value.section && before->block == value.block;
    if (!same_table && !value.section.empty()) {
      const bool is_block = !value.block.empty();
      text += (is_block ? "\n[[" : "\n[") + value.section + (is_block ? "]]\n" : "]\n");
    }
    text += value.value.empty() ? "# " + value.name + " is not set\n"
                                : value.name + " = " + value.value + "\n";
    before = &value;
  }
  return text;
}

}  // namespace berth::config
