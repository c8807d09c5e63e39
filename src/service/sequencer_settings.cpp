// Settings: what the configuration says of tenants, queues and models, and what was put over it.
//
// A put holds until it is reverted, whatever the file says later; so what is in force is the file's
// block with the put keys laid over it. The puts are in the journal, the file's blocks are told
// anew at each start. What stands in neither is removed: a queue takes no new tasks and is
// forgotten when it is empty, a model likewise, a tenant has the defaults. What is deleted
// (sequencer_delete.cpp) comes back only when it is put, or is in the file again.
#include <algorithm>
#include <string>
#include <utility>

#include "config/changes.h"
#include "config/document.h"
#include "config/load_config.h"
#include "config/quantity.h"
#include "core/model/tenant_tree.h"
#include "service/blocks.h"
#include "service/sequencer.h"

namespace berth::service {
namespace {

using config::KeyValue;
using Kind = ControlOutcome::Kind;

ControlOutcome not_known(std::string_view noun, const std::string& name) {
  ControlOutcome outcome;
  outcome.kind = Kind::unknown_name;
  outcome.noun = noun;
  outcome.name = name;
  return outcome;
}

ControlOutcome with_flaw(Kind kind, std::string flaw) {
  ControlOutcome outcome;
  outcome.kind = kind;
  outcome.flaw = std::move(flaw);
  return outcome;
}

std::string too_many_classes(const Names& names, const DefineQueue& queue) {
  std::string flaw = "queues and GPUs name " + std::to_string(core::kMaxWorkClasses) +
                     " classes of work already, and no more are told apart; use one of";
  for (const std::string& name : names.work_classes())
    flaw += (name == names.work_classes().front() ? " \"" : ", \"") + name + "\"";
  return flaw + " instead of \"" + queue.work_class + "\"";
}

// What is wrong with the tenants if this one, perhaps a new one, stood below that parent.
std::string flaw_below(const Names& names, TenantId id, const std::string& name, TenantId parent) {
  const bool is_new = id.value == names.tenants().size();
  if (!parent || (!is_new && names.tenants()[id.value].spec.parent == parent)) return {};
  std::vector<TenantId> parents;
  for (const TenantEntry& entry : names.tenants())
    parents.push_back(entry.spec.parent);
  if (is_new) parents.emplace_back();
  parents[id.value] = parent;
  // Nothing stands below a new one, so that only the way up can be wrong.
  const core::TreeFinding finding =
      is_new ? core::judge_tenant(parents, id) : core::judge_tree(parents);
  return core::sentence_of(finding, [&](TenantId at) {
    return "\"" + (at == id ? name : names.tenants()[at.value].name) + "\"";
  });
}

// What was put before, with what is put now in the place of the same keys.
std::vector<KeyValue> together(const PutKeys* before, std::span<const KeyValue> now) {
  std::vector<KeyValue> all(now.begin(), now.end());
  if (before == nullptr) return all;
  for (const auto& [key, put] : *before) {
    const auto is_same = [&](const KeyValue& value) {
      return config::without_unit_suffix(value.key) == key;
    };
    if (std::ranges::none_of(now, is_same)) all.push_back({key, put.value});
  }
  return all;
}

std::string key_of(Section section, const std::string& name, const std::string& key) {
  return config::ConfigValue{std::string(name_of(section)), name, key, "", ""}.key();
}

std::string named(Section section, const std::string& name) {
  return std::string(noun_of(section)) + " \"" + name + "\"";
}

std::string why(const ControlOutcome& outcome) {
  if (outcome.kind == Kind::unknown_name) {
    return "there is no " + outcome.noun + " \"" + outcome.name + "\"";
  }
  return outcome.flaw;
}

const std::string& value_in(const std::vector<KeyValue>& values, std::string_view key) {
  static const std::string kNone;
  const auto found = std::ranges::find(values, key, &KeyValue::key);
  return found == values.end() ? kNone : found->value;
}

std::string shown(const std::string& value) { return value.empty() ? "not set" : value; }

}  // namespace

// ---- One thing becomes what it should be
// ---------------------------------------------------------

ControlOutcome Sequencer::install(const DefineTenant& tenant, Time now) {
  core::TenantSpec spec = tenant.spec;
  spec.parent = tenant.parent.empty() ? TenantId::none() : known_tenant(tenant.parent);
  if (!tenant.parent.empty() && !spec.parent) return not_known("tenant", tenant.parent);
  ControlOutcome outcome;
  TenantId id = names_.tenant(tenant.name);
  const bool is_new = !id;
  outcome.created = is_new || names_.tenants()[id.value].removed;
  if (is_new) id.value = static_cast<std::uint32_t>(names_.tenants().size());
  outcome.flaw = flaw_below(names_, id, tenant.name, spec.parent);
  if (!outcome.flaw.empty()) {
    outcome.kind = Kind::bad_tree;
    return outcome;
  }
  const bool same_tier = !is_new && names_.tenants()[id.value].tier == tenant.tier;
  if (!same_tier) note(TenantNamed{id, tenant.name, tenant.tier});
  const TenantEntry& entry = names_.tenants()[id.value];
  if (entry.commands != tenant.commands) {
    note(CommandsAllowed{CommandsAllowed::Noun::tenant, id.value, tenant.commands});
  }
  if (entry.removed) note(Removed{Section::tenants, id.value, false});
  if (same_tier && entry.spec == spec) return outcome;
  step(core::PutTenant{id, spec}, now);
  return outcome;
}

ControlOutcome Sequencer::install(const DefineQueue& queue, Time now) {
  core::QueueSpec spec = queue.spec;
  spec.model = queue.model.empty() ? ModelId::none() : known_model(queue.model);
  if (!queue.model.empty() && !spec.model) return not_known("model", queue.model);
  spec.work_class =
      queue.work_class.empty() ? WorkClassId::none() : work_class_named(queue.work_class);
  if (!queue.work_class.empty() && !spec.work_class) {
    return with_flaw(Kind::too_many_classes, too_many_classes(names_, queue));
  }
  ControlOutcome outcome;
  QueueId id = names_.queue(queue.name);
  const bool is_new = !id;
  outcome.created = !known_queue(queue.name);
  if (is_new) {
    id.value = static_cast<std::uint32_t>(names_.queues().size());
    note(QueueNamed{id, queue.name});
  }
  // Leases carry it, so that work never meets an agent that has not heard of a change.
  const QueueEntry& entry = names_.queues()[id.value];
  if (entry.executor != queue.executor || entry.ranks_by_node != queue.ranks_by_node) {
    note(QueueRuns{id, queue.executor, queue.ranks_by_node});
  }
  if (entry.defaults != queue.defaults) note(QueueDefaults{id, queue.defaults});
  if (entry.commands != queue.commands) {
    note(CommandsAllowed{CommandsAllowed::Noun::queue, id.value, queue.commands});
  }
  if (entry.removed) note(Removed{Section::queues, id.value, false});
  if (is_new || entry.spec != spec) step(core::PutQueue{id, spec}, now);
  return outcome;
}

ControlOutcome Sequencer::install(const DefineModel& model, Time now) {
  ControlOutcome outcome;
  ModelId id = names_.model(model.name);
  const bool is_new = !id;
  outcome.created = !known_model(model.name);
  if (is_new) {
    id.value = static_cast<std::uint32_t>(names_.models().size());
    note(ModelNamed{id, model.name});
  }
  const ModelEntry& entry = names_.models()[id.value];
  if (entry.removed) note(Removed{Section::models, id.value, false});
  if (is_new || entry.spec != model.spec) step(core::PutModel{id, model.spec}, now);
  return outcome;
}

// ---- What the file says
// --------------------------------------------------------------------------

// With what was put laid over it. What is refused leaves the file's last word in force.
template <class Define>
ControlOutcome Sequencer::define_in(Section section, std::map<std::string, Define>& configured,
                                    const Define& wanted, Time now) {
  const PutKeys* puts = names_.put(section, wanted.name);
  auto block = block_of(wanted);
  if (std::string flaw = config::lay_over(block, together(puts, {})); !flaw.empty()) {
    return with_flaw(Kind::bad_setting, std::move(flaw));
  }
  ControlOutcome outcome = install(definition_of(block), now);
  if (outcome.kind == Kind::done) configured[wanted.name] = wanted;
  return outcome;
}

ControlOutcome Sequencer::define(const DefineTenant& tenant, Time now) {
  return define_in(Section::tenants, configured_.tenants, tenant, now);
}
ControlOutcome Sequencer::define(const DefineQueue& queue, Time now) {
  return define_in(Section::queues, configured_.queues, queue, now);
}
ControlOutcome Sequencer::define(const DefineModel& model, Time now) {
  return define_in(Section::models, configured_.models, model, now);
}

void Sequencer::set(const DefineTenantDefaults& defaults) {
  options_.tenant_defaults = defaults.spec;
  options_.tenant_default_tier = defaults.tier;
  options_.tenant_default_commands = defaults.commands;
  options_.max_tenants = defaults.max_tenants;
  options_.make_unknown_tenants = defaults.make_unknown;
}

// The whole configuration, with what it no longer has.
ControlOutcome Sequencer::configure(const Configure& wanted, Time now) {
  ControlOutcome outcome;
  if (wanted.policy != names_.policy()) step(core::SetPolicy{wanted.policy}, now);
  set(wanted.tenant_defaults);
  if (!names_.knows_puts()) adopt_unlisted(wanted, outcome);
  Configured before = std::exchange(configured_, {});
  const auto define_all = [&](Section section, const auto& list, auto& old, auto& configured) {
    for (const auto& one : list) {
      const ControlOutcome defined = define(one, now);
      if (defined.kind == Kind::done) continue;
      std::string sentence = named(section, one.name) + ": " + why(defined);
      if (names_.put(section, one.name) != nullptr) {
        sentence += "; keys of it were put: berth config revert " + std::string(noun_of(section)) +
                    " " + one.name;
      }
      outcome.refused.push_back(std::move(sentence));
      if (auto kept = old.extract(one.name)) configured.insert(std::move(kept));
    }
  };
  define_all(Section::models, wanted.models, before.models, configured_.models);
  define_all(Section::queues, wanted.queues, before.queues, configured_.queues);
  define_all(Section::tenants, wanted.tenants, before.tenants, configured_.tenants);
  settle_unlisted(now, outcome);
  return outcome;
}

// What stands in the file no more.
void Sequencer::settle_unlisted(Time now, ControlOutcome& outcome) {
  const auto settle = [&](Section section, const std::string& name) {
    const ControlOutcome settled = settle_without_file(section, name, now);
    if (settled.kind == Kind::done) return;
    outcome.refused.push_back(named(section, name) + ": " + why(settled));
  };
  for (std::uint32_t i = 0; i < names_.models().size(); ++i) {
    const std::string name = names_.models()[i].name;
    if (!configured_.models.contains(name)) settle(Section::models, name);
  }
  for (std::uint32_t i = 0; i < names_.queues().size(); ++i) {
    const std::string name = names_.queues()[i].name;
    if (!configured_.queues.contains(name)) settle(Section::queues, name);
  }
  for (std::uint32_t i = 0; i < names_.tenants().size(); ++i) {
    const std::string name = names_.tenants()[i].name;
    if (!configured_.tenants.contains(name)) settle(Section::tenants, name);
  }
}

// One that was put stays; else a queue or model is removed, and a tenant has the defaults.
ControlOutcome Sequencer::settle_without_file(Section section, const std::string& name, Time now) {
  if (names_.put(section, name) != nullptr) return put_over({section, name, {}, 0}, now);
  if (section == Section::tenants) {
    return known_tenant(name) ? install(default_tenant(name), now) : ControlOutcome{};
  }
  if (section == Section::queues) {
    const QueueId id = names_.queue(name);
    if (!names_.queues()[id.value].removed) note(Removed{section, id.value, true});
  } else {
    const ModelId id = names_.model(name);
    if (!names_.models()[id.value].removed) note(Removed{section, id.value, true});
  }
  return {};
}

// A journal from before puts were kept says not who made what; so what the file does not have is
// kept as if it had been put.
void Sequencer::adopt_unlisted(const Configure& wanted, ControlOutcome& outcome) {
  const auto adopt = [&](Section section, const auto& known, const auto& otherwise) {
    const std::vector<KeyValue> defaults = config::values_of(otherwise);
    std::vector<KeyValue> own;
    for (const KeyValue& value : config::values_of(known)) {
      if (value.key != "name" && value.value != value_in(defaults, value.key)) own.push_back(value);
    }
    if (section == Section::tenants && own.empty()) return;
    note(SettingPut{section, known.name, "name", config::toml_string(known.name),
                    wanted.wall_unix_ns});
    for (const KeyValue& value : own)
      note(SettingPut{section, known.name, value.key, value.value, wanted.wall_unix_ns});
    outcome.told.push_back(named(section, known.name) +
                           " is not in the configuration and is kept as if it had been put");
  };
  const auto lists = [](const auto& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const auto& one) { return one.name == name; });
  };
  for (std::uint32_t i = 0; i < names_.tenants().size(); ++i) {
    const config::TenantBlock known = tenant_block(names_, {i});
    if (!lists(wanted.tenants, known.name)) {
      adopt(Section::tenants, known, block_of(default_tenant(known.name)));
    }
  }
  for (std::uint32_t i = 0; i < names_.queues().size(); ++i) {
    const config::QueueBlock known = queue_block(names_, {i});
    if (!lists(wanted.queues, known.name)) {
      adopt(Section::queues, known, block_of(DefineQueue{.name = known.name}));
    }
  }
  for (std::uint32_t i = 0; i < names_.models().size(); ++i) {
    const config::ModelBlock known = model_block(names_, {i});
    if (!lists(wanted.models, known.name)) {
      adopt(Section::models, known, block_of(DefineModel{.name = known.name}));
    }
  }
  note(PutsKnown{});
}

