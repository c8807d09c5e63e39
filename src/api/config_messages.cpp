// See config_messages.h.
#include "api/config_messages.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/names.h"
#include "config/document.h"
#include "config/fields.h"
#include "config/sections.h"
#include "config/server_config.h"
#include "core/model/ranges.h"

namespace berth::api {
namespace {

double whole(Milli amount) { return static_cast<double>(amount.value) / 1000.0; }

template <class Number>
void assign(Number& to, std::int64_t value) {
  to = static_cast<Number>(value);
}
template <class Number>
void assign(std::optional<Number>& to, std::int64_t value) {
  to = static_cast<Number>(value);
}

// Checks one field after the other and notes the flaws under "config.".
class Merger {
 public:
  explicit Merger(std::vector<FieldFlaw>& flaws) : flaws_(flaws) {}

  // In the words of the configuration file, whose ranges these are.
  template <class To>
  void integer(const std::string& field, std::int64_t value, const config::NumberType& type,
               To& to) {
    if (value >= type.low && value <= type.high) {
      assign(to, value);
    } else {
      wrong(field, "expected " + config::expectation(type) + ", found " + std::to_string(value));
    }
  }
  // A number of GPUs or a weight: thousandths inside.
  template <class To>
  void milli(const std::string& field, double value, const config::NumberType& type, To& to) {
    const double scaled = std::round(value * 1000.0);
    if (scaled >= static_cast<double>(type.low) && scaled <= static_cast<double>(type.high)) {
      to = Milli{static_cast<std::int64_t>(scaled)};
    } else {
      wrong(field, "expected " + config::expectation(type) + ", found " + decimal(value));
    }
  }
  template <class To>
  void milliseconds_to(const std::string& field, std::int64_t value, To& to,
                       const config::NumberType& type = config::durations()) {
    const std::int64_t least = type.low / 1'000'000;
    const std::int64_t most = type.high / 1'000'000;
    if (value < least || value > most) return outside(field, value, {least, most}, "ms");
    to = milliseconds(value);
  }
  void mebibytes_to(const std::string& field, std::int64_t value, Mib& to) {
    const std::int64_t most = config::vram_amounts().high;
    if (value < 0 || value > most) return outside(field, value, {0, most}, "MiB");
    to = {value};
  }
  // A name of something else, or "" for none.
  void name_to(const std::string& field, const std::string& name, std::string& to) {
    std::string flaw = name.empty() ? "" : flaw_in_name(name);
    if (!flaw.empty()) wrong(field, std::move(flaw));
    to = name;
  }
  template <class Enum>
  void choice(const std::string& field, const std::string& name,
              const std::vector<std::string>& names, Enum& to) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) {
      to = static_cast<Enum>(found - names.begin());
      return;
    }
    std::string flaw = "expected ";
    for (std::size_t i = 0; i < names.size(); ++i)
      flaw += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    wrong(field, std::move(flaw));
  }
  void wrong(const std::string& field, std::string flaw) {
    flaws_.push_back({"config." + field, std::move(flaw)});
  }
  // Of two amounts of GPUs.
  void at_least(const std::string& field, Milli value, const std::string& other, Milli least) {
    if (value >= least) return;
    const config::NumberType& type = config::ranges::kGpuAmount;
    wrong(field, "expected at least " + other + ", " + config::toml_of(least.value, type) +
                     ", found " + config::toml_of(value.value, type));
  }

 private:
  void outside(const std::string& field, std::int64_t value,
               std::pair<std::int64_t, std::int64_t> range, const char* unit) {
    wrong(field, "expected " + std::to_string(range.first) + " to " + std::to_string(range.second) +
                     " " + unit + ", found " + std::to_string(value));
  }

  std::vector<FieldFlaw>& flaws_;
};

void merge_defaults(const v1::QueueConfig& config, Merger& merger, config::TaskDefaults& defaults) {
  const auto time = [&](const char* field, bool is_given, std::int64_t value,
                        std::optional<Duration>& to) {
    if (is_given) merger.milliseconds_to(field, value, to, config::durations(1'000'000));
  };
  if (config.has_default_share()) {
    merger.milli("default_share", config.default_share(), config::thousandths(1, 1000),
                 defaults.share);
  }
  time("default_tolerated_wait_ms", config.has_default_tolerated_wait_ms(),
       config.default_tolerated_wait_ms(), defaults.tolerated_wait);
  time("default_run_limit_ms", config.has_default_run_limit_ms(), config.default_run_limit_ms(),
       defaults.run_limit);
  time("max_run_limit_ms", config.has_max_run_limit_ms(), config.max_run_limit_ms(),
       defaults.max_run_limit);
  if (defaults.run_limit && defaults.max_run_limit &&
      *defaults.run_limit > *defaults.max_run_limit) {
    merger.wrong("default_run_limit_ms", "must be at most max_run_limit_ms");
  }
}

}  // namespace

