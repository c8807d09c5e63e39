// Sequencer: gives everything that happens its place in one order, lets the engine decide, and
// writes both into the open group. One thread, no clock of its own, no I/O.
//
// It resolves names (the registry: Names and Keys), numbers new ones, answers duplicates, and turns
// agents' reports into events. What it answers waits in the group until the group is durable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/v1/agent.pb.h"
#include "core/engine.h"
#include "journal/group.h"
#include "service/commands.h"
#include "service/disk_room.h"
#include "service/group.h"
#include "service/keys.h"
#include "service/name_forgetter.h"
#include "service/names.h"

namespace berth::service {

struct SequencerOptions {
  core::TenantSpec tenant_defaults;
  std::uint8_t tenant_default_tier = 0;
  bool tenant_default_commands = true;
  bool make_unknown_tenants = true;
  std::size_t max_tenants = 10'000;
  std::size_t max_signals = 10'000;  // of one tenant
  Duration remember_ids = minutes(24 * 60);
  Duration agent_ttl = seconds(30);
  Duration agent_margin = seconds(5);
};

// Where a sequencer goes on: the end of a recovered journal, or nothing.
struct Position {
  core::Engine engine;
  Names names;
  Keys keys;
  journal::RunningHash::State hash;
  std::uint64_t next_seq = 0;
  std::uint64_t epoch = 0;  // the last one that began
  Time now;                 // of the last event
};

class Sequencer {
 public:
  Sequencer(SequencerOptions options, Position at);

  // The first thing of a process: a new epoch, at the instant of the mapping.
  void begin_epoch(const ClockMapped& clock, const std::string& version);
  // The wall clock was set.
  void map_clock(const ClockMapped& clock, Time now);

  // Each at its `now`, never before the last one's.
  void take(SubmitCommand&& command, Time now);
  void take(ControlCommand&& command, Time now);
  void take(std::uint64_t session, v1::AgentMessage&& message, Time now);
  void end_session(std::uint64_t session);
  // While there is too little room, submits are answered only if they were taken before.
  void set_room(std::optional<ShortRoom> room) { short_room_ = room; }
  // Those who wait for the open group, because it may take long. They must be answered.
  Waiting take_waiting() { return group_->take_waiting(); }
  // Between the two calls no server was there: what falls due meanwhile starts with the second.
  void hold_starts(Time now) { step(core::HoldStarts{true}, now); }
  void release_starts(Time now) { step(core::HoldStarts{false}, now); }
  void tick(Time now);
  void day_boundary(Time now);
  // When daily limits begin anew; it is told to those whom one refuses.
  void day_ends_at(Time at) { day_ends_ = at; }

  Time next_wakeup() const { return engine_.next_wakeup(); }
  Time now() const { return now_; }
  std::uint64_t epoch() const { return epoch_; }

  // What is in the open group.
  bool empty() const;
  std::size_t bytes() const { return builder_.size(); }
  std::size_t tasks() const { return group_->items.size(); }
  std::unique_ptr<Group> seal(journal::Writer reuse = {});

  const core::Engine& engine() const { return engine_; }
  const Names& names() const { return names_; }
  const Keys& keys() const { return keys_; }
  const journal::RunningHash::State& hash() const { return hash_.state(); }
  std::uint64_t next_seq() const { return next_seq_; }

 private:
  struct Session {
    std::string agent;
    std::uint64_t incarnation = 0;
    std::uint64_t last_report = 0;
  };

  // Sequencing.
  void step(core::EventBody body, Time now);
  void note(Note note);
  void write_notes();
  void write(core::Action&& action);
  void forget_refused(std::size_t early);
  bool is_waiting(TaskNo task) const;
  bool is_greeted(NodeId node) const;

