// CRC32C (Castagnoli), the checksum of groups and snapshots. Finds damage, not intent.
//
// Uses the processor's instruction where the build allows it, else a table; both give the same.
#pragma once

#include <cstdint>

#include "journal/wire.h"

namespace berth::journal {

// Of the bytes that gave `before`, followed by `bytes`.
std::uint32_t crc32c(ByteView bytes, std::uint32_t before = 0);

// The portable twin, always compiled: the oracle of the fast one.
std::uint32_t crc32c_by_table(ByteView bytes, std::uint32_t before = 0);

}  // namespace berth::journal
