// Replayer: the service's state as the journal leads to it, applied and never decided. Recovery and
// the making of snapshots are the same thing: a snapshot, and what came after it.
//
// It verifies as it goes: the running hash over the recorded actions must be the one each group
// carries.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/group.h"
#include "service/board.h"
#include "service/sequencer.h"
#include "store/identity.h"
#include "store/journal.h"

namespace berth::service {

class Replayer {
 public:
  explicit Replayer(Duration remember_ids) : remember_ids_(remember_ids), board_(remember_ids) {}

  // Replaces everything by what the snapshot holds.
  Status restore(journal::ByteView snapshot);
  // The group that comes next.
  Status apply(store::GroupAt at, const journal::Group& group);

  std::vector<std::byte> snapshot() const;

  // Of the data folder whose state it is; 0: none. Snapshots carry it.
  store::Identity identity() const { return identity_; }
  void set_identity(store::Identity identity) { identity_ = identity; }

  std::uint64_t next_seq() const { return at_.next_seq; }
  std::uint64_t ordinal() const { return at_.next_seq + at_.hash.count; }
  const Position& position() const { return at_; }
  const Board& board() const { return board_; }
  // Tasks that have ended since the caller last took them.
  Ended take_ended() { return std::exchange(changes_.ended, {}); }

  // Leaves the replayer empty.
  Position take_position() { return std::move(at_); }
  Board take_board() { return std::move(board_); }

 private:
  Status apply_note(store::GroupAt at, const journal::GroupCursor& cursor);
  void apply_action(const core::Action& action, journal::ByteView encoded);

  Duration remember_ids_;
  store::Identity identity_ = 0;
  Position at_;
  Board board_;
  journal::RunningHash hash_;
  Time decided_at_;
  Board::Changes changes_;
};

// A snapshot of a running service, for an orderly stop: the same bytes as a replayer's.
std::vector<std::byte> encode_service_snapshot(const core::Engine& engine, const Names& names,
                                               const Keys& keys, const Board& board,
                                               const journal::RunningHash::State& hash,
                                               std::uint64_t next_seq, std::uint64_t epoch,
                                               Time now, store::Identity identity = 0);

struct Recovered {
  Replayer replayer;
  store::JournalEnd end;
  std::uint64_t snapshot_seq = 0;    // where the replayed part began
  std::uint64_t bytes = 0;           // of the replayed part
  std::vector<std::string> remarks;  // for the log: a torn tail, an older snapshot
};

// A snapshot and the journal behind it: the newest good snapshot that is not ahead of `projected`,
// the ordinal up to which the history is complete. `on_ended` gets the tasks that ended behind
// that, group by group, with the board as it is then; so none is missing in the history. A snapshot
// of another data folder than `identity`'s is an error; 0: of whichever.
using OnEnded = std::function<Status(Ended&&, const Board&)>;
Result<Recovered> recover(const std::filesystem::path& data, Duration remember_ids,
                          std::uint64_t projected, const OnEnded& on_ended,
                          store::Identity identity = 0);

}  // namespace berth::service
