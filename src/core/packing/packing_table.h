// PackingTable: what was learned beside the decision path about packing: a mix of shapes and the
// value table that was learned for it. Enters the core as bytes that nobody trusts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/packing/mix.h"
#include "core/packing/value_table.h"

namespace berth::core {

struct PackingTable {
  TypicalMix mix;
  ValueTable values;
  bool operator==(const PackingTable&) const = default;
};

// Canonical bytes: equal tables, equal bytes.
std::vector<std::uint8_t> encode(const PackingTable& table);
Result<PackingTable> decode_packing_table(std::span<const std::uint8_t> bytes);

}  // namespace berth::core
