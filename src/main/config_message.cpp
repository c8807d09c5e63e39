// See config_message.h.
#include "main/config_message.h"

namespace berth::main {

v1::GetConfigResponse config_message(const config::LoadedConfig& config) {
  v1::GetConfigResponse message;
  for (const config::ConfigValue& value : config.values) {
    v1::ConfigValue& out = *message.add_values();
    out.set_key(value.key());
    out.set_value(value.value);
    out.set_origin(value.origin);
  }
  message.set_toml(config::config_toml(config.values));
  return message;
}

}  // namespace berth::main
