// See value.h. Doubles are used with the four operations alone, which IEEE 754 fixes, and the
// result is rounded before anyone compares it.
#include "core/mig/value.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/assert.h"
#include "base/units.h"
#include "core/mig/placement.h"

namespace berth::core::mig {
namespace {

constexpr int kSweepsMax = 500;
constexpr double kSettled = 1e-9;
// How many times in a mean run time the future fades to 1/e, and how much shorter or longer than
// the mean a run time can count. Both were fitted to simulations: a longer view, or run times in
// full, loses more by what the model leaves out (the other GPUs) than it gains.
constexpr double kFading = 8;
constexpr double kRunRatioMax = 2;
// Each profile is taken to be asked for this often at least, as a part of an even share: a mix that
// was measured never proves that nothing else will come.
constexpr double kUnseen = 1.0 / 64;

// What is asked for one profile, in units of the mean run time of the mix.
struct Stream {
  const SlotClass* slot = nullptr;
  double rate = 0;
  double load = 0;  // rate × mean run time
};

// What one profile's demands come to; exact, so that their order does not matter.
struct Sums {
  std::int64_t rate = 0;
  Wide load = 0;
};
constexpr std::int64_t kRateMax = std::int64_t{1} << 40;

double as_double(Wide value) {
  constexpr double kHigh = 18446744073709551616.0;  // 2^64
  return static_cast<double>(static_cast<std::int64_t>(value >> 64)) * kHigh +
         static_cast<double>(static_cast<std::uint64_t>(value));
}

std::vector<Sums> sum_by_slot(std::span<const SlotClass> slots, std::span<const Demand> mix) {
  std::vector<Sums> sums(slots.size());
  for (const Demand& demand : mix) {
    if (demand.rate < 1 || demand.mean_run.ns < 1) continue;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].profile != demand.profile) continue;
      const std::int64_t rate = std::min(demand.rate, kRateMax);
      sums[i].rate += rate;
      sums[i].load += static_cast<Wide>(rate) * demand.mean_run.ns;
    }
  }
  return sums;
}

// Each profile's part of the arrivals and of the load. Nothing asked: the same of each.
std::vector<Stream> shares_of(std::span<const SlotClass> slots, std::span<const Demand> mix) {
  const std::vector<Sums> sums = sum_by_slot(slots, mix);
  double rate = 0;
  double load = 0;
  for (const Sums& sum : sums) {
    rate += static_cast<double>(sum.rate);
    load += as_double(sum.load);
  }
  const double least = kUnseen / static_cast<double>(slots.size());
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Stream stream{.slot = &slots[i], .rate = 1, .load = 1};
    if (rate > 0) {
      const double share = static_cast<double>(sums[i].rate) / rate;
      const double run = share > 0 ? as_double(sums[i].load) / load / share : 1;
      stream.rate = std::max(share, least);
      stream.load = stream.rate * std::clamp(run, 1 / kRunRatioMax, kRunRatioMax);
    }
    streams.push_back(stream);
  }
  return streams;
}

// The mix, scaled to just fill the memory slices, with its mean run time as the unit of time.
std::vector<Stream> streams_of(Geometry geometry, std::span<const Demand> mix) {
  std::vector<Stream> streams = shares_of(slot_classes(geometry), mix);
  double slices = 0;
  for (const Stream& stream : streams)
    slices += stream.load * stream.slot->memory_slices;
  const double fill = memory_slices(geometry) / slices;
  for (Stream& stream : streams) {
    stream.rate *= fill;
    stream.load *= fill;
  }
  return streams;
}

template <class Visit>
void visit_starts(const SlotClass& slot, Visit visit) {
  for (int start = 0; start < kMemorySlicesMax; ++start) {
    if ((slot.starts >> start & 1) != 0) visit(start);
  }
}

// How likely a state is, up to a factor: the sum over its layouts of the product of their loads.
std::vector<double> weights_of(const std::vector<Stream>& streams) {
  std::vector<double> weights(kStates, 0);
  weights[State{}.index()] = 1;
  for (std::uint16_t i = 1; i < kStates; ++i) {
    const State state = State::at(i);
    const unsigned lowest = state.used & (~static_cast<unsigned>(state.used) + 1);
    for (const Stream& stream : streams) {
      visit_starts(*stream.slot, [&](int start) {
        // Each layout is counted once: by the instance that has its lowest slice.
        if (holds(state, *stream.slot, start) && 1U << start == lowest)
          weights[i] += stream.load * weights[give(state, *stream.slot, start).index()];
      });
    }
  }
  return weights;
}

