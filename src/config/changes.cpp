// See changes.h.
#include "config/changes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

namespace berth::config {
namespace {

// Sections that can change while the server runs; the others need a restart.
constexpr std::array<std::string_view, 5> kLive = {"policy", "tenant_defaults", "tenants", "models",
                                                   "queues"};

// Blocks that hold after a restart only; they are compared as a whole.
constexpr std::string_view kSimulatedGpus = "gpus.simulated";
constexpr std::string_view kKinds = "gpus.kinds";
constexpr std::string_view kNodes = "cluster.nodes";

bool is_whole(const ConfigValue& value) {
  return value.section == kSimulatedGpus || value.section == kKinds || value.section == kNodes;
}

bool is_live(const ConfigValue& value) {
  // What `builtin_queues` changes shows in the queues.
  return value.section.empty() || std::ranges::find(kLive, value.section) != kLive.end();
}

// Where nothing says whether unknown tenants are made, it follows from `authentication`.
bool follows_authentication(const ConfigValue& value) {
  return value.key() == "tenant_defaults.make_unknown" && value.origin == "default";
}

template <class Spec>
std::map<std::string_view, const Spec*> by_name(const Catalog<Spec>& catalog) {
  std::map<std::string_view, const Spec*> result;
  for (std::size_t i = 0; i < catalog.size(); ++i)
    result.emplace(catalog.names[i], &catalog.specs[i]);
  return result;
}

// The added and changed ones in their new order, then the removed ones in their old one.
template <class Spec, class Same>
std::vector<Change<Spec>> changes_of(const Catalog<Spec>& before, const Catalog<Spec>& next,
                                     Same same) {
  const auto old = by_name(before);
  const auto now = by_name(next);
  std::vector<Change<Spec>> result;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const auto found = old.find(next.names[i]);
    if (found == old.end()) {
      result.push_back({ChangeKind::added, next.names[i], next.specs[i]});
    } else if (!same(*found->second, next.specs[i])) {
      result.push_back({ChangeKind::changed, next.names[i], next.specs[i]});
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (now.contains(before.names[i])) continue;
    result.push_back({ChangeKind::removed, before.names[i], before.specs[i]});
  }
  return result;
}

std::string_view model_of(const Queue& queue, const ServerConfig& config) {
  if (!queue.spec.model) return {};
  return config.models.names[queue.spec.model.value];
}

std::string_view parent_of(const Tenant& tenant, const ServerConfig& config) {
  if (!tenant.spec.parent) return {};
  return config.tenants.names[tenant.spec.parent.value];
}

std::string shown(const std::string& value) { return value.empty() ? "not set" : value; }

// The keys whose values differ, with both values. A block that comes or goes does so as a whole.
void tell_keys(const LoadedConfig& before, const LoadedConfig& next, ConfigChanges& result) {
  const bool other_doors = before.config.server.authentication != next.config.server.authentication;
  const auto tell = [&](const ConfigValue& value, const std::string& old, const std::string& now) {
    if (old == now) return;
    const bool waits = !is_live(value) || (other_doors && follows_authentication(value));
    if (waits) result.restart.push_back(value.key());
    result.sentences.push_back(value.key() + ": " + shown(old) + " becomes " + shown(now) +
                               (waits ? " after a restart" : ""));
  };
  std::map<std::string, const ConfigValue*> gone;
  for (const ConfigValue& value : before.values) {
    if (!is_whole(value)) gone.emplace(value.key(), &value);
  }
  for (const ConfigValue& value : next.values) {
    if (is_whole(value)) continue;
    const auto old = gone.find(value.key());
    if (old != gone.end()) {
      tell(value, old->second->value, value.value);
      gone.erase(old);
    } else if (value.block.empty()) {
      tell(value, "", value.value);
    }
  }
  for (const auto& [key, value] : gone) {
    if (value->block.empty()) tell(*value, value->value, "");
  }
}

template <class Spec>
void tell_blocks(std::string_view noun, const std::vector<Change<Spec>>& list,
                 const WasPut& was_put, std::vector<std::string>& sentences) {
  for (const Change<Spec>& change : list) {
    if (change.kind == ChangeKind::changed) continue;  // said key by key
    const std::string named = std::string(noun) + " " + config::quoted(change.name);
    if (change.kind == ChangeKind::added) {
      sentences.push_back(named + " is added");
    } else if (was_put && was_put(noun, change.name)) {
      sentences.push_back(named + " is removed from the file and stays, because it was put");
    } else {
      sentences.push_back(removal_sentence(noun, change.name));
    }
  }
}

}  // namespace

std::string removal_sentence(std::string_view noun, const std::string& name) {
  const std::string named = std::string(noun) + " " + config::quoted(name) + " is removed: ";
  if (noun == "queue") return named + "it takes no new tasks, and is forgotten when it is empty";
  if (noun == "model") return named + "it is forgotten when no queue names it and no GPU has it";
  return named + "it has the tenant_defaults from now on";
}

LoadedConfig after_reload(const LoadedConfig& now, const LoadedConfig& next) {
  LoadedConfig result = now;
  ServerConfig& config = result.config;
  config.builtin_queues = next.config.builtin_queues;
  config.policy = next.config.policy;
  config.table_every = next.config.table_every;
  config.tenant_defaults = next.config.tenant_defaults;
  config.tenants = next.config.tenants;
  config.models = next.config.models;
  config.queues = next.config.queues;

  result.values.clear();
  std::set<std::string_view> kept;  // sections
  const auto keep = [&](const std::string& section) {
    if (!kept.insert(section).second) return;
    std::ranges::copy_if(now.values, std::back_inserter(result.values),
                         [&](const ConfigValue& value) { return value.section == section; });
  };
  for (const ConfigValue& value : next.values) {
    if (!is_live(value)) {
      keep(value.section);
      continue;
    }
    result.values.push_back(value);
    if (!follows_authentication(value)) continue;
    config.tenant_defaults.make_unknown = !now.config.server.authentication;
    result.values.back().value = now.config.server.authentication ? "false" : "true";
  }
  for (const ConfigValue& value : now.values)
    if (!is_live(value)) keep(value.section);
  return result;
}

ConfigChanges changes(const LoadedConfig& before, const LoadedConfig& next, const WasPut& was_put) {
  const ServerConfig& old = before.config;
  const ServerConfig& now = next.config;
  ConfigChanges result;
  if (old.table_every != now.table_every) result.table_every = now.table_every;
  result.tenants = changes_of(old.tenants, now.tenants, [&](Tenant a, Tenant b) {
    if (parent_of(a, old) != parent_of(b, now)) return false;
    a.spec.parent = b.spec.parent;
    return a == b;
  });
  result.models = changes_of(old.models, now.models, std::equal_to<core::ModelSpec>());
  result.queues = changes_of(old.queues, now.queues, [&](Queue a, Queue b) {
    if (model_of(a, old) != model_of(b, now)) return false;
    a.spec.model = b.spec.model;
    return a == b;
  });

  tell_keys(before, next, result);
  const auto tell_whole = [&](std::string_view section, bool differs) {
    if (!differs) return;
    result.restart.emplace_back(section);
    result.sentences.push_back(std::string(section) + ": others after a restart");
  };
  tell_whole(kSimulatedGpus, old.gpus.simulated != now.gpus.simulated);
  tell_whole(kKinds, old.gpus.kinds != now.gpus.kinds);
  tell_whole(kNodes, old.nodes != now.nodes);
  tell_blocks("tenant", result.tenants, was_put, result.sentences);
  tell_blocks("model", result.models, was_put, result.sentences);
  tell_blocks("queue", result.queues, was_put, result.sentences);
  return result;
}

}  // namespace berth::config
