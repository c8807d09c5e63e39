// Names: which name has which number, and what was last said of it: tenants, queues, models, nodes,
// GPUs, their kinds, racks and islands, classes of work, groups, signals, instants. A plain value
// without locks; the sequencer has one at the newest event, the view one at the last released.
//
// Numbers are dense and never reused, but for those of classes of work: there are few, so that one
// that nothing names any more is given to another. A tenant, queue or model that was deleted keeps
// its number, which is its own again when it is made again: history reads by it. Groups and signals
// come and go with the work, so their names are forgotten; see name_forgetter.h. It changes only by
// apply, with notes and events in the order of the journal, so recovery arrives at the same value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/event.h"
#include "core/model/specs.h"
#include "service/notes.h"

namespace berth::service {

struct TenantEntry {
  std::string name;
  core::TenantSpec spec;
  std::uint8_t tier = 0;  // the best its tasks may have
  bool commands = true;   // they may have some
  bool paused = false;
  bool removed = false;  // it was deleted; its number stays with its name
};
struct QueueEntry {
  std::string name;
  core::QueueSpec spec;
  bool commands = true;  // its tasks may have some
  std::string executor;  // "": simulated, but for tasks with a command
  bool ranks_by_node = false;
  config::TaskDefaults defaults;
  bool paused = false;
  bool draining = false;
  bool removed = false;  // deleted, or in the configuration no more: it takes no new tasks
};
struct ModelEntry {
  std::string name;
  core::ModelSpec spec;
  bool removed = false;  // deleted, or in the configuration no more
};
struct NodeEntry {
  std::string name;
  std::string agent;    // that speaks for it
  std::string address;  // by which other nodes reach it; "": not known
  core::NodeSpec spec;
  bool lost = false;
};
struct GpuEntry {
  std::string uuid;
  std::string name;
  std::string kind;
  std::string node;
  bool simulated = false;
  core::GpuSpec spec;
  bool draining = false;
  bool lost = false;
};

// Packing's table, of which the engine has the content.
struct TableEntry {
  std::uint64_t version = 0;  // 0: none was ever learned
  Time since;
};

// What was put of a block, by key.
struct PutKey {
  std::string value;  // as TOML; "": none
  std::int64_t wall_unix_ns = 0;
};
using PutKeys = std::map<std::string, PutKey>;

// The tasks of an array: so many numbers from the first on.
struct ArrayEntry {
  TaskNo first;
  std::uint32_t count = 0;
  std::string indices;  // as the client wrote them
  bool has(TaskNo task) const { return task >= first && task.value - first.value < count; }
  explicit operator bool() const { return count > 0; }
};

class Names {
 public:
  const std::vector<TenantEntry>& tenants() const { return tenants_; }
  // How many of them were not deleted.
  std::size_t tenants_kept() const { return tenants_.size() - removed_tenants_; }
  const std::vector<QueueEntry>& queues() const { return queues_; }
  const std::vector<ModelEntry>& models() const { return models_; }
  const std::vector<GpuEntry>& gpus() const { return gpus_; }
  const std::vector<std::string>& kinds() const { return kinds_; }
  const std::vector<std::string>& work_classes() const { return work_classes_; }
  const std::vector<NodeEntry>& nodes() const { return nodes_; }
  const core::PolicySpec& policy() const { return policy_; }
  const TableEntry& packing_table() const { return packing_table_; }
  // By what the instants have their names for people.
  const ClockMapped& clock() const { return clock_; }
  const std::map<std::pair<Section, std::string>, PutKeys>& puts() const { return puts_; }
  // Null: nothing was put of it.
  const PutKeys* put(Section section, const std::string& name) const;
  // False: the journal is from before puts were kept.
  bool knows_puts() const { return knows_puts_; }

