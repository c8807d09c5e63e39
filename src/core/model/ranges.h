// Ranges: which values of a spec the core can reckon with, in one place for all who must know.
//
// Readers of files take the limits from here and refuse with file and line; the engine asserts that
// what reaches it has no flaw (a task with one is refused as bad_spec); restoring a snapshot
// refuses it. The limits are far above use and chosen so that no sum or product of the core
// overflows.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "core/model/specs.h"

namespace berth::core {

inline constexpr Duration kDurationMax = minutes(100LL * 365 * 24 * 60);  // or forever, where said
inline constexpr Duration kAgeStepMax = minutes(3LL * 24 * 60);           // × any priority fits
inline constexpr std::int64_t kMibMax = std::int64_t{1} << 30;
inline constexpr std::int64_t kGpusMax = 100'000;
inline constexpr std::int64_t kNodesMax = kGpusMax;
inline constexpr std::int64_t kCpuMax = std::int64_t{1} << 40;  // thousandths of a core
inline constexpr std::int64_t kTokensMax = 9'000'000'000;       // a bucket counts in 1e-9 tokens
inline constexpr std::int64_t kDailyTokensMax = 1'000'000'000'000'000;
inline constexpr std::int64_t kWeightMin = 10;
inline constexpr std::int64_t kWeightMax = 1'000'000;
inline constexpr std::int64_t kSpeedMax = 1'000'000;
inline constexpr std::int64_t kBatchSizeMax = 100'000;
inline constexpr std::int64_t kLiveTasksMax = 10'000'000;
inline constexpr std::int64_t kStartsPerStepMax = 1'000'000;
inline constexpr std::int64_t kHoldsMax = 1'000'000;
inline constexpr std::int64_t kReservationsMax = 1'000'000;
inline constexpr std::int64_t kFailuresMax = 255;  // like failures and losses are counted in a byte
inline constexpr std::int64_t kAgingFactorMax = 1'000'000'000;

// What was expected instead of the first value out of range; null: there is none.
const char* flaw_in(const PolicySpec& spec);
const char* flaw_in(const TenantSpec& spec);
const char* flaw_in(const QueueSpec& spec);
const char* flaw_in(const ModelSpec& spec);
const char* flaw_in(const NodeSpec& spec);
const char* flaw_in(const GpuSpec& spec);
const char* flaw_in(const TaskSpec& spec);

}  // namespace berth::core
