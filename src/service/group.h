// Group: what the sequencer hands to the store as one, and the store to the release: the bytes for
// the journal, the same messages as values, and those who wait for an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/v1/agent.pb.h"
#include "core/action.h"
#include "core/event.h"
#include "journal/running_hash.h"
#include "journal/wire.h"
#include "service/commands.h"
#include "service/notes.h"

namespace berth::service {

// For one agent, in its turn among the actions.
struct ToAgentMessage {
  std::uint64_t session = 0;
  std::string agent;
  v1::ServerMessage message;
};

struct Item {
  std::variant<Note, core::Event, core::Action, ToAgentMessage> what;
  std::uint32_t note_at = 0;  // of a note: where its bytes stand in the group
  std::uint32_t note_size = 0;
};

struct SubmitReply {
  std::function<void(std::span<const SubmitOutcome>)> done;
  std::vector<SubmitOutcome> outcomes;
};
struct ControlReply {
  std::function<void(const ControlOutcome&)> done;
  ControlOutcome outcome;
};

// Those who wait for what stands in a group.
struct Waiting {
  std::vector<SubmitReply> submits;
  std::vector<ControlReply> controls;
};

struct Group {
  journal::Writer bytes;  // sealed; empty: nothing to write, only answers
  journal::RunningHash::State hash_after;
  std::uint64_t first_ordinal = 0;  // of its first message
  std::uint64_t last_ordinal = 0;
  std::uint64_t next_seq = 0;  // of the event behind it
  std::vector<Item> items;
  std::vector<SubmitReply> submits;
  std::vector<ControlReply> controls;

  Waiting take_waiting() { return {std::exchange(submits, {}), std::exchange(controls, {})}; }
};

}  // namespace berth::service