// ---- What is put over it
// -------------------------------------------------------------------------

DefineTenant Sequencer::default_tenant(const std::string& name) const {
  return {name, options_.tenant_defaults, options_.tenant_default_tier, "",
          options_.tenant_default_commands};
}

ControlOutcome Sequencer::put(PutSettings& put, Time now) {
  put.values.push_back({"name", config::toml_string(put.name)});
  return put_over(put, now);
}

ControlOutcome Sequencer::put_over(const PutSettings& put, Time now) {
  const auto over = [&](const auto& configured, const auto& otherwise) {
    const auto found = configured.find(put.name);
    return put_on(found == configured.end() ? otherwise : found->second, put, now);
  };
  switch (put.section) {
    case Section::tenants:
      return over(configured_.tenants, default_tenant(put.name));
    case Section::queues:
      return over(configured_.queues, DefineQueue{.name = put.name});
    case Section::models:
      return over(configured_.models, DefineModel{.name = put.name});
  }
  return {};
}

template <class Define>
ControlOutcome Sequencer::put_on(const Define& base, const PutSettings& put, Time now) {
  auto block = block_of(base);
  const std::vector<KeyValue> all = together(names_.put(put.section, put.name), put.values);
  if (std::string flaw = config::lay_over(block, all); !flaw.empty()) {
    return with_flaw(Kind::bad_setting, std::move(flaw));
  }
  ControlOutcome outcome = install(definition_of(block), now);
  if (outcome.kind != Kind::done || put.values.empty()) return outcome;
  const std::vector<KeyValue> values = config::values_of(block);
  for (const KeyValue& value : put.values) {
    const std::string key(config::without_unit_suffix(value.key));
    note(SettingPut{put.section, put.name, key, value_in(values, key), put.wall_unix_ns});
  }
  return outcome;
}