v1::TenantConfig config_message(const service::TenantEntry& tenant, const service::Names& names) {
  const core::TenantSpec& spec = tenant.spec;
  v1::TenantConfig config;
  config.set_parent(spec.parent ? names.tenants()[spec.parent.value].name : "");
  config.set_weight(whole(spec.weight));
  if (spec.max_queue_size) config.set_max_queue_size(*spec.max_queue_size);
  if (spec.token_bucket_size) config.set_token_bucket_size(*spec.token_bucket_size);
  config.set_token_refill_rate(spec.token_refill_rate);
  if (spec.daily_token_limit) config.set_daily_token_limit(*spec.daily_token_limit);
  config.set_guaranteed_gpus(whole(spec.guaranteed_gpus));
  if (spec.borrow_gpus) config.set_borrow_gpus(whole(*spec.borrow_gpus));
  if (spec.max_gpus) config.set_max_gpus(whole(*spec.max_gpus));
  config.set_isolation(config::isolation_names()[static_cast<std::size_t>(spec.isolation)]);
  config.set_tier(tenant.tier);
  config.set_commands(tenant.commands);
  return config;
}

v1::QueueConfig config_message(const service::QueueEntry& queue, const service::Names& names) {
  const core::QueueSpec& spec = queue.spec;
  v1::QueueConfig config;
  config.set_model(spec.model ? names.models()[spec.model.value].name : "");
  config.set_max_batch_size(spec.max_batch_size);
  config.set_max_batch_wait_ms(ms_of(spec.max_batch_wait));
  config.set_adaptive(spec.adaptive_wait);
  config.set_refuse_late(spec.refuse_late);
  if (spec.max_gpus) config.set_max_gpus(whole(*spec.max_gpus));
  config.set_min_gpus(whole(spec.min_gpus));
  config.set_batch_base_ms(ms_of(spec.batch_base));
  config.set_batch_per_task_ms(ms_of(spec.batch_per_task));
  config.set_work_class(spec.work_class ? names.work_classes()[spec.work_class.value] : "");
  config.set_commands(queue.commands);
  config.set_executor(queue.executor.empty() ? "simulated" : queue.executor);
  config.set_ranks(queue.ranks_by_node ? "node" : "gpu");
  config.set_batch_commands(spec.batch_commands);
  if (spec.max_queue_size) config.set_max_queue_size(*spec.max_queue_size);
  if (spec.max_task_gpus) config.set_max_task_gpus(*spec.max_task_gpus);
  const config::TaskDefaults& defaults = queue.defaults;
  if (defaults.share) config.set_default_share(whole(*defaults.share));
  if (defaults.tolerated_wait) {
    config.set_default_tolerated_wait_ms(ms_of(*defaults.tolerated_wait));
  }
  if (defaults.run_limit) config.set_default_run_limit_ms(ms_of(*defaults.run_limit));
  if (defaults.max_run_limit) config.set_max_run_limit_ms(ms_of(*defaults.max_run_limit));
  return config;
}

v1::ModelConfig config_message(const core::ModelSpec& spec) {
  v1::ModelConfig config;
  config.set_weights_mb(spec.weights.value);
  config.set_vram_per_task_mb(spec.vram_per_task.value);
  config.set_load_time_ms(ms_of(spec.load_time));
  config.set_keep_alive_ms(ms_of(spec.keep_alive));
  return config;
}

void merge(const v1::TenantConfig& config, config::TenantBlock& tenant,
           std::vector<FieldFlaw>& flaws) {
  Merger merger(flaws);
  core::TenantSpec& spec = tenant.tenant.spec;
  if (config.has_parent()) merger.name_to("parent", config.parent(), tenant.parent);
  if (config.has_commands()) tenant.tenant.commands = config.commands();
  namespace ranges = config::ranges;
  if (config.has_weight()) merger.milli("weight", config.weight(), ranges::kWeight, spec.weight);
  if (config.has_max_queue_size()) {
    merger.integer("max_queue_size", config.max_queue_size(), ranges::kQueueSize,
                   spec.max_queue_size);
  }
  if (config.has_token_bucket_size()) {
    merger.integer("token_bucket_size", config.token_bucket_size(), ranges::kTokenBucket,
                   spec.token_bucket_size);
  }
  if (config.has_token_refill_rate()) {
    merger.integer("token_refill_rate", config.token_refill_rate(), ranges::kTokenRate,
                   spec.token_refill_rate);
  }
  if (config.has_daily_token_limit()) {
    merger.integer("daily_token_limit", config.daily_token_limit(), ranges::kDailyTokens,
                   spec.daily_token_limit);
  }
  if (config.has_guaranteed_gpus()) {
    merger.milli("guaranteed_gpus", config.guaranteed_gpus(), ranges::kGpuAmount,
                 spec.guaranteed_gpus);
  }
  if (config.has_max_gpus()) {
    merger.milli("max_gpus", config.max_gpus(), ranges::kGpuAmount, spec.max_gpus);
  }
  if (config.has_borrow_gpus()) {
    merger.milli("borrow_gpus", config.borrow_gpus(), ranges::kGpuAmount, spec.borrow_gpus);
  }
  if ((config.has_guaranteed_gpus() || config.has_max_gpus()) && spec.max_gpus) {
    merger.at_least("max_gpus", *spec.max_gpus, "guaranteed_gpus", spec.guaranteed_gpus);
  }
  if (config.has_isolation()) {
    merger.choice("isolation", config.isolation(), config::isolation_names(), spec.isolation);
  }
  if (config.has_tier()) {
    merger.integer("tier", config.tier(), config::integers(0, core::kTiers - 1),
                   tenant.tenant.tier);
  }
}

