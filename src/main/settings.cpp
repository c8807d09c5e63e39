// See settings.h.
#include "main/settings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/text.h"
#include "service/blocks.h"

namespace berth::main {
namespace {

using config::ConfigValue;
using config::KeyValue;
using service::Section;

constexpr Section kSections[] = {Section::tenants, Section::models, Section::queues};

std::optional<Section> section_of(const ConfigValue& value) {
  for (const Section section : kSections)
    if (value.section == name_of(section)) return section;
  return std::nullopt;
}

std::string put_at(std::int64_t wall_unix_ns) {
  return "put " + cli::instant_text(wall_unix_ns / 1'000'000);
}

const service::PutKey* find_put(const ConfigValue& value, const service::Names& names) {
  const auto section = section_of(value);
  const service::PutKeys* keys = section ? names.put(*section, value.block) : nullptr;
  if (keys == nullptr) return nullptr;
  const auto found = keys->find(value.name);
  return found == keys->end() ? nullptr : &found->second;
}

// Empty: the service knows no such block.
std::vector<KeyValue> values_of(Section section, const std::string& name,
                                const service::Names& names) {
  switch (section) {
    case Section::tenants:
      if (const TenantId id = names.tenant(name))
        return config::values_of(service::tenant_block(names, id));
      break;
    case Section::queues:
      if (const QueueId id = names.queue(name))
        return config::values_of(service::queue_block(names, id));
      break;
    case Section::models:
      if (const ModelId id = names.model(name))
        return config::values_of(service::model_block(names, id));
      break;
  }
  return {};
}

// The blocks of the section that stand in the values.
std::set<std::string> blocks_in(const std::vector<ConfigValue>& values, Section section) {
  std::set<std::string> blocks;
  for (const ConfigValue& value : values)
    if (value.section == name_of(section)) blocks.insert(value.block);
  return blocks;
}

std::vector<ConfigValue> block_only_put(Section section, const std::string& name,
                                        const service::PutKeys& keys, const service::Names& names) {
  std::vector<ConfigValue> values;
  for (const KeyValue& value : values_of(section, name, names)) {
    const auto put = keys.find(value.key);
    const std::string origin = put == keys.end() ? "default" : put_at(put->second.wall_unix_ns);
    values.push_back({std::string(name_of(section)), name, value.key, value.value, origin});
  }
  return values;
}

std::string shown(const std::string& value) { return value.empty() ? "not set" : value; }

}  // namespace

config::LoadedConfig with_puts(const config::LoadedConfig& config, const service::Names& names) {
  config::LoadedConfig result = config;
  for (ConfigValue& value : result.values) {
    const service::PutKey* put = value.name == "name" ? nullptr : find_put(value, names);
    if (put == nullptr) continue;
    value.value = put->value;
    value.origin = put_at(put->wall_unix_ns);
  }
  for (const Section section : kSections) {
    const std::set<std::string> known = blocks_in(result.values, section);
    std::vector<ConfigValue> more;
    for (const auto& [block, keys] : names.puts()) {
      if (block.first != section || known.contains(block.second)) continue;
      std::ranges::move(block_only_put(section, block.second, keys, names),
                        std::back_inserter(more));
    }
    const auto is_of = [&](const ConfigValue& value) { return value.section == name_of(section); };
    const auto last = std::find_if(result.values.rbegin(), result.values.rend(), is_of);
    // Where none of the section stands, they come last.
    result.values.insert(last == result.values.rend() ? result.values.end() : last.base(),
                         more.begin(), more.end());
  }
  return result;
}

config::LoadedConfig in_force(const config::LoadedConfig& config, const service::Names& names) {
  config::LoadedConfig result = with_puts(config, names);
  std::map<std::pair<Section, std::string>, std::vector<KeyValue>> running;
  for (ConfigValue& value : result.values) {
    const auto section = section_of(value);
    if (!section) continue;
    const auto [at, fresh] = running.try_emplace({*section, value.block});
    if (fresh) at->second = values_of(*section, value.block, names);
    if (at->second.empty()) {
      value.origin = "refused; it says " + value.origin;
      continue;
    }
    const auto has = std::ranges::find(at->second, value.name, &KeyValue::key);
    if (has == at->second.end()) continue;  // a key of the file alone, as unix_user
    if (has->value != value.value) {
      value.origin = "kept; " + shown(value.value) + " was refused: " + value.origin;
      value.value = has->value;
    }
  }
  return result;
}

std::vector<std::string> puts_against(const config::LoadedConfig& config,
                                      const service::Names& names) {
  std::vector<std::string> sentences;
  for (const ConfigValue& value : config.values) {
    const service::PutKey* put = find_put(value, names);
    if (put == nullptr || put->value == value.value) continue;
    sentences.push_back(value.key() + ": " + shown(put->value) + " (" + put_at(put->wall_unix_ns) +
                        ") holds, not " + shown(value.value) + " (" + value.origin + ")");
  }
  for (const Section section : kSections) {
    const std::set<std::string> known = blocks_in(config.values, section);
    for (const auto& [block, keys] : names.puts()) {
      if (block.first != section || known.contains(block.second)) continue;
      sentences.push_back(std::string(noun_of(section)) + " " + config::quoted(block.second) +
                          " was put and is not in the configuration");
    }
  }
  return sentences;
}

config::ConfigChanges changes_between(const config::LoadedConfig& before,
                                      const config::LoadedConfig& next,
                                      const service::Names& names) {
  return config::changes(before, next, [&](std::string_view noun, const std::string& name) {
    return std::ranges::any_of(kSections, [&](Section section) {
      return noun_of(section) == noun && names.put(section, name) != nullptr;
    });
  });
}

std::vector<std::string> kept_puts(const config::LoadedConfig& before,
                                   const config::LoadedConfig& next, const service::Names& names) {
  std::map<std::string, const ConfigValue*> old;
  for (const ConfigValue& value : before.values)
    if (find_put(value, names) != nullptr) old.emplace(value.key(), &value);
  std::vector<std::string> sentences;
  for (const ConfigValue& value : next.values) {
    const service::PutKey* put = find_put(value, names);
    const auto at = put == nullptr ? old.end() : old.find(value.key());
    if (at == old.end() || at->second->value == value.value) continue;
    sentences.push_back(value.key() + ": " + shown(put->value) + " stays, because it was put; " +
                        shown(value.value) + " (" + value.origin + ") holds when it is reverted");
  }
  return sentences;
}

}  // namespace berth::main