  // Submits (sequencer_submit.cpp).
  SubmitOutcome admit(NewTask& task, Time now);
  std::vector<SubmitOutcome> admit_workflow(std::vector<NewTask>& tasks, Time now);
  std::optional<SubmitOutcome> resolve_names(NewTask& task, Time now);
  std::optional<SubmitOutcome> fill_in(NewTask& task) const;
  std::optional<SubmitOutcome> limit_run(NewTask& task) const;
  std::optional<SubmitOutcome> judge_queue(const NewTask& task) const;
  std::optional<SubmitOutcome> judge_array(const NewTask& task, Time now) const;
  std::optional<SubmitOutcome> is_array_of(TenantId tenant, const std::string& id) const;
  std::optional<SubmitOutcome> known_before(const NewTask& task, Time now) const;
  std::optional<SubmitOutcome> command_forbidden(const NewTask& task) const;
  // What is submitted together, and how many dependencies it may still name.
  struct Siblings {
    std::map<std::string, TaskNo> tasks;
    std::map<std::string, ArrayEntry> arrays;
    std::size_t room = kDependenciesMax;
  };
  std::optional<SubmitOutcome> resolve_dependencies(NewTask& task, Siblings& siblings, Time now);
  std::optional<SubmitOutcome> add_dependency(NewTask& task, const std::string& name,
                                              Siblings& siblings, Time now);
  bool is_new(const NewTask& task, Time now) const;
  TaskNo task_named(TenantId tenant, const std::string& id, Time now) const;
  void forget_names(Time now);
  GroupId group_for(TenantId tenant, const std::string& name);
  // None: the tenant has as many as it may.
  SignalId signal_for(TenantId tenant, const std::string& name);
  core::Reason signals_spent(TenantId tenant) const;
  void describe(NewTask& task, TaskNo number, Time now);
  core::Reason refusal_of(TaskNo task) const;
  core::Reason with_day_end(core::Reason reason, std::int64_t tokens) const;
  // Actions of this kind that the last event led to, without those of timers before it.
  template <class Kind>
  std::uint64_t count_own() const {
    std::uint64_t count = 0;
    for (std::size_t i = early_; i < actions_.size(); ++i)
      count += std::holds_alternative<Kind>(actions_[i]) ? 1 : 0;
    return count;
  }

  // Control (sequencer_control.cpp).
  ControlOutcome run(Control& what, Time now);
  ControlOutcome cancel(const CancelTasks& cancel, Time now);
  ControlOutcome change(ChangeTask& change, Time now);
  ControlOutcome resolve(const ResolveSignal& resolve, Time now);

  // Signals (sequencer_signals.cpp).
  ControlOutcome reset(const ResetSignal& reset);
  ControlOutcome read(const ReadSignals& wanted) const;
  SignalLine line_of(TenantId tenant, const std::string& name, SignalId signal) const;
  ControlOutcome put(PutPackingTable& table, Time now);
  ControlOutcome packing() const;
  ControlOutcome carry(CarrySpecs& carry);

  // Settings (sequencer_settings.cpp). Configured: what the configuration last said.
  struct Configured {
    std::map<std::string, DefineTenant> tenants;
    std::map<std::string, DefineQueue> queues;
    std::map<std::string, DefineModel> models;
  };
  ControlOutcome configure(const Configure& wanted, Time now);
  void set(const DefineTenantDefaults& defaults);
  ControlOutcome define(const DefineTenant& tenant, Time now);
  ControlOutcome define(const DefineQueue& queue, Time now);
  ControlOutcome define(const DefineModel& model, Time now);
  template <class Define>
  ControlOutcome define_in(Section section, std::map<std::string, Define>& configured,
                           const Define& wanted, Time now);
  ControlOutcome install(const DefineTenant& tenant, Time now);
  ControlOutcome install(const DefineQueue& queue, Time now);
  ControlOutcome install(const DefineModel& model, Time now);
  ControlOutcome put(PutSettings& put, Time now);
  ControlOutcome put_over(const PutSettings& put, Time now);
  template <class Define>
  ControlOutcome put_on(const Define& base, const PutSettings& put, Time now);
  ControlOutcome revert(const RevertSettings& wanted, Time now);
  ControlOutcome revert_to_file(Section section, const std::string& name, Time now);
  void settle_unlisted(Time now, ControlOutcome& outcome);
  ControlOutcome settle_without_file(Section section, const std::string& name, Time now);
  void adopt_unlisted(const Configure& wanted, ControlOutcome& outcome);
  DefineTenant default_tenant(const std::string& name) const;
  // With none for what was deleted, and for a queue or model that left the configuration and that
  // nothing uses any more.
  TenantId known_tenant(std::string_view name) const;
  QueueId known_queue(std::string_view name) const;
  ModelId known_model(std::string_view name) const;
  bool is_known(Section section, const std::string& name) const;
  bool is_removed(Section section, const std::string& name) const;
  std::vector<config::KeyValue> values_now(Section section, const std::string& name) const;

