// Checks the links between tasks: groups, dependencies, signals, ripe tasks. See check.h.
#include <algorithm>
#include <map>
#include <set>

#include "core/state/check.h"

namespace berth::core {
namespace {

void check_turns(const State& state, GroupId id, const std::set<std::uint32_t>& members,
                 Findings& findings) {
  const Group& group = state.groups.at(id);
  std::uint32_t turns = 0;
  std::set<TaskNo> line;
  for (const std::uint32_t slot : members) {
    const TaskExtra& extra = *state.tasks.find_extra(slot);
    const TaskRow& row = state.tasks.row(slot);
    findings.same(extra.at_once, group.at_once, "limit of group ", id, " at task ", row.no);
    findings.must(!extra.has_turn || extra.at_once > 0, "task ", row.no, " has a turn of nothing");
    findings.must(!extra.has_turn || row.held == ReasonCode::none, "the held task ", row.no,
                  " has a turn");
    if (extra.has_turn) ++turns;
    const bool in_line = extra.at_once > 0 && !extra.has_turn && row.held == ReasonCode::none;
    if (in_line) line.insert(row.no);
  }
  findings.same(group.turns, turns, "turns of group ", id);
  findings.must(group.line == line, "the line of group ", id, " has ", group.line.size(),
                " tasks, derived ", line.size(), ", or others");
  findings.must(turns <= group.at_once && (line.empty() || turns == group.at_once), "group ", id,
                " has ", turns, " turns of ", group.at_once, " and ", line.size(), " in line");
}

void check_groups(const State& state, const std::vector<std::uint32_t>& live, Findings& findings) {
  std::map<GroupId, std::set<std::uint32_t>> members;
  for (const std::uint32_t slot : live) {
    const TaskExtra* extra = state.tasks.find_extra(slot);
    if (extra != nullptr && extra->group) members[extra->group].insert(slot);
  }
  findings.same(state.groups.size(), members.size(), "number of groups");
  for (const auto& [group, derived] : members) {
    const auto first = state.groups.find(group);
    if (first == state.groups.end()) {
      findings.say("group ", group, " of ", derived.size(), " tasks is not listed");
      continue;
    }
    std::set<std::uint32_t> listed;
    std::uint32_t before = kNoSlot;
    for (std::uint32_t slot = first->second.first; slot != kNoSlot;) {
      const TaskExtra* extra = slot < state.tasks.slots() ? state.tasks.find_extra(slot) : nullptr;
      if (extra == nullptr || extra->group != group || !listed.insert(slot).second) {
        findings.say("the list of group ", group, " leads to slot ", slot, ", not a member");
        break;
      }
      findings.same(extra->group_prev, before, "slot before ", slot, " in group ", group);
      findings.must(before == kNoSlot || state.tasks.row(before).no < state.tasks.row(slot).no,
                    "slot ", slot, " stands too late in group ", group);
      before = slot;
      slot = extra->group_next;
    }
    findings.same(first->second.last, before, "last slot of group ", group);
    findings.must(listed == derived, "group ", group, " lists ", listed.size(), " tasks, derived ",
                  derived.size(), ", or others");
    check_turns(state, group, derived, findings);
  }
}

void check_cancelling(const State& state, Findings& findings) {
  for (const auto& [group, below] : state.cancelling) {
    const auto it = state.groups.find(group);
    findings.must(it != state.groups.end() && state.tasks.row(it->second.first).no < below,
                  "group ", group, " is being cancelled below ", below, " and has no such task");
  }
}

using Edges = std::map<std::uint64_t, std::multiset<TaskNo>>;  // waited for -> who waits

// Ended tasks may stay in a list; they are passed over when it is read.
std::multiset<TaskNo> live_only(const State& state, const std::vector<TaskNo>& tasks) {
  std::multiset<TaskNo> live;
  for (const TaskNo task : tasks) {
    if (state.tasks.slot_of(task) != kNoSlot) live.insert(task);
  }
  return live;
}

void check_dependencies(const State& state, const std::vector<std::uint32_t>& live,
                        Findings& findings) {
  Edges on_task;
  Edges on_signal;
  for (const std::uint32_t slot : live) {
    const TaskRow& row = state.tasks.row(slot);
    const TaskExtra* extra = state.tasks.find_extra(slot);
    std::uint32_t open = extra != nullptr && extra->at_once > 0 && !extra->has_turn ? 1 : 0;
    for (const Dependency& dependency :
         extra == nullptr ? std::vector<Dependency>{} : extra->depends_on) {
      if (dependency.kind == Dependency::Kind::signal) {
        const auto signal = state.signals.find(SignalId{dependency.id});
        if (signal != state.signals.end() && signal->second.resolved) continue;
        on_signal[dependency.id].insert(row.no);
      } else {
        if (state.tasks.slot_of(TaskNo{dependency.id}) == kNoSlot) continue;
        on_task[dependency.id].insert(row.no);
      }
      ++open;
    }
    findings.same(row.unresolved, open, "unresolved dependencies of task ", row.no);
    findings.must(open == 0 || row.state == TaskState::waiting, "task ", row.no, " has ", open,
                  " unresolved dependencies and is ", row.state);
  }
  const std::multiset<TaskNo> nobody;
  for (const std::uint32_t slot : live) {
    const TaskNo no = state.tasks.row(slot).no;
    const std::vector<TaskNo>& dependants = state.tasks.dependants_of(slot);
    const auto derived = on_task.find(no.value);
    if (dependants.empty() && derived == on_task.end()) continue;
    const auto listed = live_only(state, dependants);
    const auto& wanted = derived == on_task.end() ? nobody : derived->second;
    findings.must(listed == wanted, "task ", no, " lists ", listed.size(),
                  " live dependants, derived ", wanted.size(), ", or others");
  }
  for (const auto& [id, signal] : state.signals) {
    const auto listed = live_only(state, signal.waiters);
    findings.must(listed == on_signal[id.value], "signal ", id, " lists ", listed.size(),
                  " live waiters, derived ", on_signal[id.value].size(), ", or others");
    findings.must(!signal.resolved || signal.waiters.empty(), "signal ", id,
                  " is resolved and has ", signal.waiters.size(), " waiters");
    on_signal.erase(id.value);
  }
  for (const auto& [id, waiters] : on_signal) {
    findings.must(waiters.empty(), "signal ", id, " is not known and has ", waiters.size(),
                  " waiters");
  }
  findings.same(state.early_waiters.size(), std::size_t{0}, "tasks waited for before their submit");
}

void check_ripe(const State& state, Findings& findings) {
  for (const auto& [task, reason] : state.ripe) {
    const std::uint32_t slot = state.tasks.slot_of(task);
    if (slot == kNoSlot) {
      findings.say("task ", task, " is ripe and not live");
      continue;
    }
    const TaskRow& row = state.tasks.row(slot);
    findings.same(row.state, TaskState::waiting, "state of the ripe task ", task);
    if (reason) continue;
    findings.must(row.unresolved == 0 && row.held == ReasonCode::none && row.eligible <= state.now,
                  "task ", task, " is ripe with ", row.unresolved,
                  " unresolved dependencies, eligible at ", row.eligible);
  }
}

}  // namespace

void check_links(const State& state, const Derived& derived, Findings& findings) {
  check_groups(state, derived.live, findings);
  check_cancelling(state, findings);
  check_dependencies(state, derived.live, findings);
  check_ripe(state, findings);
}

}  // namespace berth::core
