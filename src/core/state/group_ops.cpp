// Primitives over groups: who is in one, whose turn it is, what is cancelled with it. See state.h.
#include "core/state/state.h"

namespace berth::core {

namespace {

// Puts the task at the end of its group's list, and returns the group.
Group& append(State& state, std::uint32_t slot) {
  TaskExtra& extra = state.tasks.extra_of(slot);
  const auto [it, is_new] = state.groups.try_emplace(extra.group, Group{slot, slot, extra.at_once});
  Group& group = it->second;
  if (is_new) return group;
  extra.group_prev = group.last;
  state.tasks.extra_of(group.last).group_next = slot;
  group.last = slot;
  return group;
}

}  // namespace

void join_group(State& state, std::uint32_t slot, GroupId id, std::uint32_t at_once) {
  TaskExtra& extra = state.tasks.extra_of(slot);
  extra.group = id;
  extra.at_once = at_once;
  extra.at_once = append(state, slot).at_once;
  if (extra.at_once == 0) return;
  ++state.tasks.row(slot).unresolved;
  if (state.tasks.row(slot).held == ReasonCode::none) ask_for_turn(state, slot);
}

void rejoin_group(State& state, std::uint32_t slot) {
  const TaskExtra& extra = state.tasks.extra_of(slot);
  if (!extra.group) return;
  Group& group = append(state, slot);
  const TaskRow& row = state.tasks.row(slot);
  if (extra.has_turn) {
    ++group.turns;
  } else if (extra.at_once > 0 && row.held == ReasonCode::none) {
    group.line.insert(row.no);
  }
}

void leave_group(State& state, std::uint32_t slot) {
  if (state.tasks.row(slot).extra == kNoSlot) return;
  TaskExtra& extra = state.tasks.extra_of(slot);
  if (!extra.group) return;
  give_up_turn(state, slot);
  const auto it = state.groups.find(extra.group);
  Group& group = it->second;
  std::uint32_t& next_of_prev =
      extra.group_prev == kNoSlot ? group.first : state.tasks.extra_of(extra.group_prev).group_next;
  std::uint32_t& prev_of_next =
      extra.group_next == kNoSlot ? group.last : state.tasks.extra_of(extra.group_next).group_prev;
  next_of_prev = extra.group_next;
  prev_of_next = extra.group_prev;
  const bool is_empty = group.first == kNoSlot;
  const auto cancelling = state.cancelling.find(extra.group);
  const bool is_done = cancelling != state.cancelling.end() &&
                       (is_empty || state.tasks.row(group.first).no >= cancelling->second);
  if (is_done) state.cancelling.erase(cancelling);
  if (is_empty) state.groups.erase(it);
  extra.group = GroupId::none();
  extra.group_prev = extra.group_next = kNoSlot;
}

void ask_for_turn(State& state, std::uint32_t slot) {
  if (state.tasks.row(slot).extra == kNoSlot) return;
  TaskExtra& extra = state.tasks.extra_of(slot);
  if (extra.at_once == 0) return;
  Group& group = state.groups.at(extra.group);
  if (group.turns >= group.at_once) {
    group.line.insert(state.tasks.row(slot).no);
    return;
  }
  extra.has_turn = true;
  ++group.turns;
  --state.tasks.row(slot).unresolved;
}

void give_up_turn(State& state, std::uint32_t slot) {
  if (state.tasks.row(slot).extra == kNoSlot) return;
  TaskExtra& extra = state.tasks.extra_of(slot);
  if (extra.at_once == 0) return;
  Group& group = state.groups.at(extra.group);
  group.line.erase(state.tasks.row(slot).no);
  if (!extra.has_turn) return;
  extra.has_turn = false;
  --group.turns;
  ++state.tasks.row(slot).unresolved;
  if (group.line.empty()) return;
  const std::uint32_t next = state.tasks.slot_of(group.line.extract(group.line.begin()).value());
  ask_for_turn(state, next);
  note_unblocked(state, next);
}

void begin_cancel(State& state, GroupId group) {
  if (!state.groups.contains(group)) return;
  state.cancelling.insert_or_assign(group, state.tasks.next());
}

}  // namespace berth::core