  // Deletes (sequencer_delete.cpp).
  ControlOutcome remove(const DeleteBlock& wanted, Time now);
  bool is_configured(Section section, const std::string& name) const;
  std::optional<ControlOutcome> use_of(Section section, const std::string& name) const;
  std::optional<ControlOutcome> use_of(TenantId tenant) const;
  std::optional<ControlOutcome> use_of(QueueId queue) const;
  std::optional<ControlOutcome> use_of(ModelId model) const;
  std::uint64_t unfinished_of(QueueId queue) const;
  std::uint64_t unfinished_of(TenantId tenant) const;
  void forget_settings(TenantId tenant, Time now);
  void forget_settings(QueueId queue, Time now);
  void forget_signals(TenantId tenant);

  // How a session begins (sequencer_hello.cpp).
  void greet(std::uint64_t session, const v1::Hello& hello, Time now);
  std::string flaw_in_claims(const v1::Hello& hello) const;
  template <class Id>
  Id part_named(PartNamed::Noun noun, Id known, Id next, const std::string& name);
  // None: there are as many as can be told apart. `taken`: classes that are about to be named.
  WorkClassId work_class_named(const std::string& name, std::uint32_t taken = 0);
  std::vector<core::ClassSpeed> class_speeds_of(const v1::Gpu& gpu);
  void put_nodes(const v1::Hello& hello, Time now);
  void put_gpus(const v1::Hello& hello, Time now);
  GpuNamed name_of(GpuId gpu) const;
  std::vector<v1::ServerMessage> reconcile_leases(const v1::Hello& hello,
                                                  const std::set<NodeId>& nodes, Time now,
                                                  v1::Welcome& welcome);
  void reconcile_models(const v1::Hello& hello, const std::set<NodeId>& nodes, Time now);

  // Reports (sequencer_reports.cpp).
  void take_report(std::uint64_t session, v1::Report& report, Time now);
  void take_readings(const v1::Heartbeat& heartbeat, Time now);
  void apply_report(v1::Report& report, Time now);
  std::optional<Duration> ran_of(const v1::LeaseEnded& ended, Time now) const;
  void put_back_unnamed(core::LeaseEnded& ended, const std::set<TaskNo>& named) const;
  void note_result(LeaseId lease, v1::TaskOutcome& outcome);
  void send(std::uint64_t session, v1::ServerMessage&& message);

  SequencerOptions options_;
  Configured configured_;
  core::Engine engine_;
  Names names_;
  Keys keys_;
  journal::RunningHash hash_;
  std::uint64_t next_seq_;
  std::uint64_t ordinal_;
  std::uint64_t epoch_;
  Time now_;
  Time day_ends_ = Time::never();
  Time decided_at_;  // of the actions being written

  journal::GroupBuilder builder_;
  std::unique_ptr<Group> group_;
  std::uint32_t group_events_ = 0;
  std::vector<Note> notes_;  // to be written before the next event
  journal::Writer scratch_;
  core::Actions actions_;  // of the last step
  std::size_t early_ = 0;  // of these: decided by timers that were due before the event

  NameForgetter forgetter_;
  // Live tasks that were changed: what was read of their specs before is not carried.
  std::set<TaskNo> redescribed_;
  std::map<std::uint64_t, Session> sessions_;
  std::set<std::string> greeted_;  // agents that said hello in this process
  // What was granted in this process to nodes that have not said hello: the courier still has it.
  std::set<LeaseId> unsent_leases_;
  std::set<LoadId> unsent_loads_;
  std::optional<ShortRoom> short_room_;
};

}  // namespace berth::service
