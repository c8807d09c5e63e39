// The service: how it opens and stops, the engine thread, what callers ask of it. The store thread
// is service_store.cpp.
#include "service/service.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "service/clock.h"
#include "service/journal_feed.h"
#include "service/named_thread.h"
#include "service/sequence_number.h"
#include "service/service_parts.h"
#include "store/file.h"
#include "store/folder_access.h"
#include "store/layout.h"
#include "store/snapshots.h"

namespace berth::service {
namespace {

// An open group that waits for the store takes in no more submits beyond this, and no more control
// commands beyond twice as much. Reports are bounded by what runs.
constexpr std::size_t kGroupBytes = 8U << 20;
constexpr std::size_t kGroupItems = 32'768;
// How long the engine thread sleeps at most, and how far apart two readings of clocks may be.
constexpr Duration kLongestNap = seconds(30);
constexpr Duration kOneMoment = milliseconds(100);
// Tasks found ended when the journal is read again: beyond this they go to the history at once.
constexpr std::size_t kMostToProjectLater = 65'536;
// How much of large specs is written once more after one snapshot, and in one group.
constexpr std::size_t kMostCarried = 16'384;
constexpr std::size_t kMostCarriedBytes = 64U << 20;
constexpr std::size_t kCarriedAtOnce = 4U << 20;

Result<std::string> spec_in(store::SegmentReader& segments, const TaskCard& card) {
  if (card.spec_at.size == 0) return card.spec;
  Result<std::vector<std::byte>> bytes = segments.read(card.spec_at);
  if (!bytes) return bytes.error();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace

Service::Parts::Parts(ServiceOptions opts, store::FolderLock&& folder_lock, Recovered&& recovered,
                      std::unique_ptr<store::JournalWriter> journal_writer,
                      std::unique_ptr<store::HistoryWriter> history_writer,
                      std::unique_ptr<store::HistoryReader> history_reader)
    : options(std::move(opts)),
      lock(std::move(folder_lock)),
      segments(store::journal_folder(options.data)),
      feed(options.feed_capacity),
      rings({.tasks = options.submit_ring}),
      sequencer({options.tenant_defaults, options.tenant_default_tier,
                 options.tenant_default_commands, options.make_unknown_tenants, options.max_tenants,
                 options.max_signals, options.remember_ids},
                recovered.replayer.take_position()),
      courier(sequencer.epoch() + 1,
              [this](const TaskCard& card) { return spec_in(segments, card); }),
      journal(std::move(journal_writer)),
      history(std::move(history_reader)),
      journal_pieces([this](std::uint64_t after, std::size_t most) {
        return read_changes(options.data, after, most, feed.last(), view, *history);
      }),
      projector({options.result_ttl, options.history_retention,
                 [this](const TaskCard& card) { return spec_in(segments, card); }, options.clock,
                 options.log},
                std::move(history_writer), view),
      snapshotter({.data = options.data,
                   .identity = recovered.replayer.identity(),
                   .every_events = options.snapshot_every_events,
                   .every_bytes = options.snapshot_every_bytes,
                   .keep = options.keep_snapshots,
                   .journal_retention = options.journal_retention,
                   .remember_ids = options.remember_ids,
                   .oldest_needed_segment = [this] { return view.oldest_needed_segment(); },
                   .carry_specs = [this](std::uint64_t segment) { carry_specs(segment); },
                   .projected = [this] { return projector.projected(); },
                   .clock = options.clock,
                   .log = options.log},
                  recovered.snapshot_seq, recovered.bytes),
      learner({[this](ControlCommand&& command) { return rings.offer(std::move(command)); },
               options.self_play,
               [this](const std::string& text) {
                 if (options.inform) options.inform(text);
               }},
              view, options.table_every),
      release(
          view, feed, courier,
          [this](Ended&& ended, std::uint64_t ordinal) {
            projector.add(std::move(ended), ordinal);
          },
          [this](const std::vector<Time>& since) {
            const Time now = options.clock();
            for (const Time start : since)
              dispatch.add(now - start);
          }),
      room(options.data, options.reserve_bytes),
      last_now(sequencer.now()),
      identity(recovered.replayer.identity()) {
  view.change([&](Board& board) { board = recovered.replayer.take_board(); });
  const std::uint64_t ordinal = sequencer.next_seq() + sequencer.hash().count;
  feed.begin_at(ordinal);
  events = sequencer.next_seq();
  hash = sequencer.hash().hash;
}

Result<std::unique_ptr<Service>> Service::open(ServiceOptions options) {
  const auto access = store::check_access(options.data);
  if (!access) return access.error();
  for (const std::string& remark : *access)
    options.log(remark);
  if (Status made = store::make_folder(options.data); !made) return made.error();
  auto lock = store::FolderLock::take(options.data);
  if (!lock) return lock.error();
  std::error_code unread;
  const bool had_agent = std::filesystem::exists(store::agent_folder(options.data), unread);
  const auto identity = store::settle_identity(options.data);
  if (!identity) return identity.error();
  auto history_writer = store::HistoryWriter::open(store::history_path(options.data), *identity);
  if (!history_writer) return history_writer.error();

  // What ended since the history was last written is projected again, in order.
  Ended ended;
  store::SegmentReader segments(store::journal_folder(options.data));
  const auto read_spec = [&](const TaskCard& card) { return spec_in(segments, card); };
  auto recovered = recover(
      options.data, options.remember_ids, (*history_writer)->projected(),
      [&](Ended&& more, const Board& board) -> Status {
        append(ended, std::move(more));
        if (ended.tasks.size() < kMostToProjectLater) return Done{};
        std::vector<std::string> specs = read_specs(ended.tasks, read_spec, options.log);
        std::vector<store::EndedTask> rows;
        for (std::size_t i = 0; i < ended.tasks.size(); ++i) {
          const std::string spec = std::move(specs[i]);  // held once: from here on in the row
          rows.push_back(ended_task(ended.tasks[i], board, spec, options.result_ttl));
        }
        const Ended done = std::exchange(ended, {});
        return (*history_writer)->add(rows, 0, done.settled);
      },
      *identity);
  if (!recovered) return recovered.error();
  if (const auto ahead = store::history_ahead(options.data, (*history_writer)->projected(),
                                              recovered->replayer.ordinal())) {
    return Error{ahead->what + "; " + ahead->repair};
  }
  for (const std::string& remark : recovered->remarks)
    options.log(remark);
  if (const std::size_t out = recovered->replayer.board().leases().size(); !had_agent && out > 0) {
    options.log("the agent's folder " + store::agent_folder(options.data).string() +
                " was not there, and " + std::to_string(out) +
                (out == 1 ? " lease was" : " leases were") +
                " out: what they had started may still run and is not known any more; it is put "
                "back and starts again. End by hand what has BERTH_LEASE in its environment");
  }
  auto journal = store::JournalWriter::open(
      {store::journal_folder(options.data), options.segment_bytes, *identity, options.data},
      recovered->end);
  if (!journal) return journal.error();
  auto history_reader = store::HistoryReader::open(store::history_path(options.data));
  if (!history_reader) return history_reader.error();

  const ClockReading reading{options.boot, options.clock().ns, options.wall_clock()};
  const Position& at = recovered->replayer.position();
  const Resumed time = at.next_seq == 0
                           ? Resumed{begin_time(reading), ""}
                           : resume_time(at.names.clock(), at.now, reading, options.max_downtime);
  if (!time.remark.empty()) options.log(time.remark);
  options.clock = [clock = std::move(options.clock),
                   ahead = time.clock.at - Time{reading.boot_ns}] { return clock() + ahead; };
  auto parts = std::make_unique<Parts>(std::move(options), std::move(*lock), std::move(*recovered),
                                       std::move(*journal), std::move(*history_writer),
                                       std::move(*history_reader));
  parts->view.remember_ended(ended.tasks);
  const std::uint64_t ordinal = ordinal_of(parts->feed.last());
  parts->projector.add(std::move(ended), ordinal);
  // A day that ended meanwhile is ended first.
  const bool is_new = parts->sequencer.next_seq() == 0;
  const Time before = is_new ? time.clock.at : parts->last_now;
  if (!is_new) parts->sequencer.hold_starts(before);
  parts->sequencer.begin_epoch(time.clock, parts->options.version);
  if (!is_new) parts->sequencer.release_starts(parts->sequencer.now());
  parts->begin_day(before);
  return std::unique_ptr<Service>(new Service(std::move(parts)));
}

Service::Service(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Service::~Service() { stop(); }

void Service::configure(std::vector<Control> wanted,
                        const std::function<void(const ControlOutcome&)>& told) {
  for (Control& control : wanted)
    parts_->sequencer.take(ControlCommand{std::move(control), told}, parts_->now());
}

void Service::start() {
  Parts& p = *parts_;
  p.running = true;
  p.projector.start();
  p.snapshotter.start();
  p.learner.start();
  p.store_thread = named_thread("berth-store", [&p] { p.keep(); });
  p.engine_thread = named_thread("berth-engine", [&p] { p.sequence(); });
}

void Service::stop() {
  Parts& p = *parts_;
  if (!std::exchange(p.running, false)) return;
  p.learner.stop();
  p.rings.close();
  p.projector.wait_no_more();
  p.engine_thread.join();
  p.store_thread.join();
  p.snapshotter.stop();
  p.projector.stop();
  const std::vector<std::byte> bytes = p.view.read([&](const Board& board) {
    return encode_service_snapshot(p.sequencer.engine(), p.sequencer.names(), p.sequencer.keys(),
                                   board, p.sequencer.hash(), p.sequencer.next_seq(),
                                   p.sequencer.epoch(), p.sequencer.now(), p.identity);
  });
  Status done =
      store::write_snapshot(store::snapshot_folder(p.options.data), p.sequencer.next_seq(), bytes);
  if (done) done = p.snapshotter.clean_up();
  if (!done) p.options.log("no snapshot at the end: " + done.error().message);
}

void Service::learn_every(Duration every) { parts_->learner.set_every(every); }
void Service::learn_now() { parts_->learner.look(); }

// ---- The engine thread
// ---------------------------------------------------------------------------

Time Service::Parts::now() { return last_now = std::max(last_now, options.clock()); }

void Service::Parts::sequence() {
  while (true) {
    // While the journal is stalled, what has no room is taken in to be refused.
    const bool takes_controls = has_room(2) || out_of_patience;
    const bool takes_submits = has_room(1) || room.is_stalled();
    Rings::Helping helping = rings.take(until_wakeup(), {takes_controls, takes_submits});
    const bool closed = helping.closed;
    const Time at = now();
    look_at_the_wall(at);
    take(std::move(helping), at);
    run_timers(at);
    wakeup_ns.store(sequencer.next_wakeup().ns, std::memory_order_relaxed);
    const bool handed_all = hand_over();
    if (closed && handed_all && sequencer.empty()) break;
  }
  const std::lock_guard guard(handover_mutex);
  no_more_groups = true;
  handover.notify_one();
}

bool Service::Parts::has_room(std::size_t times) const {
  return sequencer.bytes() < kGroupBytes * times && sequencer.tasks() < kGroupItems * times;
}

void Service::Parts::take(Rings::Helping&& helping, Time at) {
  for (FromAgent& report : helping.reports) {
    if (auto* said = std::get_if<AgentSaid>(&report)) {
      sequencer.take(said->session, std::move(said->message), at);
    } else {
      sequencer.end_session(std::get<SessionEnded>(report).session);
    }
  }
  take_controls(helping.controls, at);
  if (room.is_stalled()) {
    refuse_while_stalled(helping.submits);
  } else {
    sequencer.set_room(room.shortage());
    for (SubmitCommand& submit : helping.submits)
      sequencer.take(std::move(submit), at);
  }
  take_controls(helping.questions, at);
  // Of what stands in the open group nobody knows yet.
  if (out_of_patience) tell_doubt(sequencer.take_waiting());
}

// What does not fit into the open group while that waits for the journal is refused for certain.
void Service::Parts::take_controls(std::vector<ControlCommand>& controls, Time at) {
  for (ControlCommand& control : controls) {
    if (!out_of_patience || has_room(2)) {
      sequencer.take(std::move(control), at);
    } else if (control.done) {
      control.done(outcome_without({room.free_bytes(), room.reserve_bytes()},
                                   ControlOutcome::Kind::no_room));
    }
  }
}

void Service::Parts::refuse_while_stalled(const std::vector<SubmitCommand>& submits) const {
  const ShortRoom shortage{room.free_bytes(), room.reserve_bytes()};
  const SubmitOutcome refused = outcome_without(shortage, SubmitOutcome::Kind::no_room);
  for (const SubmitCommand& submit : submits)
    if (submit.done) submit.done(std::vector(submit.tasks.size(), refused));
}

void Service::Parts::run_timers(Time at) {
  if (day_ends <= at) {
    sequencer.day_boundary(day_ends);
    begin_day(at);
  }
  if (sequencer.next_wakeup() <= at) sequencer.tick(at);
}

// A group that could not be handed over yet is no reason to wake: the store pokes. Waits do not
// count the machine's sleep, and nobody tells when the wall clock is set: so it looks up sometimes.
Duration Service::Parts::until_wakeup() const {
  const Time next = std::min(sequencer.next_wakeup(), day_ends);
  return std::clamp(next - options.clock(), Duration{0}, kLongestNap);
}

// The readings are of one moment, unless the thread was held up between them.
void Service::Parts::look_at_the_wall(Time at) {
  const ClockMapped& known = sequencer.names().clock();
  const auto anew = mapped_anew(known, at, options.wall_clock());
  if (!anew || options.clock() - at > kOneMoment) return;
  options.log("the wall clock was set to " + change_text(known, *anew) +
              ": engine time does not follow, wall times are mapped anew");
  sequencer.map_clock(*anew, at);
  begin_day(at);
}

void Service::Parts::begin_day(Time at) {
  if (!options.next_day) return;
  const ClockMapped& clock = sequencer.names().clock();
  day_ends = engine_time(options.next_day(wall_time(at, clock)), clock);
  sequencer.day_ends_at(day_ends);
}

// True: the open group is empty, or was handed to the store.
bool Service::Parts::hand_over() {
  if (sequencer.empty()) return true;
  const std::lock_guard guard(handover_mutex);
  if (store_busy || handed) return false;
  handed = sequencer.seal(std::move(spare));
  spare = {};
  handover.notify_one();
  return true;
}

// ---- The snapshot thread
// -------------------------------------------------------------------------

// What does not fit into one round, or into the ring, is carried after the next snapshot.
void Service::Parts::carry_specs(std::uint64_t segment) {
  std::size_t carried = 0;
  CarrySpecs command;
  std::size_t bytes = 0;
  const auto offer = [&] {
    carried += bytes;
    bytes = 0;
    return rings.offer(ControlCommand{std::exchange(command, {}), {}});
  };
  for (const CardPtr& card : view.large_specs_before(segment, kMostCarried)) {
    Result<std::string> spec = spec_in(segments, *card);
    if (!spec) {
      options.log("the spec of task " + id_of(*card) +
                  " cannot be carried forward: " + spec.error().message + "; its segment is kept");
      continue;
    }
    bytes += spec->size();
    command.specs.emplace_back(card->task, std::move(*spec));
    if (bytes >= kCarriedAtOnce && !offer()) return;
    if (carried >= kMostCarriedBytes) return;
  }
  if (!command.specs.empty()) (void)offer();
}

// ---- The door
// ------------------------------------------------------------------------------------

bool Service::offer(SubmitCommand&& command) { return parts_->rings.offer(std::move(command)); }
bool Service::offer(ControlCommand&& command) { return parts_->rings.offer(std::move(command)); }

std::uint64_t Service::open_session(ToAgent to_agent) {
  return parts_->courier.open(std::move(to_agent));
}
void Service::close_session(std::uint64_t session) {
  parts_->courier.close(session);
  parts_->rings.push(SessionEnded{session});
}

void Service::agent_said(std::uint64_t session, v1::AgentMessage&& message) {
  if (message.has_log()) return parts_->courier.log_data(message.log());
  if (!message.has_heartbeat()) return parts_->rings.push(AgentSaid{session, std::move(message)});
  for (const v1::GpuReading& reading : message.heartbeat().readings()) {
    const GpuId gpu =
        parts_->view.read([&](const Board& board) { return board.names().gpu(reading.gpu()); });
    if (!gpu) continue;
    parts_->view.set_reading(gpu, {reading.used_mb(), reading.utilisation_percent(),
                                   reading.temperature_c(), reading.power_w()});
  }
  parts_->courier.answer_heartbeat(session);
  parts_->rings.push(AgentSaid{session, std::move(message)});
}

std::uint64_t Service::open_log(const LogWish& wish, LogSink sink) {
  const std::string agent = parts_->view.read([&](const Board& board) -> std::string {
    const TaskLine* line = board.tasks().find(wish.task);
    if (line == nullptr || line->attempts.empty()) return "";
    const auto asked = std::ranges::find(line->attempts, wish.attempt, &AttemptLine::number);
    const AttemptLine& attempt = asked != line->attempts.end() ? *asked : line->attempts.back();
    const Names& names = board.names();
    if (!attempt.gpus.empty()) {
      return names.nodes()[names.gpus()[attempt.gpus.front().value].spec.node.value].agent;
    }
    const auto lease = board.leases().find(attempt.lease);
    const bool runs = lease != board.leases().end() && lease->second.node;
    return runs ? names.nodes()[lease->second.node.value].agent : "";
  });
  return parts_->courier.open_log({agent, wish.task, wish.attempt, wish.follow, wish.window},
                                  std::move(sink));
}
void Service::more_log(std::uint64_t log, std::uint64_t bytes) {
  parts_->courier.more_log(log, bytes);
}
void Service::close_log(std::uint64_t log) { parts_->courier.close_log(log); }

const View& Service::view() const { return parts_->view; }
Feed& Service::feed() { return parts_->feed; }
const store::HistoryReader& Service::history() const { return *parts_->history; }
const ServiceOptions& Service::options() const { return parts_->options; }

Result<Feed::Answer> Service::read_journal(std::uint64_t after, std::size_t most) {
  return parts_->journal_pieces.read(after, most);
}

Result<std::string> Service::spec_of(const TaskCard& card) const {
  return spec_in(parts_->segments, card);
}

TaskNo Service::find_task(TenantId tenant, std::string_view id) const {
  const Time now = parts_->options.clock();
  return parts_->view.read([&](const Board& board) { return board.find(tenant, id, now); });
}

ServiceStats Service::stats() const {
  const Parts& p = *parts_;
  ServiceStats stats;
  stats.epoch = p.sequencer.epoch();
  stats.events = p.events;
  stats.hash = p.hash;
  stats.groups = p.groups;
  stats.synced_bytes = p.synced_bytes;
  stats.submits_refused_full = p.rings.refused();
  stats.ring_tasks = p.rings.waiting_tasks();
  stats.history_lag = p.projector.lag();
  stats.history_failures = p.projector.failures();
  stats.snapshots = p.snapshotter.made();
  stats.snapshot_seq = p.snapshotter.last_seq();
  for (const auto& bucket : p.sync_us)
    stats.sync_us_buckets.push_back(bucket);
  stats.sync_us_sum = p.sync_us_sum;
  const DispatchLatency::Counts dispatched = p.dispatch.counts();
  stats.dispatch_buckets.assign(dispatched.begin(), dispatched.end());
  stats.dispatch_sum_s = p.dispatch.sum_s();
  stats.next_wakeup_ns = p.wakeup_ns;
  stats.now_ns = p.options.clock().ns;
  p.view.read([&](const Board& board) {
    const Names& names = board.names();
    stats.packing_table_version = names.packing_table().version;
    stats.packing_table_since_ns = wall_time(names.packing_table().since, names.clock()).ns;
    stats.wall_ahead_ns = names.clock().ahead.ns;
  });
  stats.packing_plays = p.learner.plays();
  stats.stalled = p.room.is_stalled();
  stats.short_of_room = p.room.shortage().has_value();
  stats.disk_free_bytes = p.room.free_bytes();
  stats.disk_reserve_bytes = p.room.reserve_bytes();
  return stats;
}

}  // namespace berth::service