void merge(const v1::QueueConfig& config, config::QueueBlock& queue,
           std::vector<FieldFlaw>& flaws) {
  core::QueueSpec& spec = queue.queue.spec;
  Merger merger(flaws);
  if (config.has_model()) merger.name_to("model", config.model(), queue.model);
  if (config.has_work_class()) {
    merger.name_to("work_class", config.work_class(), queue.queue.work_class);
  }
  if (config.has_commands()) queue.queue.commands = config.commands();
  if (config.has_executor()) {
    merger.choice("executor", config.executor(), config::executor_names(), queue.queue.executor);
  }
  if (config.has_ranks()) {
    merger.choice("ranks", config.ranks(), config::ranks_names(), queue.queue.ranks);
  }
  namespace ranges = config::ranges;
  if (config.has_max_batch_size()) {
    merger.integer("max_batch_size", config.max_batch_size(), ranges::kBatchSize,
                   spec.max_batch_size);
  }
  if (config.has_max_batch_wait_ms()) {
    merger.milliseconds_to("max_batch_wait_ms", config.max_batch_wait_ms(), spec.max_batch_wait);
  }
  if (config.has_adaptive()) spec.adaptive_wait = config.adaptive();
  if (config.has_refuse_late()) spec.refuse_late = config.refuse_late();
  if (config.has_max_gpus()) {
    merger.milli("max_gpus", config.max_gpus(), ranges::kGpuAmount, spec.max_gpus);
  }
  if (config.has_min_gpus()) {
    merger.milli("min_gpus", config.min_gpus(), ranges::kGpuAmount, spec.min_gpus);
  }
  if ((config.has_min_gpus() || config.has_max_gpus()) && spec.max_gpus) {
    merger.at_least("max_gpus", *spec.max_gpus, "min_gpus", spec.min_gpus);
  }
  if (config.has_batch_base_ms()) {
    merger.milliseconds_to("batch_base_ms", config.batch_base_ms(), spec.batch_base,
                           ranges::kBatchTime);
  }
  if (config.has_batch_per_task_ms()) {
    merger.milliseconds_to("batch_per_task_ms", config.batch_per_task_ms(), spec.batch_per_task,
                           ranges::kBatchTime);
  }
  if (config.has_batch_commands()) spec.batch_commands = config.batch_commands();
  if (config.has_max_queue_size()) {
    merger.integer("max_queue_size", config.max_queue_size(), ranges::kTasksOfQueue,
                   spec.max_queue_size);
  }
  if (config.has_max_task_gpus()) {
    merger.integer("max_task_gpus", config.max_task_gpus(), ranges::kTaskGpus, spec.max_task_gpus);
  }
  merge_defaults(config, merger, queue.queue.defaults);
  if (!flaws.empty()) return;
  if (const char* expected = core::flaw_in(spec)) {
    merger.wrong("batch_per_task_ms", std::string("expected ") + expected);
  }
}

void merge(const v1::ModelConfig& config, core::ModelSpec& spec, std::vector<FieldFlaw>& flaws) {
  Merger merger(flaws);
  if (config.has_weights_mb()) {
    merger.mebibytes_to("weights_mb", config.weights_mb(), spec.weights);
  }
  if (config.has_vram_per_task_mb()) {
    merger.mebibytes_to("vram_per_task_mb", config.vram_per_task_mb(), spec.vram_per_task);
  }
  if (config.has_load_time_ms()) {
    merger.milliseconds_to("load_time_ms", config.load_time_ms(), spec.load_time);
  }
  if (config.has_keep_alive_ms()) {
    merger.milliseconds_to("keep_alive_ms", config.keep_alive_ms(), spec.keep_alive);
  }
}

std::vector<config::KeyValue> key_values(const google::protobuf::Message& config) {
  const google::protobuf::Reflection& reflection = *config.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(config, &fields);
  std::vector<config::KeyValue> values;
  for (const auto* field : fields) {
    std::string value;
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING: {
        const std::string text = reflection.GetString(config, field);
        if (!text.empty()) value = config::toml_string(text);
        break;
      }
      case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
        value = reflection.GetBool(config, field) ? "true" : "false";
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT32:
        value = std::to_string(reflection.GetUInt32(config, field));
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
        value = std::to_string(reflection.GetInt64(config, field));
        break;
      default: {
        // Thousandths are all that counts.
        const auto milli = std::llround(reflection.GetDouble(config, field) * 1000.0);
        value = config::toml_of(milli, config::thousandths(0, INT64_MAX));
      }
    }
    values.push_back({field->name(), std::move(value)});
  }
  return values;
}

}  // namespace berth::api
