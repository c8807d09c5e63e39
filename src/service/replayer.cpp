// See replayer.h.
#include "service/replayer.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/state/state.h"
#include "journal/snapshot.h"
#include "journal/state_snapshot.h"
#include "service/board_codec.h"
#include "store/layout.h"
#include "store/segment_list.h"
#include "store/snapshots.h"

namespace berth::service {
namespace {

// Sections of a service's snapshot.
constexpr std::uint32_t kEngine = 1;
constexpr std::uint32_t kNames = 2;
constexpr std::uint32_t kKeys = 3;
constexpr std::uint32_t kBoard = 4;
constexpr std::uint32_t kEpoch = 5;
constexpr std::uint32_t kClock = 6;  // snapshots of before it was kept have none

constexpr std::uint32_t kSnapshotVersion = 3;

Error damaged(std::string_view what) {
  return {"the snapshot's " + std::string(what) + " cannot be read"};
}

// Everything the engine numbers has a name, and nothing else has; GPUs are where it knows them.
bool are_of_one_state(const core::State& state, const Names& names) {
  const auto node_of = [](const auto& gpu) { return gpu.spec.node; };
  return state.tenants.size() == names.tenants().size() &&
         state.queues.size() == names.queues().size() &&
         state.models.size() == names.models().size() &&
         state.nodes.size() == names.nodes().size() &&
         std::ranges::equal(state.gpus, names.gpus(), {}, node_of, node_of);
}

std::string place(store::GroupAt at) {
  return "segment " + std::to_string(at.segment) + ", byte " + std::to_string(at.offset);
}

}  // namespace

std::vector<std::byte> encode_service_snapshot(const core::Engine& engine, const Names& names,
                                               const Keys& keys, const Board& board,
                                               const journal::RunningHash::State& hash,
                                               std::uint64_t next_seq, std::uint64_t epoch,
                                               Time now, store::Identity identity) {
  journal::SnapshotInfo info;
  info.version = kSnapshotVersion;
  info.behaviour = core::kBehaviour;
  info.seq = next_seq;
  info.epoch = epoch;
  info.hash = hash;
  journal::SnapshotWriter out(info);
  out.section(kEngine, journal::encode_snapshot(engine, info));
  BoardCodec::encode_names(out.begin_section(kNames), names);
  keys.encode(out.begin_section(kKeys));
  BoardCodec::encode(out.begin_section(kBoard), board);
  out.begin_section(kEpoch).i64(now.ns);
  encode_note(out.begin_section(kClock), names.clock());
  if (identity != 0) out.begin_section(store::kIdentitySection).u64(identity);
  const journal::Writer bytes = out.finish();
  return {bytes.view().begin(), bytes.view().end()};
}

std::vector<std::byte> Replayer::snapshot() const {
  return encode_service_snapshot(at_.engine, at_.names, at_.keys, board_, at_.hash, at_.next_seq,
                                 at_.epoch, at_.now, identity_);
}

Status Replayer::restore(journal::ByteView bytes) {
  journal::DecodeError error;
  const auto snapshot = journal::SnapshotReader::open(bytes, &error);
  if (!snapshot) return Error{std::string("the snapshot is damaged: expected ") + error.expected};
  if (snapshot->info().version != kSnapshotVersion) {
    return Error{"the snapshot has version " + std::to_string(snapshot->info().version) +
                 ", this build reads " + std::to_string(kSnapshotVersion)};
  }
  const auto section = [&](std::uint32_t id) {
    return snapshot->section(id).value_or(journal::ByteView{});
  };
  journal::SnapshotError engine_error;
  auto engine = journal::decode_snapshot(section(kEngine), &engine_error);
  if (!engine) return Error{"the snapshot's engine: " + journal::to_string(engine_error)};

  board_ = Board(remember_ids_);
  journal::Reader names(section(kNames), journal::format_of_snapshot(engine->info.version));
  BoardCodec::decode_names(names, board_);
  if (!names.ok() || !names.at_end()) return damaged("names");
  if (!are_of_one_state(engine->engine.state(), board_.names())) {
    return Error{"the snapshot's names are not those of its engine"};
  }
  journal::Reader board(section(kBoard));
  BoardCodec::decode(board, board_);
  if (!board.ok() || !board.at_end()) return damaged("tasks");
  journal::Reader keys(section(kKeys));
  at_.keys = Keys::decode(keys);
  if (!keys.ok() || !keys.at_end()) return damaged("keys");
  BoardCodec::set_keys(board_, at_.keys);
  BoardCodec::set_ledger(board_, engine->engine.state());
  journal::Reader epoch(section(kEpoch));
  at_.now.ns = epoch.i64();
  if (!epoch.ok() || !epoch.at_end() || at_.now < engine->engine.state().now) {
    return damaged("time");
  }

  if (const auto clock = snapshot->section(kClock)) {
    const std::optional<Note> note = decode_note(*clock, {});
    if (!note || !std::holds_alternative<ClockMapped>(*note)) return damaged("clock");
    board_.apply(*note);
  }

  const auto identity = snapshot->section(store::kIdentitySection);
  identity_ = identity ? journal::Reader(*identity).u64() : 0;

  at_.engine = std::move(engine->engine);
  at_.names = board_.names();
  at_.hash = snapshot->info().hash;
  at_.next_seq = snapshot->info().seq;
  at_.epoch = snapshot->info().epoch;
  hash_.restore(at_.hash);
  return Done{};
}

Status Replayer::apply(store::GroupAt where, const journal::Group& group) {
  if (group.header.seq != at_.next_seq) {
    return Error{"the journal goes on with event " + std::to_string(group.header.seq) + " at " +
                 place(where) + ", event " + std::to_string(at_.next_seq) + " was expected"};
  }
  journal::GroupCursor cursor(group);
  while (cursor.next()) {
    switch (cursor.kind()) {
      case journal::GroupCursor::Kind::note:
        if (Status applied = apply_note(where, cursor); !applied) return applied;
        break;
      case journal::GroupCursor::Kind::event:
        ++at_.next_seq;
        at_.now = decided_at_ = cursor.event().now;
        at_.engine.apply(cursor.event());
        at_.names.apply(cursor.event());
        board_.apply(cursor.event(), ordinal(), changes_);
        at_.keys.forget(at_.now);
        break;
      case journal::GroupCursor::Kind::action:
        apply_action(cursor.action(), cursor.encoded());
        break;
    }
  }
  changes_.tasks.clear();
  changes_.started.clear();
  if (!cursor.ok()) {
    return Error{"a group at " + place(where) + " holds no " + cursor.error().expected};
  }
  if (hash_.value() != group.header.hash) {
    return Error{"the actions of the group at " + place(where) +
                 " do not give the running hash that it carries"};
  }
  at_.epoch = group.header.epoch;
  return Done{};
}

Status Replayer::apply_note(store::GroupAt where, const journal::GroupCursor& cursor) {
  const store::BytesAt at{where.segment, where.offset + cursor.note_offset(),
                          static_cast<std::uint32_t>(cursor.note().size())};
  const std::optional<Note> note = decode_note(cursor.note(), at);
  if (!note) return Error{"a note of the group at " + place(where) + " cannot be read"};
  at_.names.apply(*note);
  board_.apply(*note);
  if (const auto* described = std::get_if<TaskDescribed>(&*note)) at_.keys.take(*described->card);
  return Done{};
}

void Replayer::apply_action(const core::Action& action, journal::ByteView encoded) {
  hash_.add_bytes(encoded);
  at_.hash = hash_.state();
  at_.engine.apply(action);
  if (const auto* instant = std::get_if<core::Instant>(&action)) {
    decided_at_ = instant->at;
  } else if (const auto* finished = std::get_if<core::TaskFinished>(&action)) {
    at_.keys.end(finished->task, decided_at_ + remember_ids_);
  }
  board_.apply(action, {decided_at_, ordinal()}, changes_);
}

namespace {

// The snapshots to try, the best first: the newest that the history has caught up with (or that is
// damaged, so that it is told), older ones; then, when the journal has lost its beginning, newer
// ones.
std::vector<store::SnapshotFile> candidates(const std::vector<store::SnapshotFile>& newest_first,
                                            std::uint64_t projected, bool journal_is_whole) {
  std::vector<store::SnapshotFile> order;
  std::vector<store::SnapshotFile> ahead;
  for (const store::SnapshotFile& file : newest_first)
    (file.messages.value_or(0) <= projected ? order : ahead).push_back(file);
  if (!journal_is_whole) order.insert(order.end(), ahead.rbegin(), ahead.rend());
  return order;
}

// Snapshots of versions that knew no identity have none.
Status belongs(const Replayer& replayer, store::Identity identity,
               const std::filesystem::path& of) {
  const store::Identity its = replayer.identity();
  if (identity == 0 || its == 0 || its == identity) return Done{};
  return Error{"the snapshot " + of.string() + " carries the identity " +
               store::identity_text(its) + ", this data folder's is " +
               store::identity_text(identity) + ": they do not belong together; move it away"};
}

}  // namespace

Result<Recovered> recover(const std::filesystem::path& data, Duration remember_ids,
                          std::uint64_t projected, const OnEnded& on_ended,
                          store::Identity identity) {
  Recovered found{Replayer(remember_ids), {}, 0, 0, {}};
  auto snapshots = store::list_snapshots(store::snapshot_folder(data));
  if (!snapshots) return snapshots.error();
  const auto segments = store::segment_headers(store::journal_folder(data));
  if (!segments) return segments.error();
  const bool whole = !segments->empty() && segments->front().first_seq == 0;
  for (const store::SnapshotFile& file : candidates(*snapshots, projected, whole)) {
    const auto bytes = store::read_snapshot(file.path);
    const Status restored = bytes ? found.replayer.restore(*bytes) : Status(bytes.error());
    if (restored) {
      if (Status ours = belongs(found.replayer, identity, file.path); !ours) return ours.error();
      break;
    }
    found.remarks.push_back(file.path.filename().string() + ": " + restored.error().message +
                            "; another one is tried");
    found.replayer = Replayer(remember_ids);
  }
  if (found.replayer.ordinal() > projected) {
    found.remarks.push_back("tasks that ended before event " +
                            std::to_string(found.replayer.next_seq()) +
                            " may be missing in the history: it ends earlier, and the journal of "
                            "that time is gone");
  }
  found.snapshot_seq = found.replayer.next_seq();
  found.replayer.set_identity(identity);
  Status applied = Done{};
  const auto scan = store::scan_journal(
      store::journal_folder(data), found.replayer.next_seq(),
      [&](store::GroupAt at, const store::SegmentInfo&, const journal::Group& group) {
        applied = found.replayer.apply(at, group);
        found.bytes += group.size();
        Ended ended = found.replayer.take_ended();
        if (applied && found.replayer.ordinal() > projected) {
          applied = on_ended(std::move(ended), found.replayer.board());
        }
        return applied.ok();
      });
  if (!scan) return scan.error();
  if (!applied) return applied.error();
  if (!scan->usable()) {
    return Error{scan->finding->message + " " + scan->finding->repair};
  }
  if (found.replayer.next_seq() == 0 && !scan->has_its_beginning()) {
    return Error{
        "the journal's beginning was removed and no snapshot can be read; restore a backup"};
  }
  if (scan->finding) found.remarks.push_back(scan->finding->message);
  found.end = scan->end;
  found.end.hash = found.replayer.position().hash;
  found.end.next_seq = found.replayer.next_seq();
  return found;
}

}  // namespace berth::service