// One state's way to the next: arrivals lead to the best of several states, ends to one.
struct Transitions {
  struct Arrival {
    double rate;
    std::vector<std::uint16_t> to;
  };
  struct End {
    double rate;
    std::uint16_t to;
  };
  std::uint16_t state = 0;
  double room = 0;        // gained per unit of time
  double rate = kFading;  // with that of all that can happen
  std::vector<Arrival> arrivals;
  std::vector<End> ends;
};

Transitions transitions_of(State state, const std::vector<Stream>& streams,
                           const std::vector<double>& weights) {
  Transitions out;
  out.state = state.index();
  double rates = 0;
  for (const Stream& stream : streams) {
    const SlotClass& slot = *stream.slot;
    rates += stream.rate;
    Transitions::Arrival arrival{.rate = stream.rate, .to = {}};
    visit_starts(slot, [&](int start) {
      if (legal(state, slot, start)) arrival.to.push_back(take(state, slot, start).index());
      if (!holds(state, slot, start)) return;
      // An instance of this load is there with probability load × w(rest) / w(state), and ends at
      // 1 / mean run = rate / load.
      const std::uint16_t rest = give(state, slot, start).index();
      const double rate = stream.rate * weights[rest] / weights[state.index()];
      if (rate > 0) out.ends.push_back({rate, rest});
    });
    if (arrival.to.empty()) continue;
    const std::size_t fitting = std::min<std::size_t>(arrival.to.size(), slot.most);
    out.room += stream.rate * static_cast<double>(fitting * slot.memory_slices);
    out.arrivals.push_back(std::move(arrival));
  }
  out.room /= rates;
  for (const auto& arrival : out.arrivals)
    out.rate += arrival.rate;
  for (const auto& end : out.ends)
    out.rate += end.rate;
  return out;
}

double value_of(const Transitions& from, const std::vector<double>& values) {
  double sum = from.room;
  for (const auto& arrival : from.arrivals) {
    double best = values[arrival.to.front()];
    for (const std::uint16_t to : arrival.to)
      best = std::max(best, values[to]);
    sum += arrival.rate * best;
  }
  for (const auto& end : from.ends)
    sum += end.rate * values[end.to];
  return sum / from.rate;
}

// The states that some layout has, the fullest first.
std::vector<Transitions> all_transitions(const std::vector<Stream>& streams) {
  const std::vector<double> weights = weights_of(streams);
  std::vector<Transitions> states;
  for (std::uint16_t i = kStates; i-- > 0;) {
    if (weights[i] > 0) states.push_back(transitions_of(State::at(i), streams, weights));
  }
  return states;
}

std::vector<double> settle(const std::vector<Transitions>& states) {
  std::vector<double> values(kStates, 0);
  double change = 1;
  for (int sweep = 0; sweep < kSweepsMax && change > kSettled; ++sweep) {
    change = 0;
    for (const Transitions& state : states) {
      const double value = value_of(state, values);
      change = std::max(change, std::fabs(value - values[state.state]));
      values[state.state] = value;
    }
  }
  return values;
}

// What is taken on top never adds value. The model can say so, since it knows a state's layout only
// by its chances: a full GPU may be thought of as one large instance that will soon end.
void cap_by_emptier_states(ValueTable& table, const std::vector<Transitions>& states) {
  for (std::size_t i = states.size(); i-- > 0;) {
    for (const auto& arrival : states[i].arrivals) {
      for (const std::uint16_t to : arrival.to)
        table.values[to] = std::min(table.values[to], table.values[states[i].state]);
    }
  }
}

}  // namespace

ValueTable value_table(Geometry geometry, std::span<const Demand> mix) {
  ASSERT(geometry != Geometry::none);
  const std::vector<Transitions> states = all_transitions(streams_of(geometry, mix));
  const std::vector<double> values = settle(states);
  ValueTable table{.geometry = geometry, .values = {}};
  for (const Transitions& state : states) {
    table.values[state.state] =
        static_cast<std::int32_t>(std::llround(values[state.state] * kFading * kValueUnit));
  }
  cap_by_emptier_states(table, states);
  return table;
}

const ValueTable& uniform_table(Geometry geometry) {
  ASSERT(geometry != Geometry::none);
  static const std::vector<ValueTable> kTables = [] {
    std::vector<ValueTable> tables(1);
    for (std::size_t g = 1; g < kGeometries; ++g)
      tables.push_back(value_table(static_cast<Geometry>(g), {}));
    return tables;
  }();
  return kTables[static_cast<std::size_t>(geometry)];
}

}  // namespace berth::core::mig
