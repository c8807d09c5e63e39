// What packing knows: the mix that is learned here, the table that is learned outside. See state.h.
#include <bit>

#include "base/assert.h"
#include "core/packing/packing_table.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

constexpr std::uint64_t kFirstLook = 64;

// Scores follow the mix, so it is looked at ever more rarely: after 64 arrivals, 128, 256, and from
// there on whenever the counts have faded by half.
bool is_time_to_look(std::uint64_t arrivals) {
  if (arrivals >= Mix::kArrivalsRemembered) return arrivals % Mix::kArrivalsRemembered == 0;
  return arrivals >= kFirstLook && std::has_single_bit(arrivals);
}

}  // namespace

void instruct_packing(State& state) {
  const PackingKnowledge& known = state.packing;
  PackIndex& index = state.placed.pack;
  if (known.table.empty()) {
    index.set_table(std::nullopt);
    index.set_mix(known.typical);
    return;
  }
  Result<PackingTable> table = decode_packing_table(known.table);
  ASSERT(table.ok());
  index.set_mix(std::move(table->mix));
  index.set_table(std::move(table->values));
}

void learn_shape(State& state, const Shape& shape) {
  PackingKnowledge& known = state.packing;
  known.mix.note_arrival(shape);
  if (!is_time_to_look(++known.arrivals)) return;
  known.typical = typical(known.mix);
  if (known.table.empty()) instruct_packing(state);
}

void put_packing_table(State& state, std::uint64_t version,
                       const std::vector<std::uint8_t>& bytes) {
  // Checked where it entered; bytes that cannot be read change nothing.
  if (!bytes.empty() && !decode_packing_table(bytes).ok()) return;
  state.packing.version = version;
  state.packing.table = bytes;
  instruct_packing(state);
}

}  // namespace berth::core
