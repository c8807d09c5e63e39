// TaskCard: what the service remembers of a task beside what the core knows: its name, its labels
// and its spec as the client wrote it. Made at the edge, shared from then on by the sequencer, the
// view and the streams.
//
// A spec larger than kInlineSpec is not kept in memory: it stands in the journal, at `spec_at`, and
// its segment stays until the task has ended. Everything but `spec` and `spec_at` is fixed once the
// task has its number; those two change once, when the note is on disk, under the view's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "store/journal_types.h"

namespace berth::service {

inline constexpr std::size_t kInlineSpec = 512;

struct TaskCard {
  TaskNo task;
  TenantId tenant;
  QueueId queue;
  GroupId group;
  std::string id;          // "": named by its number, see id_of
  std::string request_id;  // "": none
  std::uint64_t digest = 0;
  std::string group_name;
  std::vector<std::pair<std::string, std::string>> labels;
  std::uint8_t tier = 0;
  std::int16_t priority = 0;
  std::uint16_t gpus = 1;
  Milli share{1000};
  Mib vram{0};
  Time submitted;
  Time deadline = Time::never();
  Duration run_limit{0};        // 0: none
  Duration result_ttl{0};       // 0: the server's
  bool workflow = false;        // the first of a workflow that came with request_id
  bool begins_waiting = false;  // for a dependency, a signal or an instant, as it was decided

  std::string spec;  // a serialized berth.v1.TaskSpec, opaque here
  store::BytesAt spec_at;
};

using CardPtr = std::shared_ptr<TaskCard>;

// The id by which clients know the task: their own, or "t-NUMBER".
std::string id_of(const TaskCard& card);

// The number in an id of the form "t-NUMBER"; none: it is of another form.
TaskNo numbered_id(std::string_view id);

}  // namespace berth::service
