// A sequencer with its release in memory, for fuzzing: no thread, file or clock. Two sessions of
// agents: on the first sits one that carries out what it is told, the second is a stranger.
//
// Keeps what the groups say, so that at the end the journal can be held against the live state.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "journal/snapshot.h"
#include "service/courier.h"
#include "service/release.h"
#include "service/replayer.h"
#include "service/sequencer.h"
#include "service/testing/quick_agent.h"
#include "tests/fuzz/check.h"

namespace berth::fuzz {

class ServiceWorld {
 public:
  ServiceWorld() {
    session_ =
        courier_.open([this](v1::ServerMessage&& message) { agent_.receive(std::move(message)); });
    stranger_ = courier_.open([](v1::ServerMessage&&) {});
    sequencer_.begin_epoch({"", now_.ns, now_, {}}, "fuzz");
    core::QueueSpec queue;
    queue.max_batch_size = 4;
    control(service::DefineModel{"m", {Mib{4000}, Mib{100}, seconds(1), seconds(9)}});
    control(service::DefineQueue{"llm", "", queue});
    control(service::DefineQueue{"big", "m", queue});
    agent_.hello(2, 40'000);
    cooperate();
  }

  Time now() const { return now_; }

  void submit(std::vector<service::NewTask> tasks, bool workflow) {
    const std::size_t expected = tasks.size();
    int answers = 0;
    sequencer_.take(service::SubmitCommand{std::move(tasks), workflow,
                                           [&](std::span<const service::SubmitOutcome> outcomes) {
                                             ++answers;
                                             check(outcomes.size() == expected,
                                                   "each task has an outcome");
                                           }},
                    now_);
    let_out();
    check(answers == 1, "a submit is answered once");
  }
  void control(service::Control what) {
    sequencer_.take(service::ControlCommand{std::move(what), [](const auto&) {}}, now_);
    let_out();
  }
  void say(bool by_stranger, v1::AgentMessage&& message) {
    sequencer_.take(by_stranger ? stranger_ : session_, std::move(message), now_);
    let_out();
  }
  void end_session(bool of_stranger) {
    sequencer_.end_session(of_stranger ? stranger_ : session_);
    let_out();
  }
  void wait(Duration time) {
    now_ = now_ + time;
    let_out();
  }
  // What the agent has to say is heard, until it has nothing more to say.
  void cooperate() {
    while (!said_.empty()) {
      for (v1::AgentMessage& message : std::exchange(said_, {}))
        sequencer_.take(session_, std::move(message), now_);
      let_out();
    }
  }

  std::vector<std::byte> snapshot() const {
    return view_.read([&](const service::Board& board) {
      return encode_service_snapshot(sequencer_.engine(), sequencer_.names(), sequencer_.keys(),
                                     board, sequencer_.hash(), sequencer_.next_seq(),
                                     sequencer_.epoch(), sequencer_.now());
    });
  }

  void check_invariants() const {
    const auto broken = sequencer_.engine().check_invariants();
    check(broken.empty(), "invariants hold: " + (broken.empty() ? "" : broken[0]));
  }

  // The journal leads to the live state, in every section of the snapshot.
  void check_replay() const {
    service::Replayer replayer(minutes(24 * 60));
    for (const auto& [at, bytes] : groups_) {
      const journal::ParsedGroup parsed = journal::parse_group(bytes);
      check(parsed.status == journal::GroupStatus::intact, "a sealed group is intact");
      const Status applied = replayer.apply(at, parsed.group);
      check(applied.ok(), "a group can be applied: " + (applied ? "" : applied.error().message));
    }
    check(replayer.next_seq() == sequencer_.next_seq(), "the journal holds every event");
    check(replayer.position().hash == sequencer_.hash(), "the journal gives the running hash");
    const service::Board board = replayer.take_board();
    service::Position at = replayer.take_position();
    // Ticks that led to nothing are not in the journal; whoever makes up for them finds nothing.
    at.now = sequencer_.now();
    core::Actions more;
    do {
      at.engine.step({at.now, core::Tick{}}, more);
    } while (at.engine.next_wakeup() <= at.now);
    check(more.empty(), "the journal holds every action");
    compare(snapshot(), encode_service_snapshot(at.engine, at.names, at.keys, board, at.hash,
                                                at.next_seq, at.epoch, at.now));
  }

 private:
  static void compare(const std::vector<std::byte>& live, const std::vector<std::byte>& replayed) {
    const auto a = journal::SnapshotReader::open(live);
    const auto b = journal::SnapshotReader::open(replayed);
    check(a && b, "snapshots can be read");
    for (std::uint32_t id = 1; id <= 5; ++id) {
      check(std::ranges::equal(*a->section(id), *b->section(id)),
            "the journal leads to the live state, section " + std::to_string(id));
    }
  }

  void let_out() {
    while (sequencer_.next_wakeup() <= now_)
      sequencer_.tick(now_);
    if (sequencer_.empty()) return;
    const std::unique_ptr<service::Group> group = sequencer_.seal();
    const store::GroupAt at{1, offset_};
    offset_ += group->bytes.size();
    const journal::ByteView bytes = group->bytes.view();
    if (!bytes.empty()) groups_.emplace_back(at, std::vector(bytes.begin(), bytes.end()));
    release_.run(*group, at);
  }

  Time now_{1'000'000'000};
  service::View view_;
  service::Sequencer sequencer_{{}, {}};
  service::Courier courier_{
      1, [](const service::TaskCard& card) -> Result<std::string> { return card.spec; }};
  service::Feed feed_{1000};
  service::Release release_{view_, feed_, courier_, [](service::Ended&&, std::uint64_t) {}};
  std::vector<v1::AgentMessage> said_;
  service::testing::QuickAgent agent_{
      [this](v1::AgentMessage&& message) { said_.push_back(std::move(message)); }};
  std::uint64_t session_ = 0;
  std::uint64_t stranger_ = 0;
  std::uint64_t offset_ = 64;
  std::vector<std::pair<store::GroupAt, std::vector<std::byte>>> groups_;
};

}  // namespace berth::fuzz
