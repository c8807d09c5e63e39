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
#include "config/work_class.h"
#include "core/model/specs.h"

namespace berth::config {

// What numbers of these sections may be: for the file, and for what is put by the API.
namespace ranges {
inline constexpr NumberType kWeight = thousandths(core::kWeightMin, core::kWeightMax);
inline constexpr NumberType kQueueSize = integers(0, 1'000'000'000);
// An empty bucket would refuse every task for good, whatever flows into it.
inline constexpr NumberType kTokenBucket = integers(1, core::kTokensMax);
inline constexpr NumberType kTokenRate = integers(0, core::kTokensMax);
inline constexpr NumberType kDailyTokens = integers(0, core::kDailyTokensMax);
inline constexpr NumberType kGpuAmount = thousandths(0, core::kGpusMax * 1000);
inline constexpr NumberType kTasksOfQueue = integers(1, core::kLiveTasksMax);
inline constexpr NumberType kTaskGpus = integers(1, core::kGpusMax);
inline constexpr NumberType kBatchSize = integers(1, core::kBatchSizeMax);
inline constexpr NumberType kBatchTime = durations(0, kLongestRun);
}  // namespace ranges

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
  bool operator==(const Catalog&) const = default;
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
// `tenants` are the names that its parent may have; the position is its id.
void read_tenant(TableReader& table, std::span<const std::string> tenants, std::string& name,
                 core::TenantSpec& tenant);
// The same without the name.
void read_tenant_limits(TableReader& table, core::TenantSpec& tenant);
// What the tables have as `name`, for those that refer to each other; "" where there is none.
std::vector<std::string> names_in(std::vector<TableReader>& tables);
// Whether the tenants make a tree; reports the first that does not. All in one order.
bool check_tree(std::vector<TableReader>& tables, std::span<const std::string> names,
                std::span<const TenantId> parents);
// The positions of all tenants, those above before those below.
std::vector<std::size_t> parents_first(std::span<const TenantId> parents);
// Checks that the tenants make a tree and puts parents before their children: in that order they
// can be made one after the other. `spec_of` finds the core's spec in the catalog's.
template <class Spec, class SpecOf>
void put_in_tree(std::vector<TableReader>& tables, Catalog<Spec>& tenants, SpecOf spec_of) {
  std::vector<TenantId> parents;
  for (Spec& spec : tenants.specs)
    parents.push_back(spec_of(spec).parent);
  if (!check_tree(tables, tenants.names, parents)) return;
  std::vector<TenantId> moved_to(tenants.size());
  Catalog<Spec> sorted;
  for (const std::size_t from : parents_first(parents)) {
    moved_to[from] = TenantId{static_cast<std::uint32_t>(sorted.size())};
    sorted.add(tenants.names[from], tenants.specs[from]);
    if (parents[from]) spec_of(sorted.specs.back()).parent = moved_to[parents[from].value];
  }
  tenants = std::move(sorted);
}
void read_model(TableReader& table, std::string& name, core::ModelSpec& model);
// `models` are the names that a queue's model may have; the position is its id.
// Its class of work is a name, whose number the caller knows; "": none.
void read_queue(TableReader& table, std::span<const std::string> models, std::string& name,
                core::QueueSpec& queue, std::string& work_class);

// One or several equal GPUs.
struct GpuBlock {
  std::string kind = "gpu";
  std::string name;  // the kind in lower case, if none was given
  std::int64_t count = 1;
  Mib vram{0};
  Milli speed{1000};
  SpeedByClass speed_by_class;

  // `name`, or `name-i` if there are several.
  std::string name_of(std::int64_t i) const;
  bool operator==(const GpuBlock&) const = default;
};
void read_gpu_block(TableReader& table, GpuBlock& gpus);

// Reports `key`, the time per task, if a batch of so many tasks would take too long to reckon with.
void check_batch_time(TableReader& table, std::string_view key, Duration base, Duration per_task,
                      std::int64_t tasks);

// What a tenant's `isolation` may be, in the order of the enum.
std::vector<std::string> isolation_names();
// What `[policy] order` and `packing` may be, in the order of the enums.
std::vector<std::string> order_names();
std::vector<std::string> packing_names();

}  // namespace berth::config
