// NameForgetter: which names of groups, signals and arrays nobody uses any more.
//
// A group is used while a live task is in it. An array too, and its name is remembered beyond that
// for as long as ids are, because a task that comes later may depend on it. A signal is used while
// a live task waits for it; one that was given is remembered beyond that, for as long as ids are,
// because a task that comes later must not wait for it. Without this every name ever used would
// stay in memory and in snapshots.
//
// For each new name a few old ones are looked at, in a circle, so the cost follows the change and
// the names are at most about twice as many as are used. It decides; the note that is written
// changes Names. Since when a signal is given or an array has ended is not written: after a restart
// that counts anew.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/state/state.h"
#include "service/names.h"
#include "service/notes.h"

namespace berth::service {

class NameForgetter {
 public:
  explicit NameForgetter(Duration remember) : remember_(remember) {}

  void named() { to_look_at_ += kLooksPerName; }
  // Its name was forgotten by another way.
  void forgotten(SignalId signal) { given_since_.erase(signal); }

  // What may be forgotten now. REQUIRES that no name was given for a task that is yet to come.
  std::vector<NameForgotten> unused(const Names& names, const core::State& state, Time now);

 private:
  static constexpr std::size_t kLooksPerName = 4;
  static constexpr std::size_t kLooksAtOnce = 64;

  bool is_used(const core::State& state, SignalId signal, Time now);
  void look_at_group(const Names& names, const core::State& state,
                     std::vector<NameForgotten>& found);
  void look_at_signal(const Names& names, const core::State& state, Time now,
                      std::vector<NameForgotten>& found);
  void look_at_array(const Names& names, const core::State& state, Time now,
                     std::vector<NameForgotten>& found);

  Duration remember_;
  std::size_t to_look_at_ = 0;
  std::optional<Names::Scoped> last_group_;  // that was looked at
  std::optional<Names::Scoped> last_signal_;
  std::optional<Names::Scoped> last_array_;
  std::map<SignalId, Time> given_since_;       // since when it is known to be given
  std::map<Names::Scoped, Time> ended_since_;  // since when an array is known to have ended
};

}  // namespace berth::service
