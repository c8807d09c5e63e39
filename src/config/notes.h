// Notes: which keys the readers asked for, and the value each of them ended with.
//
// The code that reads a key is the only list of keys there is; what it leaves here drives `--set`,
// the environment, `config show` and the tests of the guides. Lists and drawn values are noted as
// keys only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/diagnostics.h"

namespace berth::config {

struct NotedValue {
  std::string section;       // "policy", "gpus.simulated"; "" at the top of the file
  std::string block;         // of [[section]]: its name, or its place as "[0]"; else ""
  std::string key;           // "patience"
  std::string value;         // as TOML; "" if there is none, such as a limit that is not set
  std::optional<Origin> at;  // none: the default
};

struct Notes {
  std::set<std::string> keys;  // "policy", "policy.patience", "queues.max_batch_size"
  std::vector<NotedValue> values;
};

}  // namespace berth::config