ControlOutcome Sequencer::revert(const RevertSettings& wanted, Time now) {
  std::vector<std::pair<Section, std::string>> things;
  for (const auto& [thing, keys] : names_.puts()) {
    const bool is_meant = !wanted.section || thing == std::pair(*wanted.section, wanted.name);
    if (is_meant) things.push_back(thing);
  }
  if (things.empty() && wanted.section && !is_known(*wanted.section, wanted.name)) {
    return not_known(noun_of(*wanted.section), wanted.name);
  }
  ControlOutcome outcome;
  for (const auto& [section, name] : things) {
    const PutKeys keys = *names_.put(section, name);
    note(SettingsReverted{section, name});
    const ControlOutcome done = revert_to_file(section, name, now);
    if (done.kind != Kind::done) {
      outcome.refused.push_back(named(section, name) + ": " + why(done));
      for (const auto& [key, put] : keys)
        note(SettingPut{section, name, key, put.value, put.wall_unix_ns});
      continue;
    }
    const std::vector<KeyValue> values = values_now(section, name);
    for (const auto& [key, put] : keys) {
      const std::string& next = value_in(values, key);
      if (next == put.value) continue;
      outcome.told.push_back(key_of(section, name, key) + ": " + shown(put.value) + " becomes " +
                             shown(next));
    }
    if (is_removed(section, name))
      outcome.told.push_back(config::removal_sentence(noun_of(section), name));
    ++outcome.count;
  }
  return outcome;
}

