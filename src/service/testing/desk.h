// A sequencer with its release and one quick agent, without threads, files or clock: every turn
// seals a group and lets it out. The groups' bytes are kept, so that a replayer can be held against
// the live state.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "journal/snapshot.h"
#include "service/courier.h"
#include "service/release.h"
#include "service/replayer.h"
#include "service/sequencer.h"
#include "service/testing/quick_agent.h"

namespace berth::service::testing {

inline NewTask new_task(const std::string& id = {}, const std::string& queue = "llm") {
  NewTask task;
  task.card = std::make_shared<TaskCard>();
  task.card->id = id;
  task.card->digest = 1;
  task.card->spec = "spec of " + id;
  task.spec.vram = Mib{1000};
  task.spec.expected_run = seconds(1);
  task.tenant = "alice";
  task.queue = queue;
  return task;
}

class Desk {
 public:
  explicit Desk(Position at = {}, SequencerOptions options = {})
      : sequencer(options, std::move(at)),
        courier(1, [](const TaskCard& card) -> Result<std::string> { return card.spec; }),
        feed(10'000),
        release(view, feed, courier,
                [this](Ended&& more, std::uint64_t) {
                  std::move(more.tasks.begin(), more.tasks.end(), std::back_inserter(ended));
                  settled.insert(settled.end(), more.settled.begin(), more.settled.end());
                }),
        agent([this](v1::AgentMessage&& message) { said.push_back(std::move(message)); }) {
    session =
        courier.open([this](v1::ServerMessage&& message) { agent.receive(std::move(message)); });
    sequencer.begin_epoch({"", now.ns, now, {}}, "test");
  }

  // Seals and lets out until nobody has anything more to say.
  void turn() {
    do {
      std::vector<v1::AgentMessage> messages = std::exchange(said, {});
      for (v1::AgentMessage& message : messages)
        sequencer.take(session, std::move(message), now);
      if (sequencer.next_wakeup() <= now) sequencer.tick(now);
      if (sequencer.empty()) continue;
      std::unique_ptr<Group> group = sequencer.seal();
      const store::GroupAt at{1, offset};
      offset += group->bytes.size();
      if (!group->bytes.empty()) {
        groups.emplace_back(at,
                            std::vector(group->bytes.view().begin(), group->bytes.view().end()));
      }
      release.run(*group, at);
    } while (!said.empty());
  }
  void wait(Duration time) {
    now = now + time;
    sequencer.tick(now);
    turn();
  }

  std::vector<SubmitOutcome> submit(std::vector<NewTask> tasks, bool workflow = false) {
    std::vector<SubmitOutcome> outcomes;
    sequencer.take(SubmitCommand{std::move(tasks), workflow,
                                 [&](std::span<const SubmitOutcome> got) {
                                   outcomes.assign(got.begin(), got.end());
                                 }},
                   now);
    EXPECT_TRUE(outcomes.empty()) << "answered before the group was let out";
    turn();
    return outcomes;
  }
  SubmitOutcome submit(NewTask task) {
    std::vector<NewTask> one;
    one.push_back(std::move(task));
    return submit(std::move(one)).at(0);
  }
  ControlOutcome control(Control what) {
    ControlOutcome outcome;
    sequencer.take(ControlCommand{std::move(what), [&](const ControlOutcome& o) { outcome = o; }},
                   now);
    turn();
    return outcome;
  }
  // Two GPUs, a queue of batches of four.
  void furnish() {
    core::QueueSpec queue;
    queue.max_batch_size = 4;
    control(DefineQueue{"llm", "", queue});
    agent.hello(2, 40'000);
    turn();
  }

  std::vector<std::byte> snapshot() const {
    return view.read([&](const Board& board) {
      return encode_service_snapshot(sequencer.engine(), sequencer.names(), sequencer.keys(), board,
                                     sequencer.hash(), sequencer.next_seq(), sequencer.epoch(),
                                     sequencer.now());
    });
  }
  // What a replayer makes of all groups so far.
  Replayer replayed() const {
    Replayer replayer(minutes(24 * 60));
    for (const auto& [at, bytes] : groups) {
      const journal::ParsedGroup parsed = journal::parse_group(bytes);
      EXPECT_EQ(parsed.status, journal::GroupStatus::intact);
      const Status applied = replayer.apply(at, parsed.group);
      EXPECT_TRUE(applied.ok()) << applied.error().message;
    }
    return replayer;
  }
  // The sections in which the two differ; empty: the journal leads to the live state.
  std::vector<std::uint32_t> differences() const {
    const std::vector<std::byte> live_bytes = snapshot();
    Replayer replayer = replayed();
    const Board board = replayer.take_board();
    Position at = replayer.take_position();
    // One who only applies does not know whether the last step had more to do: a tick finds
    // nothing.
    core::Actions more;
    at.engine.step({at.now, core::Tick{}}, more);
    EXPECT_TRUE(more.empty());
    const std::vector<std::byte> replayed_bytes = encode_service_snapshot(
        at.engine, at.names, at.keys, board, at.hash, at.next_seq, at.epoch, at.now);
    const auto live_state = journal::SnapshotReader::open(live_bytes);
    const auto other = journal::SnapshotReader::open(replayed_bytes);
    std::vector<std::uint32_t> different;
    for (std::uint32_t section = 1; section <= 6; ++section) {
      if (!std::ranges::equal(*live_state->section(section), *other->section(section))) {
        different.push_back(section);
      }
    }
    return different;
  }
  // Of the released view, of the engine, and of a board that a replayer makes.
  std::array<std::vector<core::LedgerLine>, 3> ledgers() const {
    std::vector<core::LedgerLine> engine;
    for (const core::Tenant& tenant : sequencer.engine().state().tenants)
      engine.push_back(tenant.ledger);
    return {view.read([](const Board& board) { return board.ledger(); }), engine,
            replayed().board().ledger()};
  }
  core::TaskState state_of(TaskNo task) const {
    return view.read([&](const Board& board) { return board.tasks().find(task)->state; });
  }

  Time now = Time{1'000'000'000};
  View view;
  Sequencer sequencer;
  Courier courier;
  Feed feed;
  Release release;
  QuickAgent agent;
  std::uint64_t session = 0;
  std::vector<v1::AgentMessage> said;
  std::vector<TaskLine> ended;
  std::vector<store::SettledCharge> settled;
  std::uint64_t offset = 64;
  std::vector<std::pair<store::GroupAt, std::vector<std::byte>>> groups;
};

}  // namespace berth::service::testing
