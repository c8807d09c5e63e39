// See names.h.
#include "service/names.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "service/grown.h"

namespace berth::service {
namespace {

template <class Map>
auto find_scoped(const Map& map, TenantId tenant, std::string_view name) {
  const auto at = map.find(std::pair{tenant.value, std::string(name)});
  return at == map.end() ? typename Map::mapped_type{} : at->second;
}

}  // namespace

template <class Number>
Number Names::find(const Index& index, std::string_view name) {
  const auto at = index.find(name);
  return at == index.end() ? Number::none() : Number{static_cast<typename Number::rep>(at->second)};
}

TenantId Names::tenant(std::string_view name) const { return find<TenantId>(tenant_index_, name); }
QueueId Names::queue(std::string_view name) const { return find<QueueId>(queue_index_, name); }
ModelId Names::model(std::string_view name) const { return find<ModelId>(model_index_, name); }
GpuId Names::gpu(std::string_view name) const { return find<GpuId>(gpu_index_, name); }
NodeId Names::node(std::string_view name) const { return find<NodeId>(node_index_, name); }
KindId Names::kind(std::string_view name) const { return find<KindId>(kind_index_, name); }
RackId Names::rack(std::string_view name) const { return find<RackId>(rack_index_, name); }
IslandId Names::island(std::string_view name) const { return find<IslandId>(island_index_, name); }

WorkClassId Names::work_class(std::string_view name) const {
  return find<WorkClassId>(work_class_index_, name);
}

std::uint32_t Names::named_work_classes() const {
  std::uint32_t named = 0;
  for (const QueueEntry& queue : queues_)
    if (queue.spec.work_class) named |= 1U << queue.spec.work_class.value;
  for (const GpuEntry& gpu : gpus_)
    for (const core::ClassSpeed& its : gpu.spec.class_speeds)
      named |= 1U << its.work_class.value;
  return named;
}

WorkClassId Names::next_work_class(std::uint32_t taken) const {
  std::size_t next = work_classes_.size();
  if (next == core::kMaxWorkClasses) {
    next = static_cast<std::size_t>(std::countr_one(named_work_classes() | taken));
  }
  return next < core::kMaxWorkClasses ? WorkClassId{static_cast<std::uint8_t>(next)}
                                      : WorkClassId::none();
}

GroupId Names::group(TenantId tenant, std::string_view name) const {
  return find_scoped(groups_, tenant, name);
}
SignalId Names::signal(TenantId tenant, std::string_view name) const {
  return find_scoped(signals_, tenant, name);
}
ArrayEntry Names::array(TenantId tenant, std::string_view name) const {
  return find_scoped(arrays_, tenant, name);
}
std::string_view Names::signal_name(SignalId signal) const {
  const auto at = signal_names_.find(signal);
  return at == signal_names_.end() ? std::string_view("?") : at->second;
}

void Names::name_part(const PartNamed& part) {
  const auto name_in = [&](std::vector<std::string>& names, Index& index) {
    std::string& name = grown(names, part.number);
    // A class that nothing names any more gives its number to another.
    const auto before = index.find(name);
    if (before != index.end() && before->second == part.number) index.erase(before);
    name = part.name;
    index[part.name] = part.number;
  };
  switch (part.noun) {
    case PartNamed::Noun::kind:
      return name_in(kinds_, kind_index_);
    case PartNamed::Noun::rack:
      return name_in(racks_, rack_index_);
    case PartNamed::Noun::island:
      return name_in(islands_, island_index_);
    case PartNamed::Noun::work_class:
      return name_in(work_classes_, work_class_index_);
  }
}

std::uint32_t Names::next_number(PartNamed::Noun noun) const {
  switch (noun) {
    case PartNamed::Noun::kind:
      return next_kind().value;
    case PartNamed::Noun::rack:
      return next_rack().value;
    case PartNamed::Noun::island:
      return next_island().value;
    case PartNamed::Noun::work_class:
      return next_work_class().value;
  }
  return UINT32_MAX;
}

void Names::name_node(const NodeNamed& node) {
  NodeEntry& entry = grown(nodes_, node.node.value);
  entry.name = node.name;
  entry.agent = node.agent;
  entry.address = node.address;
  node_index_[node.name] = node.node.value;
}

// Journals of servers that knew no nodes name kinds and nodes by their GPUs alone.
void Names::name_gpu(const GpuNamed& gpu) {
  GpuEntry& entry = grown(gpus_, gpu.gpu.value);
  entry.uuid = gpu.uuid;
  entry.name = gpu.name;
  entry.kind = gpu.kind;
  entry.node = gpu.node;
  entry.simulated = gpu.simulated;
  gpu_index_[gpu.name] = gpu.gpu.value;
  gpu_index_[gpu.uuid] = gpu.gpu.value;
  if (!kind(gpu.kind)) name_part({PartNamed::Noun::kind, next_kind().value, gpu.kind});
  if (!node(gpu.node)) name_node({next_node(), gpu.node, gpu.node, ""});
}

void Names::allow(const CommandsAllowed& commands) {
  if (commands.noun == CommandsAllowed::Noun::tenant) {
    grown(tenants_, commands.number).commands = commands.allowed;
  } else {
    grown(queues_, commands.number).commands = commands.allowed;
  }
}

const PutKeys* Names::put(Section section, const std::string& name) const {
  const auto at = puts_.find({section, name});
  return at == puts_.end() ? nullptr : &at->second;
}

void Names::set_removed(const Removed& what) {
  if (what.section == Section::tenants) {
    bool& removed = grown(tenants_, what.number).removed;
    if (removed != what.removed) removed_tenants_ += what.removed ? 1 : -1;
    removed = what.removed;
  }
  if (what.section == Section::queues) grown(queues_, what.number).removed = what.removed;
  if (what.section == Section::models) grown(models_, what.number).removed = what.removed;
}

void Names::apply(const Note& note) {
  if (const auto* t = std::get_if<TenantNamed>(&note)) {
    TenantEntry& entry = grown(tenants_, t->tenant.value);
    entry.name = t->name;
    entry.tier = t->tier;
    tenant_index_[t->name] = t->tenant.value;
  } else if (const auto* q = std::get_if<QueueNamed>(&note)) {
    grown(queues_, q->queue.value).name = q->name;
    queue_index_[q->name] = q->queue.value;
  } else if (const auto* runs = std::get_if<QueueRuns>(&note)) {
    QueueEntry& entry = grown(queues_, runs->queue.value);
    entry.executor = runs->executor;
    entry.ranks_by_node = runs->ranks_by_node;
  } else if (const auto* its = std::get_if<QueueDefaults>(&note)) {
    grown(queues_, its->queue.value).defaults = its->defaults;
  } else if (const auto* put = std::get_if<SettingPut>(&note)) {
    puts_[{put->section, put->name}][put->key] = {put->value, put->wall_unix_ns};
  } else if (const auto* reverted = std::get_if<SettingsReverted>(&note)) {
    puts_.erase({reverted->section, reverted->name});
  } else if (const auto* removed = std::get_if<Removed>(&note)) {
    set_removed(*removed);
  } else if (std::holds_alternative<PutsKnown>(note)) {
    knows_puts_ = true;
  } else if (const auto* m = std::get_if<ModelNamed>(&note)) {
    grown(models_, m->model.value).name = m->name;
    model_index_[m->name] = m->model.value;
  } else if (const auto* g = std::get_if<GpuNamed>(&note)) {
    name_gpu(*g);
  } else if (const auto* part = std::get_if<PartNamed>(&note)) {
    name_part(*part);
  } else if (const auto* node = std::get_if<NodeNamed>(&note)) {
    name_node(*node);
  } else if (const auto* commands = std::get_if<CommandsAllowed>(&note)) {
    allow(*commands);
  } else if (const auto* n = std::get_if<GroupNamed>(&note)) {
    groups_[{n->tenant.value, n->name}] = n->group;
    next_group_.value = std::max(next_group_.value, n->group.value + 1);
  } else if (const auto* s = std::get_if<SignalNamed>(&note)) {
    name_signal(*s);
  } else if (const auto* array = std::get_if<ArrayNamed>(&note)) {
    arrays_[{array->tenant.value, array->name}] = {array->first, array->count, array->indices};
  } else if (const auto* gone = std::get_if<NameForgotten>(&note)) {
    forget(*gone);
  } else if (const auto* clock = std::get_if<ClockMapped>(&note)) {
    clock_ = *clock;
  }
}

// Without a tenant it says only how far the numbers have come.
void Names::name_signal(const SignalNamed& signal) {
  next_signal_.value = std::max(next_signal_.value, signal.signal.value + 1);
  if (!signal.tenant) return;
  const auto [at, fresh] =
      signals_.insert_or_assign({signal.tenant.value, signal.name}, signal.signal);
  if (fresh) ++signals_of_[signal.tenant.value];
  signal_names_[signal.signal] = signal.name;
}

std::size_t Names::signals_of(TenantId tenant) const {
  const auto at = signals_of_.find(tenant.value);
  return at == signals_of_.end() ? 0 : at->second;
}

std::optional<Time> Names::given_since(SignalId signal) const {
  const auto at = given_since_.find(signal);
  return at == given_since_.end() ? std::nullopt : std::optional(at->second);
}

void Names::forget(const NameForgotten& gone) {
  const Scoped scoped{gone.tenant.value, gone.name};
  if (gone.noun == NameForgotten::Noun::group) {
    groups_.erase(scoped);
    return;
  }
  if (gone.noun == NameForgotten::Noun::array) {
    arrays_.erase(scoped);
    return;
  }
  const auto at = signals_.find(scoped);
  if (at == signals_.end()) return;
  signal_names_.erase(at->second);
  given_since_.erase(at->second);
  signals_.erase(at);
  if (--signals_of_[gone.tenant.value] == 0) signals_of_.erase(gone.tenant.value);
}

void Names::apply(const core::Event& event) {
  if (const auto* policy = std::get_if<core::SetPolicy>(&event.body)) {
    policy_ = policy->spec;
  } else if (const auto* table = std::get_if<core::PutTable>(&event.body)) {
    packing_table_ = {table->version, event.now};
  } else if (const auto* given = std::get_if<core::ResolveSignal>(&event.body)) {
    if (signal_names_.contains(given->signal)) given_since_.emplace(given->signal, event.now);
  } else if (const auto* t = std::get_if<core::PutTenant>(&event.body)) {
    grown(tenants_, t->tenant.value).spec = t->spec;
  } else if (const auto* q = std::get_if<core::PutQueue>(&event.body)) {
    grown(queues_, q->queue.value).spec = q->spec;
  } else if (const auto* m = std::get_if<core::PutModel>(&event.body)) {
    grown(models_, m->model.value).spec = m->spec;
  } else if (const auto* n = std::get_if<core::PutNode>(&event.body)) {
    grown(nodes_, n->node.value).spec = n->spec;
  } else if (const auto* g = std::get_if<core::PutGpu>(&event.body)) {
    grown(gpus_, g->gpu.value).spec = g->spec;
    if (is_lost(g->spec.node)) gpus_[g->gpu.value].lost = true;
  } else if (const auto* p = std::get_if<core::PauseQueue>(&event.body)) {
    grown(queues_, p->queue.value).paused = p->paused;
  } else if (const auto* pt = std::get_if<core::PauseTenant>(&event.body)) {
    grown(tenants_, pt->tenant.value).paused = pt->paused;
  } else if (const auto* d = std::get_if<core::DrainQueue>(&event.body)) {
    grown(queues_, d->queue.value).draining = d->draining;
  } else if (const auto* dg = std::get_if<core::DrainGpu>(&event.body)) {
    grown(gpus_, dg->gpu.value).draining = dg->draining;
  } else if (const auto* lost = std::get_if<core::GpuLost>(&event.body)) {
    if (lost->gpu.value < gpus_.size()) gpus_[lost->gpu.value].lost = true;
  } else if (const auto* back = std::get_if<core::GpuReturned>(&event.body)) {
    if (back->gpu.value < gpus_.size() && !is_lost(gpus_[back->gpu.value].spec.node)) {
      gpus_[back->gpu.value].lost = false;
    }
  } else if (const auto* gone = std::get_if<core::NodeLost>(&event.body)) {
    set_lost(gone->node, true);
  } else if (const auto* returned = std::get_if<core::NodeReturned>(&event.body)) {
    set_lost(returned->node, false);
  }
}

bool Names::is_lost(NodeId node) const {
  return node.value < nodes_.size() && nodes_[node.value].lost;
}

void Names::set_lost(NodeId node, bool lost) {
  if (node.value < nodes_.size()) nodes_[node.value].lost = lost;
  for (GpuEntry& gpu : gpus_)
    if (gpu.spec.node == node) gpu.lost = lost;
}

std::vector<Note> Names::notes() const {
  std::vector<Note> notes;
  for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
    notes.emplace_back(TenantNamed{{i}, tenants_[i].name, tenants_[i].tier});
    if (tenants_[i].removed) notes.emplace_back(Removed{Section::tenants, i});
  }
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    notes.emplace_back(QueueNamed{{i}, queues_[i].name});
    notes.emplace_back(QueueRuns{{i}, queues_[i].executor, queues_[i].ranks_by_node});
    if (queues_[i].defaults != config::TaskDefaults{}) {
      notes.emplace_back(QueueDefaults{{i}, queues_[i].defaults});
    }
    if (queues_[i].removed) notes.emplace_back(Removed{Section::queues, i});
  }
  for (std::uint32_t i = 0; i < models_.size(); ++i) {
    notes.emplace_back(ModelNamed{{i}, models_[i].name});
    if (models_[i].removed) notes.emplace_back(Removed{Section::models, i});
  }
  const auto add_forbidden = [&](CommandsAllowed::Noun noun, const auto& entries) {
    for (std::uint32_t i = 0; i < entries.size(); ++i)
      if (!entries[i].commands) notes.emplace_back(CommandsAllowed{noun, i, false});
  };
  add_forbidden(CommandsAllowed::Noun::tenant, tenants_);
  add_forbidden(CommandsAllowed::Noun::queue, queues_);
  if (knows_puts_) notes.emplace_back(PutsKnown{});
  for (const auto& [block, keys] : puts_)
    for (const auto& [key, put] : keys)
      notes.emplace_back(SettingPut{block.first, block.second, key, put.value, put.wall_unix_ns});
  const auto add_parts = [&](PartNamed::Noun noun, const std::vector<std::string>& names) {
    for (std::uint32_t i = 0; i < names.size(); ++i)
      notes.emplace_back(PartNamed{noun, i, names[i]});
  };
  add_parts(PartNamed::Noun::kind, kinds_);
  add_parts(PartNamed::Noun::rack, racks_);
  add_parts(PartNamed::Noun::island, islands_);
  add_parts(PartNamed::Noun::work_class, work_classes_);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    notes.emplace_back(NodeNamed{{i}, nodes_[i].name, nodes_[i].agent, nodes_[i].address});
  for (std::uint32_t i = 0; i < gpus_.size(); ++i) {
    const GpuEntry& gpu = gpus_[i];
    notes.emplace_back(GpuNamed{{i}, gpu.uuid, gpu.name, gpu.kind, gpu.node, gpu.simulated});
  }
  for (const auto& [key, group] : groups_)
    notes.emplace_back(GroupNamed{group, {key.first}, key.second});
  for (const auto& [key, array] : arrays_)
    notes.emplace_back(
        ArrayNamed{{key.first}, key.second, array.first, array.count, array.indices});
  std::map<SignalId, std::uint32_t> tenants;
  for (const auto& [key, signal] : signals_)
    tenants[signal] = key.first;
  for (const auto& [signal, name] : signal_names_)
    notes.emplace_back(SignalNamed{signal, {tenants.at(signal)}, name});
  if (next_signal_.value > 0 && !signal_names_.contains({next_signal_.value - 1}))
    notes.emplace_back(SignalNamed{{next_signal_.value - 1}, TenantId::none(), ""});
  return notes;
}

