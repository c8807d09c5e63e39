// Submits: names become numbers, what was submitted before is recognised, the engine decides.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/state/state.h"
#include "service/sequencer.h"

namespace berth::service {
namespace {

constexpr std::string_view kSignalPrefix = "signal:";
constexpr std::string_view kProcessExecutor = "process";

SubmitOutcome outcome(SubmitOutcome::Kind kind, std::string what = {}) {
  SubmitOutcome result;
  result.kind = kind;
  result.what = std::move(what);
  return result;
}

}  // namespace

void Sequencer::take(SubmitCommand&& command, Time now) {
  forget_names(now);
  std::vector<SubmitOutcome> outcomes;
  if (command.workflow) {
    outcomes = admit_workflow(command.tasks, now);
  } else {
    outcomes.reserve(command.tasks.size());
    for (NewTask& task : command.tasks)
      outcomes.push_back(admit(task, now));
  }
  if (command.done) group_->submits.push_back({std::move(command.done), std::move(outcomes)});
}

bool Sequencer::is_new(const NewTask& task, Time now) const {
  const TenantId tenant = names_.tenant(task.tenant);
  if (!tenant) return true;
  task.card->tenant = tenant;
  return !known_before(task, now);
}

SubmitOutcome Sequencer::admit(NewTask& task, Time now) {
  if (short_room_ && is_new(task, now)) {
    return outcome_without(*short_room_, SubmitOutcome::Kind::no_room);
  }
  if (auto no = resolve_names(task, now)) return *no;
  if (auto known = known_before(task, now)) return *known;
  if (auto no = judge_queue(task)) return *no;
  if (auto no = fill_in(task)) return *no;
  if (auto no = command_forbidden(task)) return *no;
  Siblings alone;
  if (auto no = resolve_dependencies(task, alone, now)) return *no;
  const TaskNo number = engine_.next_task_no();
  describe(task, number, now);
  const std::int64_t tokens = task.spec.tokens;
  step(core::Submit{number, std::move(task.spec)}, now);
  SubmitOutcome result;
  result.task = number;
  result.reason = with_day_end(refusal_of(number), tokens);
  if (result.reason) result.kind = SubmitOutcome::Kind::refused;
  return result;
}

std::vector<SubmitOutcome> Sequencer::admit_workflow(std::vector<NewTask>& tasks, Time now) {
  std::vector<SubmitOutcome> outcomes(tasks.size());
  const auto fail_all = [&](SubmitOutcome why, std::size_t place) {
    why.place = place;
    std::fill(outcomes.begin(), outcomes.end(), why);
    return outcomes;
  };
  const auto is_new_task = [&](const NewTask& task) { return is_new(task, now); };
  if (short_room_ && std::ranges::all_of(tasks, is_new_task)) {
    return fail_all(outcome_without(*short_room_, SubmitOutcome::Kind::no_room), 0);
  }
  Siblings siblings;
  const TaskNo first = engine_.next_task_no();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (auto no = resolve_names(tasks[i], now)) return fail_all(*no, i);
    const std::string& id = tasks[i].card->id;
    const TaskNo number{first.value + i};
    if (!id.empty() && !siblings.tasks.emplace(id, number).second) {
      return fail_all(outcome(SubmitOutcome::Kind::conflict, id), i);
    }
    if (!tasks[i].in_array) continue;
    const std::string& name = tasks[i].card->group_name;
    ArrayEntry& array =
        siblings.arrays.try_emplace(name, number, 0, tasks[i].indices).first->second;
    if (array.first.value + array.count++ != number.value) {
      return fail_all(outcome(SubmitOutcome::Kind::group_in_use, name), i);
    }
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto known = known_before(tasks[i], now);
    if (!known) continue;
    if (known->kind == SubmitOutcome::Kind::conflict) return fail_all(*known, i);
    // The tasks of a workflow have consecutive numbers, so one of them places the others.
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      outcomes[k] = *known;
      outcomes[k].task.value = known->task.value - i + k;
    }
    return outcomes;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (auto no = judge_queue(tasks[i])) return fail_all(*no, i);
    if (auto no = judge_array(tasks[i], now)) return fail_all(*no, i);
    if (!tasks[i].in_array && siblings.arrays.contains(tasks[i].card->id)) {
      return fail_all(outcome(SubmitOutcome::Kind::conflict, tasks[i].card->id), i);
    }
    if (auto no = fill_in(tasks[i])) return fail_all(*no, i);
  }
  core::SubmitWorkflow event{first, {}};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (auto no = command_forbidden(tasks[i])) return fail_all(*no, i);
    if (auto no = resolve_dependencies(tasks[i], siblings, now)) return fail_all(*no, i);
  }
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    outcomes[i].task = TaskNo{first.value + i};
    tokens += tasks[i].spec.tokens;
    describe(tasks[i], outcomes[i].task, now);
    event.tasks.push_back(std::move(tasks[i].spec));
  }
  for (const auto& [name, array] : siblings.arrays)
    notes_.emplace_back(
        ArrayNamed{tasks[0].card->tenant, name, array.first, array.count, array.indices});
  step(std::move(event), now);
  if (const core::Reason reason = with_day_end(refusal_of(first), tokens)) {
    SubmitOutcome refused = outcome(SubmitOutcome::Kind::refused);
    refused.task = first;
    refused.reason = reason;
    return fail_all(refused, 0);
  }
  return outcomes;
}

