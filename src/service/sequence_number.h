// Sequence numbers: the names of tasks' steps in streams. A number says which message of the
// journal made the step, and which of that message's steps it is; so it is the same live, from the
// journal, after a restart, and behind any filter.
//
// Numbers below kSequenceBase are ordinals, as servers gave them that numbered all steps of a
// message alike. They still mean their place: behind all steps of that message.
#pragma once

#include <cstdint>

#include "core/model/ranges.h"

namespace berth::service {

inline constexpr std::uint64_t kSequenceBase = 1ULL << 40;
inline constexpr std::uint64_t kStepsOfOneMost = 1ULL << 17;
static_assert(core::kBatchSizeMax <= kStepsOfOneMost);  // a batch starts in one message

constexpr std::uint64_t sequence_of(std::uint64_t ordinal, std::uint64_t step) {
  return kSequenceBase + ordinal * kStepsOfOneMost + step;
}
// Behind every step of this message, and before the next message's.
constexpr std::uint64_t sequence_behind(std::uint64_t ordinal) {
  return sequence_of(ordinal, kStepsOfOneMost - 1);
}
constexpr std::uint64_t ordinal_of(std::uint64_t sequence) {
  return (sequence - kSequenceBase) / kStepsOfOneMost;
}
// What a client means by a number that it was given, now or long ago.
constexpr std::uint64_t sequence_meant(std::uint64_t given) {
  return given < kSequenceBase ? sequence_behind(given) : given;
}

}  // namespace berth::service
