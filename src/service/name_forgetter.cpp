// See name_forgetter.h.
#include "service/name_forgetter.h"

#include <algorithm>
#include <utility>

namespace berth::service {
namespace {

// Tasks that waited and have ended may still be listed; so many are looked at.
constexpr std::size_t kWaitersLookedAt = 16;

// The entry behind the last one, in a circle.
template <class Map>
typename Map::const_iterator behind(const Map& map, const std::optional<Names::Scoped>& last) {
  const auto at = last ? map.upper_bound(*last) : map.begin();
  return at == map.end() ? map.begin() : at;
}

}  // namespace

std::vector<NameForgotten> NameForgetter::unused(const Names& names, const core::State& state,
                                                 Time now) {
  std::vector<NameForgotten> found;
  const std::size_t looks = std::min(to_look_at_, kLooksAtOnce);
  to_look_at_ -= looks;
  for (std::size_t i = 0; i < looks; i += 2) {
    look_at_group(names, state, found);
    look_at_signal(names, state, now, found);
    look_at_array(names, state, now, found);
  }
  return found;
}

namespace {

// Where there are few names, one may come by twice in one round.
void add_once(std::vector<NameForgotten>& found, NameForgotten name) {
  if (std::ranges::count(found, name) == 0) found.push_back(std::move(name));
}

}  // namespace

void NameForgetter::look_at_group(const Names& names, const core::State& state,
                                  std::vector<NameForgotten>& found) {
  if (names.groups().empty()) return;
  const auto at = behind(names.groups(), last_group_);
  last_group_ = at->first;
  if (state.groups.contains(at->second)) return;
  add_once(found, {NameForgotten::Noun::group, {at->first.first}, at->first.second});
}

void NameForgetter::look_at_array(const Names& names, const core::State& state, Time now,
                                  std::vector<NameForgotten>& found) {
  if (names.arrays().empty()) return;
  const auto at = behind(names.arrays(), last_array_);
  last_array_ = at->first;
  const GroupId group = names.group({at->first.first}, at->first.second);
  if (group && state.groups.contains(group)) {
    ended_since_.erase(at->first);
    return;
  }
  if (ended_since_.emplace(at->first, now).first->second + remember_ > now) return;
  ended_since_.erase(at->first);
  add_once(found, {NameForgotten::Noun::array, {at->first.first}, at->first.second});
}

void NameForgetter::look_at_signal(const Names& names, const core::State& state, Time now,
                                   std::vector<NameForgotten>& found) {
  if (names.signals().empty()) return;
  const auto at = behind(names.signals(), last_signal_);
  last_signal_ = at->first;
  if (is_used(state, at->second, now)) return;
  given_since_.erase(at->second);
  add_once(found, {NameForgotten::Noun::signal, {at->first.first}, at->first.second});
}

bool NameForgetter::is_used(const core::State& state, SignalId id, Time now) {
  const auto at = state.signals.find(id);
  if (at == state.signals.end()) return false;
  const core::Signal& signal = at->second;
  if (signal.resolved) return given_since_.emplace(id, now).first->second + remember_ > now;
  if (signal.waiters.size() > kWaitersLookedAt) return true;
  return std::ranges::any_of(
      signal.waiters, [&](TaskNo task) { return state.tasks.slot_of(task) != core::kNoSlot; });
}

}  // namespace berth::service
