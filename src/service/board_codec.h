// The board's bytes in a snapshot: live tasks, leases, residences and counters. The names have a
// section of their own and are restored first; keys and ledger come from theirs.
#pragma once

#include "journal/wire.h"
#include "service/board.h"

namespace berth::service {

class BoardCodec {
 public:
  static void encode_names(journal::Writer& out, const Names& names);
  static void encode(journal::Writer& out, const Board& board);

  // Into an empty board. A failure stays in `in`.
  static void decode_names(journal::Reader& in, Board& board);
  static void decode(journal::Reader& in, Board& board);
  static void set_keys(Board& board, const Keys& keys) { board.keys_ = keys; }
  // The engine's snapshot has the ledger, and what its leases have cost so far.
  static void set_ledger(Board& board, const core::State& state);
};

}  // namespace berth::service