// A daily limit lets go at the end of the day, unless what was asked for is more than a whole
// day's.
core::Reason Sequencer::with_day_end(core::Reason reason, std::int64_t tokens) const {
  if (reason.code == core::ReasonCode::daily_tokens_spent && tokens <= reason.have)
    reason.at = day_ends_;
  return reason;
}

std::optional<SubmitOutcome> Sequencer::resolve_names(NewTask& task, Time now) {
  using Kind = SubmitOutcome::Kind;
  const QueueId queue = names_.queue(task.queue);
  if (!queue) return outcome(Kind::unknown_queue, task.queue);
  for (const std::string& name : task.gpu_kinds) {
    const KindId kind = names_.kind(name);
    if (!kind) return outcome(Kind::unknown_gpu_kind, name);
    task.spec.kinds |= core::KindMask{1} << kind.value;
  }
  TenantId tenant = names_.tenant(task.tenant);
  // What was submitted before is answered so, though its tenant was deleted since.
  if (!known_tenant(task.tenant) && is_new(task, now)) {
    if (!options_.make_unknown_tenants) return outcome(Kind::unknown_tenant, task.tenant);
    if (names_.tenants_kept() >= options_.max_tenants) {
      return outcome(Kind::too_many_tenants, task.tenant);
    }
    install(default_tenant(task.tenant), now);
    tenant = names_.tenant(task.tenant);
  }
  const std::uint8_t best = names_.tenants()[tenant.value].tier;
  const std::uint8_t tier = task.tier.value_or(best);
  if (tier < best) {
    SubmitOutcome denied = outcome(Kind::tier_denied);
    denied.reason.need = tier;
    denied.reason.have = best;
    return denied;
  }
  task.spec.tenant = task.card->tenant = tenant;
  task.spec.queue = task.card->queue = queue;
  task.spec.tier = task.card->tier = tier;
  task.spec.command = task.has_command;
  return std::nullopt;
}

// What the task does not say its queue says for it.
std::optional<SubmitOutcome> Sequencer::fill_in(NewTask& task) const {
  const config::TaskDefaults& defaults = names_.queues()[task.spec.queue.value].defaults;
  const bool is_part = task.spec.gpus == 1 && task.spec.profile == 0;
  if (!task.says_share && is_part && defaults.share) task.spec.share = *defaults.share;
  if (!task.says_wait && defaults.tolerated_wait) {
    task.spec.tolerated_wait = std::min(task.spec.tolerated_wait, *defaults.tolerated_wait);
  }
  return limit_run(task);
}

std::optional<SubmitOutcome> Sequencer::limit_run(NewTask& task) const {
  const config::TaskDefaults& defaults = names_.queues()[task.spec.queue.value].defaults;
  Duration& limit = task.card->run_limit;
  if (limit.ns == 0) limit = defaults.run_limit.value_or(defaults.max_run_limit.value_or(limit));
  if (!defaults.max_run_limit || limit <= *defaults.max_run_limit) return std::nullopt;
  SubmitOutcome over = outcome(SubmitOutcome::Kind::run_limit_over_queue, task.queue);
  over.reason.need = limit.ns;
  over.reason.have = defaults.max_run_limit->ns;
  return over;
}