std::vector<core::Event> Names::events() const {
  std::vector<core::Event> events;
  const auto add = [&](core::EventBody body) { events.push_back({Time{0}, std::move(body)}); };
  add(core::SetPolicy{policy_});
  if (packing_table_.version > 0) {
    events.push_back({packing_table_.since,
                      core::PutTable{core::TableKind::packing, packing_table_.version, {}}});
  }
  for (const auto& [signal, since] : given_since_)
    events.push_back({since, core::ResolveSignal{signal}});
  for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
    add(core::PutTenant{{i}, tenants_[i].spec});
    if (tenants_[i].paused) add(core::PauseTenant{{i}});
  }
  for (std::uint32_t i = 0; i < models_.size(); ++i)
    add(core::PutModel{{i}, models_[i].spec});
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    add(core::PutQueue{{i}, queues_[i].spec});
    if (queues_[i].paused) add(core::PauseQueue{{i}});
    if (queues_[i].draining) add(core::DrainQueue{{i}});
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    add(core::PutNode{{i}, nodes_[i].spec});
    if (nodes_[i].lost) add(core::NodeLost{{i}});
  }
  for (std::uint32_t i = 0; i < gpus_.size(); ++i) {
    add(core::PutGpu{{i}, gpus_[i].spec});
    if (gpus_[i].draining) add(core::DrainGpu{{i}});
    if (gpus_[i].lost) add(core::GpuLost{{i}});
  }
  return events;
}

}  // namespace berth::service
