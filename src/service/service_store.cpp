// The store thread: appends and syncs each group, then releases it; looks after the disk.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "service/service_parts.h"

namespace berth::service {
namespace {

// A stop waits so long for a disk that takes nothing.
constexpr std::chrono::seconds kFullDiskGrace{5};
// A store thread that has nothing to do looks at the disk so often.
constexpr std::chrono::seconds kIdleLook{1};
// sysexits.h calls it EX_IOERR.
constexpr int kNotStoredExit = 74;

std::string mib_text(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void Service::Parts::keep() {
  tend_room();
  while (true) {
    std::unique_ptr<Group> group;
    {
      std::unique_lock guard(handover_mutex);
      store_busy = false;
      if (!handed && !no_more_groups) {
        guard.unlock();
        rings.poke();
        guard.lock();
      }
      while (!handover.wait_for(guard, kIdleLook, [&] { return handed || no_more_groups; })) {
        guard.unlock();
        tend_room();
        guard.lock();
      }
      if (!handed) return;
      group = std::move(handed);
      store_busy = true;
    }
    if (options.answer_before_sync) {
      release.answer(*group);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until the answers are out
    }
    const store::GroupAt at = make_durable(*group);
    tend_room();  // first: who is answered may submit the next
    release.run(*group, at);
    events.store(group->next_seq, std::memory_order_relaxed);
    hash.store(group->hash_after.hash, std::memory_order_relaxed);
    snapshotter.durable(group->next_seq, group->bytes.size());
    group->bytes.clear();
    const std::lock_guard guard(handover_mutex);
    spare = std::move(group->bytes);
  }
}

// A full disk is waited out: nothing is acknowledged meanwhile, so a stop may end the process. A
// failed sync ends it too: the kernel may have dropped what it had.
store::GroupAt Service::Parts::make_durable(Group& group) {
  if (group.bytes.empty()) return {};
  Result<store::GroupAt> at = journal->append(group.bytes.view(), group.hash_after);
  std::optional<std::chrono::steady_clock::time_point> stopping_since;
  for (bool told = false; !at; at = journal->append(group.bytes.view(), group.hash_after)) {
    if (journal->has_failed()) end_unsynced(at.error());
    if (!std::exchange(told, true)) {
      options.log("cannot write the journal: " + at.error().message +
                  "; nothing is acknowledged until it works again");
    }
    room.stall();
    tend_room();
    if (room.is_out_of_patience()) {
      tell_doubt(group.take_waiting());
      out_of_patience = true;
      rings.poke();
    }
    if (stopping_since && std::chrono::steady_clock::now() - *stopping_since > kFullDiskGrace) {
      options.log(
          "the journal still cannot be written; the server ends without what it has not "
          "acknowledged");
      std::_Exit(kNotStoredExit);
    }
    if (rings.is_closed() && !stopping_since) stopping_since = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  out_of_patience = false;
  room.go_on();
  const auto begin = std::chrono::steady_clock::now();
  if (const Status synced = journal->sync(); !synced) end_unsynced(synced.error());
  count_sync(std::chrono::steady_clock::now() - begin, group.bytes.size());
  return *at;
}

// Looks at the disk now and then, and takes room for the journal's spare segment when there is
// some.
void Service::Parts::tend_room() {
  if (!room.look(journal->segment())) return;
  const bool has_reserve = room.free_bytes() >= room.reserve_bytes();
  if (!journal->has_spare() && has_reserve) (void)journal->make_spare();
  room.note_spare(journal->has_spare());
  const bool is_short = room.shortage().has_value();
  if (is_short == std::exchange(told_short, is_short)) return;
  options.log(is_short ? "the data disk is short of room: " + mib_text(room.free_bytes()) +
                             " are free, store.reserve is " + mib_text(room.reserve_bytes()) +
                             "; no new task is taken until there is more"
                       : "the data disk has room again: tasks are taken");
}

void Service::Parts::tell_doubt(Waiting waiting) const {
  const ShortRoom shortage{room.free_bytes(), room.reserve_bytes()};
  const SubmitOutcome unknown = outcome_without(shortage, SubmitOutcome::Kind::in_doubt);
  for (const SubmitReply& reply : waiting.submits)
    reply.done(std::vector(reply.outcomes.size(), unknown));
  const ControlOutcome control = outcome_without(shortage, ControlOutcome::Kind::in_doubt);
  for (const ControlReply& reply : waiting.controls)
    reply.done(control);
}

void Service::Parts::end_unsynced(const Error& failed) const {
  options.log("cannot sync the journal: " + failed.message +
              "; the server ends, and recovers when it is started again");
  std::_Exit(kNotStoredExit);
}

void Service::Parts::count_sync(std::chrono::steady_clock::duration took, std::size_t bytes) {
  const auto us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  const auto bucket = std::lower_bound(kSyncBucketsUs.begin(), kSyncBucketsUs.end(), us);
  ++sync_us[static_cast<std::size_t>(bucket - kSyncBucketsUs.begin())];
  sync_us_sum += us;
  synced_bytes += bytes;
  ++groups;
}

}  // namespace berth::service