// The card is a copy of the task's own, changed; it stands in the journal before the change, so
// that whoever hears of a start knows what started.
ControlOutcome Sequencer::change(ChangeTask& change, Time now) {
  NewTask& to = change.to;
  const auto refuse = [](SubmitOutcome why) {
    ControlOutcome refused;
    refused.kind = ControlOutcome::Kind::not_submittable;
    refused.submit = std::move(why);
    return refused;
  };
  const QueueId queue = names_.queue(to.queue);
  if (!queue) return refuse(outcome(SubmitOutcome::Kind::unknown_queue, to.queue));
  const bool moves = queue != to.card->queue;
  to.spec.tenant = to.card->tenant;
  to.spec.queue = to.card->queue = queue;
  if (moves) {
    if (auto no = judge_queue(to)) return refuse(*no);
    if (auto no = command_forbidden(to)) return refuse(*no);
  }
  if (change.changes_limit) {
    if (auto no = limit_run(to)) return refuse(*no);
  }
  core::ChangeTask event{change.task, queue, to.spec.priority, {}, {}};
  if (change.changes_vram || moves) event.vram = to.spec.vram;
  if (change.changes_wait) event.tolerated_wait = to.spec.tolerated_wait;
  redescribed_.insert(change.task);
  notes_.emplace_back(TaskRedescribed{to.card});
  step(event, now);
  ControlOutcome result;
  result.reason = refusal_of(change.task);
  if (result.reason) result.kind = ControlOutcome::Kind::refused;
  return result;
}

// A queue that left the configuration finishes what it has. One that runs commands would fail a
// task that has none, so it does not take it.
std::optional<SubmitOutcome> Sequencer::judge_queue(const NewTask& task) const {
  const QueueEntry& queue = names_.queues()[task.spec.queue.value];
  if (queue.removed) return outcome(SubmitOutcome::Kind::removed_queue, task.queue);
  if (queue.executor == kProcessExecutor && !task.has_command) {
    return outcome(SubmitOutcome::Kind::queue_needs_command, task.queue);
  }
  return std::nullopt;
}

// A group's limit is what its first task says, so an array begins its group.
std::optional<SubmitOutcome> Sequencer::judge_array(const NewTask& task, Time now) const {
  if (!task.in_array) return std::nullopt;
  const std::string& name = task.card->group_name;
  if (const auto* known = keys_.find(task.card->tenant, Keys::Kind::task_id, name, now)) {
    SubmitOutcome taken = outcome(SubmitOutcome::Kind::conflict, name);
    taken.task = known->task;
    return taken;
  }
  const GroupId group = names_.group(task.card->tenant, task.card->group_name);
  if (!group || !engine_.state().groups.contains(group)) return std::nullopt;
  return outcome(SubmitOutcome::Kind::group_in_use, task.card->group_name);
}

std::optional<SubmitOutcome> Sequencer::known_before(const NewTask& task, Time now) const {
  const TaskCard& card = *task.card;
  const auto ask = [&](Keys::Kind kind, const std::string& text) -> std::optional<SubmitOutcome> {
    if (text.empty()) return std::nullopt;
    const Keys::Known* known = keys_.find(card.tenant, kind, text, now);
    if (known == nullptr) return std::nullopt;
    SubmitOutcome result;
    const bool same = known->digest == card.digest;
    result.kind = same ? SubmitOutcome::Kind::duplicate : SubmitOutcome::Kind::conflict;
    result.task = known->task;
    result.by_request_id = kind == Keys::Kind::request_id;
    return result;
  };
  if (auto result = ask(Keys::Kind::request_id, card.request_id)) return result;
  if (auto result = ask(Keys::Kind::task_id, card.id)) return result;
  return is_array_of(card.tenant, card.id);
}

// Tasks and arrays share their ids: one that stood for both would wait for the wrong one.
std::optional<SubmitOutcome> Sequencer::is_array_of(TenantId tenant, const std::string& id) const {
  const ArrayEntry array = id.empty() ? ArrayEntry{} : names_.array(tenant, id);
  if (!array) return std::nullopt;
  SubmitOutcome taken = outcome(SubmitOutcome::Kind::conflict, id);
  taken.task = array.first;
  return taken;
}

std::optional<SubmitOutcome> Sequencer::command_forbidden(const NewTask& task) const {
  if (!task.has_command) return std::nullopt;
  const QueueEntry& queue = names_.queues()[task.card->queue.value];
  if (!queue.commands) return outcome(SubmitOutcome::Kind::queue_forbids_commands, queue.name);
  // What a tenant may not, none below it may.
  for (TenantId at = task.card->tenant; at; at = names_.tenants()[at.value].spec.parent) {
    const TenantEntry& tenant = names_.tenants()[at.value];
    if (!tenant.commands) return outcome(SubmitOutcome::Kind::tenant_forbids_commands, tenant.name);
  }
  return std::nullopt;
}

