// The keys of one block of [[tenants]], [[queues]] or [[models]], apart from any file: values laid
// over what a block has, and all that a block has as values.
//
// The readers of the sections do both, so that what is put by the API is checked, spelled and shown
// as if it stood in the file. Names of other blocks stay names: whether there are such is for the
// caller to say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/server_config.h"

namespace berth::config {

// A key with its value as TOML; "": none. The key may carry a unit: `load_time_ms`.
struct KeyValue {
  std::string key;
  std::string value;
  bool operator==(const KeyValue&) const = default;
};

struct TenantBlock {
  std::string name;
  Tenant tenant;  // its parent and its unix_user, which only a file has, are not read:
  std::string parent;
};
struct QueueBlock {
  std::string name;
  Queue queue;  // its model is not read:
  std::string model;
};
struct ModelBlock {
  std::string name;
  core::ModelSpec spec;
};

// What is wrong with the block then, and it stays as it was; "": nothing.
std::string lay_over(TenantBlock& block, std::span<const KeyValue> values);
std::string lay_over(QueueBlock& block, std::span<const KeyValue> values);
std::string lay_over(ModelBlock& block, std::span<const KeyValue> values);

// Every key, in the order of the readers, none with a unit.
std::vector<KeyValue> values_of(const TenantBlock& block);
std::vector<KeyValue> values_of(const QueueBlock& block);
std::vector<KeyValue> values_of(const ModelBlock& block);

}  // namespace berth::config
