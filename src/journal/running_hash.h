// RunningHash: one number for all actions so far. Equal histories give equal numbers, in any build.
//
// Taken over the canonical encoding, action by action, so it does not depend on how actions are
// grouped into steps, groups or snapshots. It finds accidents (another decision, another order, a
// damaged journal); it is no defence against someone who computes collisions.
//
// Two stages: the bytes of one action are folded to 64 bits by four independent multiplications per
// 64 bytes; that digest then enters the state by a step that is one to one in the state, so
// histories that once differ never meet again through an equal continuation.
#pragma once

#include <cstdint>

#include "core/action.h"
#include "journal/wire.h"

namespace berth::journal {

class RunningHash {
 public:
  // What a snapshot carries.
  struct State {
    std::uint64_t hash = 0x6a09e667f3bcc908;
    std::uint64_t count = 0;  // actions added
    bool operator==(const State&) const = default;
  };

  RunningHash() = default;
  explicit RunningHash(State state) : state_(state) {}

  void add(const core::Action& action);

  // The same as add of the action whose canonical encoding this is.
  void add_bytes(ByteView encoded);

  std::uint64_t value() const { return state_.hash; }
  std::uint64_t count() const { return state_.count; }

  const State& state() const { return state_; }
  void restore(State state) { state_ = state; }

 private:
  State state_;
  Writer scratch_;
};

// The first stage alone: 64 bits for a span of bytes. The length counts, order counts.
std::uint64_t hash_bytes(ByteView bytes);

}  // namespace berth::journal