std::optional<SubmitOutcome> Sequencer::resolve_dependencies(NewTask& task, Siblings& siblings,
                                                             Time now) {
  for (const std::string& name : task.depends_on) {
    if (auto no = add_dependency(task, name, siblings, now)) return no;
  }
  if (!task.card->group_name.empty()) {
    task.spec.group = task.card->group = group_for(task.card->tenant, task.card->group_name);
  }
  return std::nullopt;
}

// A task of this id, else all tasks of the array of this id: they end one by one, and each counts
// as it ended.
std::optional<SubmitOutcome> Sequencer::add_dependency(NewTask& task, const std::string& name,
                                                       Siblings& siblings, Time now) {
  using core::Dependency;
  const TenantId tenant = task.card->tenant;
  std::vector<Dependency>& all = task.spec.depends_on;
  if (name.starts_with(kSignalPrefix)) {
    const SignalId signal = signal_for(tenant, name.substr(kSignalPrefix.size()));
    if (!signal) {
      SubmitOutcome refused = outcome(SubmitOutcome::Kind::too_many_signals, name);
      refused.reason = signals_spent(tenant);
      return refused;
    }
    all.push_back({Dependency::Kind::signal, signal.value});
    return std::nullopt;
  }
  ArrayEntry meant;
  if (const auto sibling = siblings.tasks.find(name); sibling != siblings.tasks.end()) {
    meant = {sibling->second, 1, {}};
  } else if (const auto array = siblings.arrays.find(name); array != siblings.arrays.end()) {
    meant = array->second;
  } else if (const TaskNo other = task_named(tenant, name, now)) {
    meant = {other, 1, {}};
  } else {
    meant = names_.array(tenant, name);
  }
  if (!meant) return outcome(SubmitOutcome::Kind::unknown_dependency, name);
  if (meant.count > siblings.room) {
    SubmitOutcome over = outcome(SubmitOutcome::Kind::too_many_dependencies, name);
    over.reason.need = static_cast<std::int64_t>(kDependenciesMax - siblings.room + meant.count);
    over.reason.have = static_cast<std::int64_t>(kDependenciesMax);
    return over;
  }
  siblings.room -= meant.count;
  for (std::uint32_t i = 0; i < meant.count; ++i)
    all.push_back({Dependency::Kind::task, meant.first.value + i});
  return std::nullopt;
}

TaskNo Sequencer::task_named(TenantId tenant, const std::string& id, Time now) const {
  if (const TaskNo number = numbered_id(id)) {
    const core::TaskTable& tasks = engine_.state().tasks;
    const std::uint32_t slot = tasks.slot_of(number);
    if (slot == core::kNoSlot) return number < tasks.next() ? number : TaskNo::none();
    return tasks.row(slot).tenant == tenant ? number : TaskNo::none();
  }
  const Keys::Known* known = keys_.find(tenant, Keys::Kind::task_id, id, now);
  return known == nullptr ? TaskNo::none() : known->task;
}

// Before any name is given to what comes: nobody uses that one yet.
void Sequencer::forget_names(Time now) {
  for (NameForgotten& name : forgetter_.unused(names_, engine_.state(), std::max(now, now_)))
    note(std::move(name));
}

GroupId Sequencer::group_for(TenantId tenant, const std::string& name) {
  if (const GroupId known = names_.group(tenant, name)) return known;
  const GroupId group = names_.next_group();
  note(GroupNamed{group, tenant, name});
  forgetter_.named();
  return group;
}

SignalId Sequencer::signal_for(TenantId tenant, const std::string& name) {
  if (const SignalId known = names_.signal(tenant, name)) return known;
  // Who has too many also has old ones looked at.
  forgetter_.named();
  if (names_.signals_of(tenant) >= options_.max_signals) return SignalId::none();
  const SignalId signal = names_.next_signal();
  note(SignalNamed{signal, tenant, name});
  return signal;
}

void Sequencer::describe(NewTask& task, TaskNo number, Time now) {
  TaskCard& card = *task.card;
  card.task = number;
  card.submitted = std::max(now, now_);
  card.priority = task.spec.priority;
  card.gpus = task.spec.gpus;
  card.share = task.spec.share;
  card.vram = task.spec.vram;
  notes_.emplace_back(TaskDescribed{task.card});
}

}  // namespace berth::service
