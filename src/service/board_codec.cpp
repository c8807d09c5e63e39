// See board_codec.h. What can be counted again from the tasks and leases is not written.
#include "service/board_codec.h"

#include <algorithm>

#include "core/model/ranges.h"
#include "journal/codec.h"

namespace berth::service {
namespace {

using journal::Reader;
using journal::Writer;

void put_text(Writer& out, const std::string& text) {
  out.u32(static_cast<std::uint32_t>(text.size()));
  out.bytes(std::as_bytes(std::span(text)));
}
std::string get_text(Reader& in) {
  const journal::ByteView bytes = in.bytes(in.u32());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put_reason(Writer& out, const core::Reason& reason) {
  out.u8(static_cast<std::uint8_t>(reason.code));
  out.i64(reason.need);
  out.i64(reason.have);
  out.u64(reason.subject);
  out.i64(reason.at.ns);
}
core::Reason get_reason(Reader& in) {
  core::Reason reason;
  const std::uint8_t code = in.u8();
  if (code >= core::kReasons.size()) in.fail("a reason");
  reason.code = static_cast<core::ReasonCode>(code);
  reason.need = in.i64();
  reason.have = in.i64();
  reason.subject = in.u64();
  reason.at.ns = in.i64();
  return reason;
}

void put_gpus(Writer& out, const std::vector<GpuId>& gpus) {
  out.u32(static_cast<std::uint32_t>(gpus.size()));
  for (const GpuId gpu : gpus)
    out.u32(gpu.value);
}
std::vector<GpuId> get_gpus(Reader& in, std::size_t known) {
  std::vector<GpuId> gpus;
  const std::uint32_t count = in.u32();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    gpus.push_back({in.u32()});
    if (gpus.back().value >= known) in.fail("a known GPU");
  }
  return gpus;
}

void put_attempt(Writer& out, const AttemptLine& attempt) {
  out.u32(attempt.number);
  out.u64(attempt.lease.value);
  put_gpus(out, attempt.gpus);
  out.i64(attempt.started.ns);
  out.i64(attempt.ended.ns);
  out.i64(attempt.charge_us);
  put_text(out, attempt.result);
}
AttemptLine get_attempt(Reader& in, std::size_t gpus) {
  AttemptLine attempt;
  attempt.number = in.u32();
  attempt.lease.value = in.u64();
  attempt.gpus = get_gpus(in, gpus);
  attempt.started.ns = in.i64();
  attempt.ended.ns = in.i64();
  attempt.charge_us = in.i64();
  attempt.result = get_text(in);
  return attempt;
}

void put_ends(Writer& out, const Ends& ends) {
  out.u64(ends.completed);
  out.u64(ends.failed);
  out.u64(ends.cancelled);
  out.u64(ends.expired);
}
Ends get_ends(Reader& in) {
  Ends ends;
  ends.completed = in.u64();
  ends.failed = in.u64();
  ends.cancelled = in.u64();
  ends.expired = in.u64();
  return ends;
}

void put_lease(Writer& out, const LeaseLine& lease) {
  out.u32(lease.queue.value);
  out.u32(lease.model.value);
  out.i64(lease.share.value);
  out.i64(lease.vram.value);
  put_gpus(out, lease.gpus);
  out.u32(lease.node.value);
  out.u32(static_cast<std::uint32_t>(lease.tasks.size()));
  for (const TaskNo task : lease.tasks)
    out.u64(task.value);
  out.i64(lease.granted.ns);
  out.i64(lease.started.ns);
  out.i64(lease.expected.ns);
}
// What is added up must stay far from the end of its range.
Mib get_vram(Reader& in) {
  const Mib amount{in.i64()};
  if (amount.value < 0 || amount.value > core::kMibMax) in.fail("an amount of VRAM");
  return amount;
}

LeaseLine get_lease(Reader& in, const Names& names) {
  LeaseLine lease;
  lease.queue.value = in.u32();
  lease.model.value = in.u32();
  if (lease.queue.value >= names.queues().size()) in.fail("a known queue");
  if (lease.model && lease.model.value >= names.models().size()) in.fail("a known model");
  lease.share.value = in.i64();
  if (lease.share.value < 0 || lease.share.value > 1000) in.fail("a share of a GPU");
  lease.vram = get_vram(in);
  lease.gpus = get_gpus(in, names.gpus().size());
  lease.node.value = in.u32();
  if (lease.node && lease.node.value >= names.nodes().size()) in.fail("a known node");
  const std::uint32_t tasks = in.u32();
  for (std::uint32_t i = 0; i < tasks && in.ok(); ++i)
    lease.tasks.push_back({in.u64()});
  lease.granted.ns = in.i64();
  lease.started.ns = in.i64();
  lease.expected.ns = in.i64();
  return lease;
}

// Names are written in the order of their numbers, so that no number can claim more memory than its
// own bytes.
bool is_next(const Names& names, const Note& note) {
  if (const auto* tenant = std::get_if<TenantNamed>(&note)) {
    return tenant->tenant.value == names.tenants().size();
  } else if (const auto* queue = std::get_if<QueueNamed>(&note)) {
    return queue->queue.value == names.queues().size();
  } else if (const auto* model = std::get_if<ModelNamed>(&note)) {
    return model->model.value == names.models().size();
  } else if (const auto* gpu = std::get_if<GpuNamed>(&note)) {
    return gpu->gpu.value == names.gpus().size();
  } else if (const auto* part = std::get_if<PartNamed>(&note)) {
    return part->number == names.next_number(part->noun);
  } else if (const auto* node = std::get_if<NodeNamed>(&note)) {
    return node->node == names.next_node();
  } else if (const auto* signal = std::get_if<SignalNamed>(&note)) {
    return signal->signal >= names.next_signal() && signal->signal;  // some were forgotten
  } else if (const auto* group = std::get_if<GroupNamed>(&note)) {
    return static_cast<bool>(group->group);  // these are written by name
  } else if (const auto* array = std::get_if<ArrayNamed>(&note)) {
    return array->tenant.value < names.tenants().size() && array->count > 0;
  } else if (const auto* commands = std::get_if<CommandsAllowed>(&note)) {
    const bool is_tenant = commands->noun == CommandsAllowed::Noun::tenant;
    return commands->number < (is_tenant ? names.tenants().size() : names.queues().size());
  } else if (const auto* runs = std::get_if<QueueRuns>(&note)) {
    return runs->queue.value < names.queues().size();
  } else if (const auto* defaults = std::get_if<QueueDefaults>(&note)) {
    return defaults->queue.value < names.queues().size();
  } else if (const auto* removed = std::get_if<Removed>(&note)) {
    const std::size_t named = removed->section == Section::tenants  ? names.tenants().size()
                              : removed->section == Section::queues ? names.queues().size()
                                                                    : names.models().size();
    return removed->number < named;
  } else if (std::holds_alternative<SettingPut>(note) || std::holds_alternative<PutsKnown>(note)) {
    return true;
  }
  return false;
}

bool is_named(const Names& names, WorkClassId work_class) {
  return work_class.value < names.work_classes().size();
}

// Of something that was named.
bool is_of_known(const Names& names, const core::Event& event) {
  if (const auto* tenant = std::get_if<core::PutTenant>(&event.body)) {
    return tenant->tenant.value < names.tenants().size();
  } else if (const auto* queue = std::get_if<core::PutQueue>(&event.body)) {
    const WorkClassId work_class = queue->spec.work_class;
    return queue->queue.value < names.queues().size() &&
           (!work_class || is_named(names, work_class));
  } else if (const auto* model = std::get_if<core::PutModel>(&event.body)) {
    return model->model.value < names.models().size();
  } else if (const auto* node = std::get_if<core::PutNode>(&event.body)) {
    return node->node.value < names.nodes().size();
  } else if (const auto* gone = std::get_if<core::NodeLost>(&event.body)) {
    return gone->node.value < names.nodes().size();
  } else if (const auto* gpu = std::get_if<core::PutGpu>(&event.body)) {
    const auto knows_class = [&](const core::ClassSpeed& its) {
      return is_named(names, its.work_class);
    };
    return gpu->gpu.value < names.gpus().size() &&
           std::ranges::all_of(gpu->spec.class_speeds, knows_class);
  } else if (const auto* pause = std::get_if<core::PauseTenant>(&event.body)) {
    return pause->tenant.value < names.tenants().size();
  } else if (const auto* stop = std::get_if<core::PauseQueue>(&event.body)) {
    return stop->queue.value < names.queues().size();
  } else if (const auto* drain = std::get_if<core::DrainQueue>(&event.body)) {
    return drain->queue.value < names.queues().size();
  } else if (const auto* empty = std::get_if<core::DrainGpu>(&event.body)) {
    return empty->gpu.value < names.gpus().size();
  } else if (const auto* lost = std::get_if<core::GpuLost>(&event.body)) {
    return lost->gpu.value < names.gpus().size();
  } else if (const auto* table = std::get_if<core::PutTable>(&event.body)) {
    return table->version > 0 && table->bytes.empty();  // the engine has them
  }
  if (const auto* given = std::get_if<core::ResolveSignal>(&event.body)) {
    return names.signal_name(given->signal) != "?";
  }
  return std::holds_alternative<core::SetPolicy>(event.body);
}

// One that runs does so in an attempt.
bool is_live(const TaskLine& line) {
  const bool runs =
      line.state == core::TaskState::starting || line.state == core::TaskState::running;
  return !runs || !line.attempts.empty();
}

}  // namespace

void BoardCodec::encode_names(Writer& out, const Names& names) {
  const std::vector<Note> notes = names.notes();
  out.u64(notes.size());
  Writer bytes;
  for (const Note& note : notes) {
    bytes.clear();
    encode_note(bytes, note);
    out.u32(static_cast<std::uint32_t>(bytes.size()));
    out.bytes(bytes.view());
  }
  const std::vector<core::Event> events = names.events();
  out.u64(events.size());
  for (const core::Event& event : events)
    journal::encode_event(out, event);
}

void BoardCodec::decode_names(Reader& in, Board& board) {
  const std::uint64_t notes = in.u64();
  for (std::uint64_t i = 0; i < notes && in.ok(); ++i) {
    const std::optional<Note> note = decode_note(in.bytes(in.u32()), {});
    if (!note || !is_next(board.names_, *note)) return in.fail("a note of a name");
    board.apply(*note);
  }
  const std::uint64_t events = in.u64();
  Board::Changes none;
  for (std::uint64_t i = 0; i < events && in.ok(); ++i) {
    core::Event event;
    if (!journal::decode_event(in, event)) return;
    if (!is_of_known(board.names_, event)) return in.fail("what is known of a name");
    board.apply(event, 0, none);
  }
}

void BoardCodec::encode(Writer& out, const Board& board) {
  out.u64(board.tasks_.size());
  board.tasks_.each_from(TaskNo{0}, [&](const TaskLine& line) {
    encode_card(out, *line.card);
    // A terminal state of a task that is here is its decided end.
    out.u8(static_cast<std::uint8_t>(line.end ? line.end->state : line.state));
    put_reason(out, line.end ? line.end->reason : line.reason);
    out.i64(line.eligible.ns);
    out.u32(static_cast<std::uint32_t>(line.attempts.size()));
    for (const AttemptLine& attempt : line.attempts)
      put_attempt(out, attempt);
    return true;
  });
  out.u64(board.leases_.size());
  for (const auto& [id, lease] : board.leases_) {
    out.u64(id.value);
    put_lease(out, lease);
  }
  for (const GpuLine& gpu : board.gpus_) {
    out.u32(static_cast<std::uint32_t>(gpu.models.size()));
    for (const auto& [model, resident] : gpu.models) {
      out.u32(model.value);
      out.u64(resident.load.value);
      out.u8(resident.loading ? 1 : 0);
      out.i64(resident.since.ns);
      out.i64(resident.weights.value);
    }
  }
  for (const QueueLine& queue : board.queues_) {
    out.u64(queue.batches);
    put_ends(out, queue.ends);
  }
  for (const TenantLine& tenant : board.tenants_) {
    put_ends(out, tenant.ends);
  }
  for (const ModelLine& model : board.models_) {
    out.u64(model.loads);
    out.u64(model.load_failures);
    out.u64(model.evictions);
    out.i64(model.load_time.ns);
  }
}

void BoardCodec::decode(Reader& in, Board& board) {
  const Names& names = board.names_;
  const std::uint64_t tasks = in.u64();
  std::vector<TaskNo> ending;
  for (std::uint64_t i = 0; i < tasks && in.ok(); ++i) {
    TaskLine line;
    line.card = decode_card(in);
    const std::uint8_t state = in.u8();
    if (state >= core::kTaskStates.size()) in.fail("a state of a task");
    line.state = static_cast<core::TaskState>(state);
    line.reason = get_reason(in);
    line.eligible.ns = in.i64();
    const std::uint32_t attempts = in.u32();
    for (std::uint32_t k = 0; k < attempts && in.ok(); ++k)
      line.attempts.push_back(get_attempt(in, names.gpus().size()));
    if (line.card->queue.value >= names.queues().size()) in.fail("a known queue");
    if (line.card->tenant.value >= names.tenants().size()) in.fail("a known tenant");
    if (core::is_terminal(line.state)) {
      line.end = {line.state, line.reason};
      line.state = core::TaskState::running;
      line.reason = reason_until(*line.end, line.card->task);
      ending.push_back(line.card->task);
    }
    if (in.ok() && !is_live(line)) in.fail("a live task");
    if (in.ok() && board.tasks_.find(line.card->task) != nullptr) in.fail("each task once");
    if (in.ok()) board.put_back(std::move(line));
  }
  const std::uint64_t leases = in.u64();
  for (std::uint64_t i = 0; i < leases && in.ok(); ++i) {
    const LeaseId id{in.u64()};
    LeaseLine lease = get_lease(in, names);
    if (board.leases_.contains(id)) in.fail("each lease once");
    if (in.ok()) board.put_back(id, std::move(lease));
  }
  // Its lease is what ends it.
  for (const TaskNo task : ending) {
    const TaskLine* line = board.tasks_.find(task);
    if (in.ok() && !board.leases_.contains(line->attempts.back().lease)) in.fail("an open lease");
  }
  for (GpuLine& gpu : board.gpus_) {
    const std::uint32_t models = in.u32();
    for (std::uint32_t i = 0; i < models && in.ok(); ++i) {
      const ModelId model{in.u32()};
      if (model.value >= names.models().size()) return in.fail("a known model");
      if (gpu.models.contains(model)) return in.fail("each model once");
      ResidentLine resident;
      resident.load.value = in.u64();
      resident.loading = in.u8() != 0;
      resident.since.ns = in.i64();
      resident.weights = get_vram(in);
      if (!in.ok()) return;
      gpu.promised += resident.weights;
      gpu.models[model] = resident;
    }
  }
  for (QueueLine& queue : board.queues_) {
    queue.batches = in.u64();
    queue.ends = get_ends(in);
  }
  for (TenantLine& tenant : board.tenants_) {
    tenant.ends = get_ends(in);
  }
  for (ModelLine& model : board.models_) {
    model.loads = in.u64();
    model.load_failures = in.u64();
    model.evictions = in.u64();
    model.load_time.ns = in.i64();
  }
}

void BoardCodec::set_ledger(Board& board, const core::State& state) {
  board.bills_ = Bills(state);
  board.ledger_.clear();
  for (const core::Tenant& tenant : state.tenants)
    board.ledger_.push_back(tenant.ledger);
}

}  // namespace berth::service