// REQUIRES that nothing is put of it.
ControlOutcome Sequencer::revert_to_file(Section section, const std::string& name, Time now) {
  switch (section) {
    case Section::tenants:
      if (const auto at = configured_.tenants.find(name); at != configured_.tenants.end()) {
        return install(at->second, now);
      }
      break;
    case Section::queues:
      if (const auto at = configured_.queues.find(name); at != configured_.queues.end()) {
        return install(at->second, now);
      }
      break;
    case Section::models:
      if (const auto at = configured_.models.find(name); at != configured_.models.end()) {
        return install(at->second, now);
      }
      break;
  }
  return settle_without_file(section, name, now);
}

bool Sequencer::is_known(Section section, const std::string& name) const {
  switch (section) {
    case Section::tenants:
      return static_cast<bool>(known_tenant(name));
    case Section::queues:
      return static_cast<bool>(known_queue(name));
    case Section::models:
      return static_cast<bool>(known_model(name));
  }
  return false;
}

bool Sequencer::is_removed(Section section, const std::string& name) const {
  if (section == Section::queues) return names_.queues()[names_.queue(name).value].removed;
  if (section == Section::models) return names_.models()[names_.model(name).value].removed;
  return false;
}

std::vector<KeyValue> Sequencer::values_now(Section section, const std::string& name) const {
  switch (section) {
    case Section::tenants:
      return config::values_of(tenant_block(names_, names_.tenant(name)));
    case Section::queues:
      return config::values_of(queue_block(names_, names_.queue(name)));
    case Section::models:
      return config::values_of(model_block(names_, names_.model(name)));
  }
  return {};
}

}  // namespace berth::service