  // None: no such name.
  TenantId tenant(std::string_view name) const;
  QueueId queue(std::string_view name) const;
  ModelId model(std::string_view name) const;
  GpuId gpu(std::string_view name_or_uuid) const;
  NodeId node(std::string_view name) const;
  KindId kind(std::string_view name) const;
  RackId rack(std::string_view name) const;
  IslandId island(std::string_view name) const;
  WorkClassId work_class(std::string_view name) const;
  GroupId group(TenantId tenant, std::string_view name) const;
  SignalId signal(TenantId tenant, std::string_view name) const;
  ArrayEntry array(TenantId tenant, std::string_view name) const;
  std::string_view signal_name(SignalId signal) const;

  // The numbers the next new ones get.
  KindId next_kind() const { return {static_cast<std::uint32_t>(kinds_.size())}; }
  NodeId next_node() const { return {static_cast<std::uint32_t>(nodes_.size())}; }
  RackId next_rack() const { return {static_cast<std::uint32_t>(racks_.size())}; }
  IslandId next_island() const { return {static_cast<std::uint32_t>(islands_.size())}; }
  // None: queues and GPUs name as many classes as can be told apart, with those that are taken.
  WorkClassId next_work_class(std::uint32_t taken = 0) const;
  // The classes that queues or GPUs name, a bit each, as in `taken`.
  std::uint32_t named_work_classes() const;
  std::uint32_t next_number(PartNamed::Noun noun) const;
  GroupId next_group() const { return next_group_; }
  SignalId next_signal() const { return next_signal_; }

  // Groups, signals and arrays by tenant and name.
  using Scoped = std::pair<std::uint32_t, std::string>;
  const std::map<Scoped, GroupId, std::less<>>& groups() const { return groups_; }
  const std::map<Scoped, SignalId, std::less<>>& signals() const { return signals_; }
  const std::map<Scoped, ArrayEntry, std::less<>>& arrays() const { return arrays_; }
  // How many signals of the tenant have a name: those that are awaited or given.
  std::size_t signals_of(TenantId tenant) const;
  // Since when it is given; none: it is not.
  std::optional<Time> given_since(SignalId signal) const;

  void apply(const Note& note);
  void apply(const core::Event& event);

  // Notes, then events, that lead here from nothing: what a snapshot holds.
  std::vector<Note> notes() const;
  std::vector<core::Event> events() const;

 private:
  using Index = std::map<std::string, std::uint32_t, std::less<>>;
  template <class Number>
  static Number find(const Index& index, std::string_view name);
  void name_part(const PartNamed& part);
  void name_node(const NodeNamed& node);
  void name_gpu(const GpuNamed& gpu);
  void allow(const CommandsAllowed& commands);
  bool is_lost(NodeId node) const;
  void set_lost(NodeId node, bool lost);
  void name_signal(const SignalNamed& signal);
  void forget(const NameForgotten& name);
  void set_removed(const Removed& what);

  std::vector<TenantEntry> tenants_;
  std::size_t removed_tenants_ = 0;
  std::vector<QueueEntry> queues_;
  std::vector<ModelEntry> models_;
  std::vector<GpuEntry> gpus_;
  std::vector<NodeEntry> nodes_;
  std::vector<std::string> kinds_;
  std::vector<std::string> racks_;
  std::vector<std::string> islands_;
  std::vector<std::string> work_classes_;
  std::map<SignalId, std::string> signal_names_;
  core::PolicySpec policy_;
  TableEntry packing_table_;
  ClockMapped clock_;
  std::map<std::pair<Section, std::string>, PutKeys> puts_;
  bool knows_puts_ = false;
  GroupId next_group_{0};
  SignalId next_signal_{0};
  std::map<std::uint32_t, std::size_t> signals_of_;  // by tenant
  std::map<SignalId, Time> given_since_;
  Index tenant_index_, queue_index_, model_index_, gpu_index_, node_index_;
  Index kind_index_, rack_index_, island_index_, work_class_index_;
  std::map<Scoped, GroupId, std::less<>> groups_;
  std::map<Scoped, SignalId, std::less<>> signals_;
  std::map<Scoped, ArrayEntry, std::less<>> arrays_;
};

}  // namespace berth::service
