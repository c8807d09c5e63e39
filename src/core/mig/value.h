// The value of a MIG state: how much of the work to come a GPU in that state can still take.
//
// V(state) is the expected, discounted room for requests: at each instant, summed over the profiles
// by their rate of arrival, the memory slices that requests of the profile could be given now. The
// GPU meanwhile goes on: requests arrive, each is placed where V stays largest, instances end after
// their mean run time. Which instances make up a state is not in the state; the weights of its
// possible layouts are those of a loss network, the product of the offered loads. The mix is scaled
// so that it would just fill the GPU, for only near that point does placement matter, and the
// future fades within a part of the mean run time.
//
// A table is a function of geometry and mix alone: no clock, no sample, no order of arrivals.
// Computing one takes about a millisecond, so it happens beside the decision path.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "core/mig/profiles.h"

namespace berth::core::mig {

// What is asked of GPUs of one geometry. Rates in any unit that all share.
struct Demand {
  ProfileId profile = kNoProfile;
  std::int64_t rate = 0;
  Duration mean_run;
};

struct ValueTable {
  Geometry geometry = Geometry::none;
  std::array<std::int32_t, kStates> values{};  // by State::index(); 0 where no layout leads

  std::int32_t of(State state) const { return values[state.index()]; }
  bool operator==(const ValueTable&) const = default;
};

// The value of room for one memory slice, whatever is asked, for ever.
inline constexpr std::int32_t kValueUnit = 1'000'000;
inline constexpr std::int32_t kValueMax = kMemorySlicesMax * kValueUnit;

// The table for a mix; the order of its lines does not matter. Profiles that the geometry does not
// have, and rates or run times below 1, ask for nothing; when nothing is asked, each profile counts
// as asked for alike. REQUIRES a geometry that can be cut.
ValueTable value_table(Geometry geometry, std::span<const Demand> mix);

// The table where nothing is known of what is asked for. Computed once.
const ValueTable& uniform_table(Geometry geometry);

// Canonical bytes: one table, one encoding; what does not say a possible table is refused.
std::string encode(const ValueTable& table);
Result<ValueTable> decode_value_table(std::string_view bytes);

}  // namespace berth::core::mig
