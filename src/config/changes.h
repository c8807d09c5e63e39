// What a new configuration changes: for a reload without restart.
//
// Tenants, queues, models and policy can change while the server runs; whatever else differs is
// named, and holds after a restart: until then the values of the start do, however often the file
// is read. Things are the same by their name, never by their position.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
  std::optional<Duration> table_every;  // the new one, if it differs
  std::vector<Change<Tenant>> tenants;
  std::vector<Change<core::ModelSpec>> models;
  std::vector<Change<Queue>> queues;
  std::vector<std::string> restart;    // keys that hold after a restart only
  std::vector<std::string> sentences;  // all of the above for people, one each

  bool empty() const { return sentences.empty(); }
};

// Whether a block of this noun ("queue") was put, so that it stays when the file drops it.
using WasPut = std::function<bool(std::string_view noun, const std::string& name)>;

// What is in force when `next` is read while `now` is: what can change at once is that of `next`,
// the rest, and what follows from it, stays. `changes` from this to `next` is what waits for a
// restart.
LoadedConfig after_reload(const LoadedConfig& now, const LoadedConfig& next);

ConfigChanges changes(const LoadedConfig& before, const LoadedConfig& next,
                      const WasPut& was_put = {});

// What becomes of a tenant, queue or model that stands in the configuration no more.
std::string removal_sentence(std::string_view noun, const std::string& name);

}  // namespace berth::config
