// Notes: what the journal keeps beside the core's events: names, task cards, results, starts of the
// server. A closed variant of plain values, and its bytes.
//
// A note stands before the event it belongs to, in the same group. The bytes are little-endian,
// strings with their length; a tag no build knows is an error, never skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "config/server_config.h"
#include "journal/wire.h"
#include "service/task_card.h"

namespace berth::service {

struct TenantNamed {
  TenantId tenant;
  std::string name;
  std::uint8_t tier = 0;
  bool operator==(const TenantNamed&) const = default;
};
struct QueueNamed {
  QueueId queue;
  std::string name;
  bool operator==(const QueueNamed&) const = default;
};
struct ModelNamed {
  ModelId model;
  std::string name;
  bool operator==(const ModelNamed&) const = default;
};
// Told again when anything of it changes.
struct GpuNamed {
  GpuId gpu;
  std::string uuid;
  std::string name;
  std::string kind;
  std::string node;
  bool simulated = false;
  bool operator==(const GpuNamed&) const = default;
};
struct GroupNamed {
  GroupId group;
  TenantId tenant;
  std::string name;
  bool operator==(const GroupNamed&) const = default;
};
struct SignalNamed {
  SignalId signal;
  TenantId tenant;
  std::string name;
  bool operator==(const SignalNamed&) const = default;
};
// The task whose Submit (or SubmitWorkflow) follows.
struct TaskDescribed {
  CardPtr card;
};
// How attempts ended, as the agent said it; the report's event follows.
struct AttemptResult {
  TaskNo task;
  LeaseId lease;
  std::string result;  // a serialized berth.v1.TaskResult, opaque here
  bool operator==(const AttemptResult&) const = default;
};
// The server began an epoch, with this wall clock.
struct EpochBegan {
  std::uint64_t epoch = 0;
  Time at;
  std::int64_t wall_unix_ns = 0;
  std::string version;
  bool operator==(const EpochBegan&) const = default;
};

// How engine time stands to the machine's clocks: told when an epoch begins, and again when the
// wall clock was set. See clock.h.
struct ClockMapped {
  std::string boot;  // names the boot; "": not known
  std::int64_t boot_ns = 0;
  Time at;         // engine time, when the boot-time clock said `boot_ns`
  Duration ahead;  // of the wall clock, against engine time
  bool operator==(const ClockMapped&) const = default;
};

// A kind of GPU, a rack, an island of NVLink or a class of work has this name.
struct PartNamed {
  enum class Noun : std::uint8_t { kind, rack, island, work_class };
  Noun noun = Noun::kind;
  std::uint32_t number = 0;
  std::string name;
  bool operator==(const PartNamed&) const = default;
};
// Told again when its agent or address changes.
struct NodeNamed {
  NodeId node;
  std::string name;
  std::string agent;    // that speaks for it
  std::string address;  // by which other nodes reach it
  bool operator==(const NodeNamed&) const = default;
};

// Whether the tasks of a tenant or a queue may have commands. Where nothing is said, they may.
struct CommandsAllowed {
  enum class Noun : std::uint8_t { tenant, queue };
  Noun noun = Noun::tenant;
  std::uint32_t number = 0;
  bool allowed = true;
  bool operator==(const CommandsAllowed&) const = default;
};

// The spec of a live task, written once more, so that the segment that held it may go. See
// decision 21.
struct SpecCarried {
  TaskNo task;
  std::string spec;   // to be written; read back it stays on disk
  store::BytesAt at;  // where it stands now
};

// Nobody uses the name of a group, a signal or an array any more; it may be given anew.
struct NameForgotten {
  enum class Noun : std::uint8_t { group, signal, array };
  Noun noun = Noun::group;
  TenantId tenant;
  std::string name;
  bool operator==(const NameForgotten&) const = default;
};

// How the queue's work runs. Told for each queue that is configured, and when it changes.
struct QueueRuns {
  QueueId queue;
  std::string executor;  // "": simulated, but for tasks with a command
  bool ranks_by_node = false;
  bool operator==(const QueueRuns&) const = default;
};

// What the queue's tasks have that do not say it themselves. Told when it changes.
struct QueueDefaults {
  QueueId queue;
  config::TaskDefaults defaults;
  bool operator==(const QueueDefaults&) const = default;
};

// A task that has not started is another from now on: its card takes the old one's place.
struct TaskRedescribed {
  CardPtr card;
};

// An attempt of a task in a batch that goes on ended earlier than its agent could tell.
struct AttemptEnded {
  TaskNo task;
  LeaseId lease;
  Time at;
  bool operator==(const AttemptEnded&) const = default;
};

// The tasks of an array, whose SubmitWorkflow follows. An earlier one of this name is forgotten.
struct ArrayNamed {
  TenantId tenant;
  std::string name;
  TaskNo first;  // the others have the numbers behind it
  std::uint32_t count = 0;
  std::string indices;  // as the client wrote them
  bool operator==(const ArrayNamed&) const = default;
};

// The sections of the configuration whose blocks can be put by the API.
enum class Section : std::uint8_t { tenants, queues, models };
constexpr std::string_view name_of(Section section) {
  constexpr std::string_view kNames[] = {"tenants", "queues", "models"};
  return kNames[static_cast<std::size_t>(section)];
}
constexpr std::string_view noun_of(Section section) {
  return name_of(section).substr(0, name_of(section).size() - 1);
}

// A key of a block was put; it holds against the file until it is reverted. A block that was put
// has at least the key "name".
struct SettingPut {
  Section section = Section::tenants;
  std::string name;
  std::string key;
  std::string value;  // as TOML; "": none
  std::int64_t wall_unix_ns = 0;
  bool operator==(const SettingPut&) const = default;
};
// The block is what the file says of it again.
struct SettingsReverted {
  Section section = Section::tenants;
  std::string name;
  bool operator==(const SettingsReverted&) const = default;
};
// The tenant, queue or model was deleted, or a queue or model is in the configuration no more; or
// it is there again.
struct Removed {
  Section section = Section::queues;
  std::uint32_t number = 0;
  bool removed = true;
  bool operator==(const Removed&) const = default;
};
// From here on the journal says what was put.
struct PutsKnown {
  bool operator==(const PutsKnown&) const = default;
};

using Note = std::variant<TenantNamed, QueueNamed, ModelNamed, GpuNamed, GroupNamed, SignalNamed,
                          TaskDescribed, AttemptResult, EpochBegan, PartNamed, NodeNamed,
                          ClockMapped, CommandsAllowed, SpecCarried, NameForgotten, QueueRuns,
                          SettingPut, SettingsReverted, Removed, PutsKnown, QueueDefaults,
                          TaskRedescribed, AttemptEnded, ArrayNamed>;

void encode_note(journal::Writer& out, const Note& note);

// All of `bytes` is one note, and stands at `at` in the journal. The spec of a card that is too
// large to be kept in memory stays there: the card says where.
std::optional<Note> decode_note(journal::ByteView bytes, store::BytesAt at,
                                journal::DecodeError* error = nullptr);

// A spec ends its note. With the note's place the card can let go of a large one.
void keep_spec_on_disk(TaskCard& card, store::BytesAt note);
void keep_spec_on_disk(SpecCarried& carried, store::BytesAt note);

// Cards alone, as snapshots hold them: with the place of a large spec instead of its bytes.
void encode_card(journal::Writer& out, const TaskCard& card);
CardPtr decode_card(journal::Reader& in);

}  // namespace berth::service
