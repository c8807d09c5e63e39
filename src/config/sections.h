// The sections that a scenario and a server's configuration share: tenants, models, queues, policy.
//
// A reader fills the values of one table; it knows no other section except the names it may refer
// to. The caller may ask the table for keys of its own, and then calls `finish`.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/fields.h"
#include "core/model/specs.h"

namespace berth::config {

// Names and specs of one noun; the same position in both.
template <class Spec>
struct Catalog {
  std::vector<std::string> names;
  std::vector<Spec> specs;

  std::size_t size() const { return specs.size(); }
  void add(std::string name, Spec spec) {
    names.push_back(std::move(name));
    specs.push_back(std::move(spec));
  }
};

// A block of a named noun: reads `name`, and reports a name that is already taken.
class NameBook {
 public:
  explicit NameBook(std::string noun) : noun_(std::move(noun)) {}
  void claim(const std::string& name, Origin at, std::string_view path, Diagnostics& diagnostics);

 private:
  std::string noun_;
  std::map<std::string, Origin> taken_;
};

void read_policy(TableReader& table, core::PolicySpec& policy);
void read_tenant(TableReader& table, std::string& name, core::TenantSpec& tenant);
void read_model(TableReader& table, std::string& name, core::ModelSpec& model);
// `models` are the names that a queue's model may have; the position is its id.
void read_queue(TableReader& table, std::span<const std::string> models, std::string& name,
                core::QueueSpec& queue);

// Reports `key`, the time per task, if a batch of so many tasks would take too long to reckon with.
void check_batch_time(TableReader& table, std::string_view key, Duration base, Duration per_task,
                      std::int64_t tasks);

// What `[policy] order` and `packing` may be, in the order of the enums.
std::vector<std::string> order_names();
std::vector<std::string> packing_names();

}  // namespace berth::config
