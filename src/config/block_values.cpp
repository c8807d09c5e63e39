// See block_values.h.
#include "config/block_values.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/document.h"
#include "config/fields.h"
#include "config/notes.h"
#include "config/quantity.h"
#include "config/sections.h"
#include "config/server_sections.h"

namespace berth::config {
namespace {

// A block on its way through a reader.
class BlockReading {
 public:
  explicit BlockReading(const std::string& name) : name_(name) { set("name", toml_string(name)); }

  void set(const std::string& key, const std::string& value) {
    table_.entries.push_back({key, {}, parse_value(value, {})});
  }
  // The value of a key that names something else; none: it is not among the values.
  static std::optional<std::string> name_in(std::span<const KeyValue> values,
                                            std::string_view key) {
    const auto found = std::ranges::find(values, key, &KeyValue::key);
    if (found == values.end()) return std::nullopt;
    return found->value.empty() ? "" : parse_value(found->value, {}).text;
  }
  template <class Read>
  std::string run(const std::string& section, const Read& read) {
    TableReader table(table_, section, diagnostics_, name_);
    diagnostics_.note_in(&notes_);
    read(table);
    diagnostics_.note_in(nullptr);
    return diagnostics_.empty() ? "" : diagnostics_.sorted().front().message;
  }
  std::vector<KeyValue> values() const {
    std::vector<KeyValue> values;
    for (const NotedValue& noted : notes_.values)
      values.push_back({noted.key, noted.value});
    return values;
  }

 private:
  const std::string& name_;
  Node table_;
  Diagnostics diagnostics_;
  Notes notes_;
};

// `values`, if it is not null, gets all that the block then has.
std::string read(TenantBlock& block, std::span<const KeyValue> over,
                 std::vector<KeyValue>* values) {
  BlockReading reading(block.name);
  TenantBlock next = block;
  next.parent = BlockReading::name_in(over, "parent").value_or(block.parent);
  if (!next.parent.empty()) reading.set("parent", toml_string(next.parent));
  for (const KeyValue& value : over)
    if (value.key != "parent" && value.key != "name") reading.set(value.key, value.value);
  std::string flaw = reading.run("tenants", [&](TableReader& table) {
    read_tenant(table, {&next.parent, 1}, next.name, next.tenant.spec);
    read_tenant_rights(table, next.tenant);
    table.finish();
  });
  if (flaw.empty()) block = std::move(next);
  if (values != nullptr) *values = reading.values();
  return flaw;
}

std::string read(QueueBlock& block, std::span<const KeyValue> over, std::vector<KeyValue>* values) {
  BlockReading reading(block.name);
  QueueBlock next = block;
  next.model = BlockReading::name_in(over, "model").value_or(block.model);
  next.queue.work_class =
      BlockReading::name_in(over, "work_class").value_or(block.queue.work_class);
  if (!next.model.empty()) reading.set("model", toml_string(next.model));
  for (const KeyValue& value : over) {
    const bool is_set = value.key == "model" || value.key == "work_class" || value.key == "name";
    if (!is_set) reading.set(value.key, value.value);
  }
  if (!next.queue.work_class.empty()) {
    reading.set("work_class", toml_string(next.queue.work_class));
  }
  std::string flaw = reading.run("queues", [&](TableReader& table) {
    read_queue(table, {&next.model, 1}, next.name, next.queue);
  });
  if (flaw.empty()) block = std::move(next);
  if (values != nullptr) *values = reading.values();
  return flaw;
}

std::string read(ModelBlock& block, std::span<const KeyValue> over, std::vector<KeyValue>* values) {
  BlockReading reading(block.name);
  ModelBlock next = block;
  // A file must say it; here it has been said.
  const auto is_weights = [](const KeyValue& value) {
    return without_unit_suffix(value.key) == "weights";
  };
  if (std::ranges::none_of(over, is_weights)) {
    reading.set("weights", toml_of(block.spec.weights.value, vram_amounts()));
  }
  for (const KeyValue& value : over)
    if (value.key != "name") reading.set(value.key, value.value);
  std::string flaw = reading.run("models", [&](TableReader& table) {
    read_model(table, next.name, next.spec);
    table.finish();
  });
  if (flaw.empty()) block = std::move(next);
  if (values != nullptr) *values = reading.values();
  return flaw;
}

template <class Block>
std::vector<KeyValue> values_in(const Block& block) {
  Block copy = block;
  std::vector<KeyValue> values;
  read(copy, {}, &values);
  return values;
}

}  // namespace

std::string lay_over(TenantBlock& block, std::span<const KeyValue> values) {
  return read(block, values, nullptr);
}
std::string lay_over(QueueBlock& block, std::span<const KeyValue> values) {
  return read(block, values, nullptr);
}
std::string lay_over(ModelBlock& block, std::span<const KeyValue> values) {
  return read(block, values, nullptr);
}

std::vector<KeyValue> values_of(const TenantBlock& block) { return values_in(block); }
std::vector<KeyValue> values_of(const QueueBlock& block) { return values_in(block); }
std::vector<KeyValue> values_of(const ModelBlock& block) { return values_in(block); }

}  // namespace berth::config
