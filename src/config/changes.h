// What a new configuration changes: for a reload without restart.
//
// Tenants, queues, models and policy can change while the server runs; whatever else differs is
// named, and holds after a restart. Things are the same by their name, never by their position.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load_config.h"

namespace berth::config {

enum class ChangeKind : std::uint8_t { added, changed, removed };

template <class Spec>
struct Change {
  ChangeKind kind = ChangeKind::added;
  std::string name;
  Spec spec;  // the new one; of what was removed, the old one
};

struct ConfigChanges {
  std::optional<core::PolicySpec> policy;  // the new one, if it differs
  std::optional<Duration> table_every;
  std::optional<TenantDefaults> tenant_defaults;
  std::vector<Change<Tenant>> tenants;
  std::vector<Change<core::ModelSpec>> models;
  // A queue's model is a position in the models of the configuration that its spec is from.
  std::vector<Change<Queue>> queues;
  std::vector<std::string> restart;    // keys that hold after a restart only
  std::vector<std::string> sentences;  // all of the above for people, one each

  bool empty() const { return sentences.empty(); }
};

ConfigChanges changes(const LoadedConfig& before, const LoadedConfig& next);

}  // namespace berth::config
