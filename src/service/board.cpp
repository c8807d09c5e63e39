// See board.h.
#include "service/board.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "base/assert.h"
#include "service/grown.h"
#include "service/sequence_number.h"

namespace berth::service {
namespace {

using core::TaskState;

template <class T>
void drop(std::vector<T>& list, T value) {
  list.erase(std::remove(list.begin(), list.end(), value), list.end());
}

std::uint64_t& end_of(Ends& ends, TaskState state) {
  switch (state) {
    case TaskState::completed:
      return ends.completed;
    case TaskState::failed:
      return ends.failed;
    case TaskState::cancelled:
      return ends.cancelled;
    default:
      return ends.expired;
  }
}

template <class Line>
std::uint64_t& live_count(Line& line, TaskState state) {
  switch (state) {
    case TaskState::waiting:
      return line.waiting;
    case TaskState::pending:
      return line.pending;
    default:
      return line.running;
  }
}

}  // namespace

TaskState first_state(const TaskCard& card) {
  return card.begins_waiting ? TaskState::waiting : TaskState::pending;
}

TaskState state_after(const core::TaskDeferred& deferred, Time now) {
  const bool waits = deferred.eligible_at > now ||
                     deferred.reason.code == core::ReasonCode::task_held ||
                     deferred.reason.code == core::ReasonCode::poison_held;
  return waits ? TaskState::waiting : TaskState::pending;
}

core::Reason reason_until(const DecidedEnd& end, TaskNo task) {
  if (end.state != TaskState::cancelled) return end.reason;
  return {core::ReasonCode::cancelling, 0, 0, task.value, Time::never()};
}

void append(Ended& to, Ended&& more) {
  std::move(more.tasks.begin(), more.tasks.end(), std::back_inserter(to.tasks));
  to.settled.insert(to.settled.end(), more.settled.begin(), more.settled.end());
}

// ---- TaskTable
// -----------------------------------------------------------------------------------

const TaskLine* TaskTable::find(TaskNo task) const {
  const auto page = pages_.find(task.value / kPage);
  return page == pages_.end() ? nullptr : page->second->lines[task.value % kPage].get();
}
TaskLine* TaskTable::find(TaskNo task) {
  return const_cast<TaskLine*>(std::as_const(*this).find(task));
}

TaskLine& TaskTable::add(TaskNo task) {
  std::unique_ptr<Page>& page = pages_[task.value / kPage];
  if (!page) page = std::make_unique<Page>();
  std::unique_ptr<TaskLine>& line = page->lines[task.value % kPage];
  ASSERT(!line);
  line = std::make_unique<TaskLine>();
  ++page->used;
  ++size_;
  return *line;
}

void TaskTable::remove(TaskNo task) {
  const auto page = pages_.find(task.value / kPage);
  ASSERT(page != pages_.end() && page->second->lines[task.value % kPage]);
  page->second->lines[task.value % kPage].reset();
  --size_;
  if (--page->second->used == 0) pages_.erase(page);
}

// ---- Notes and events
// ----------------------------------------------------------------------------

void Board::apply(const Note& note) {
  names_.apply(note);
  queues_.resize(names_.queues().size());
  tenants_.resize(names_.tenants().size());
  ledger_.resize(names_.tenants().size());
  models_.resize(names_.models().size());
  gpus_.resize(names_.gpus().size());
  if (const auto* described = std::get_if<TaskDescribed>(&note)) {
    described_[described->card->task] = described->card;
  } else if (const auto* result = std::get_if<AttemptResult>(&note)) {
    TaskLine* line = tasks_.find(result->task);
    if (line == nullptr || line->attempts.empty()) return;
    AttemptLine& attempt = line->attempts.back();
    if (attempt.lease == result->lease) attempt.result = result->result;
  } else if (const auto* carried = std::get_if<SpecCarried>(&note)) {
    carry(*carried);
  } else if (const auto* ended = std::get_if<AttemptEnded>(&note)) {
    told_end_ = *ended;
  } else if (const auto* again = std::get_if<TaskRedescribed>(&note)) {
    redescribe(again->card);
  }
}

// It counts in its new queue from now on, where that is another.
void Board::redescribe(const CardPtr& card) {
  TaskLine* line = tasks_.find(card->task);
  if (line == nullptr) return;
  const TaskState state = line->state;
  leave(*line, TaskState::waiting);
  if (line->card->spec_at.size > 0) let_go(line->card->spec_at);
  line->card = card;
  line->state = state;
  if (card->spec_at.size > 0) ++specs_by_segment_[card->spec_at.segment];
  enter(*line);
}

// Others may hold the card as it was: they still find the spec where it stood.
void Board::carry(const SpecCarried& carried) {
  TaskLine* line = tasks_.find(carried.task);
  if (line == nullptr || line->card->spec_at.size == 0) return;
  let_go(line->card->spec_at);
  line->card = std::make_shared<TaskCard>(*line->card);
  line->card->spec_at = carried.at;
  ++specs_by_segment_[carried.at.segment];
}

void Board::let_go(const store::BytesAt& spec) {
  const auto segment = specs_by_segment_.find(spec.segment);
  if (segment != specs_by_segment_.end() && --segment->second == 0)
    specs_by_segment_.erase(segment);
}

void Board::begin(const core::LeaseStarted& started, const At& at, Changes& changes) {
  const auto lease = leases_.find(started.lease);
  if (lease == leases_.end() || lease->second.started != Time::never()) return;
  lease->second.started = at.now;
  for (const TaskNo task : lease->second.tasks) {
    TaskLine* line = tasks_.find(task);
    if (line == nullptr || line->state != TaskState::starting) continue;
    line->attempts.back().started = at.now;
    step(*line, TaskState::running, {}, at, changes);
  }
}

void Board::apply(const core::Event& event, std::uint64_t ordinal, Changes& changes) {
  names_.apply(event);
  if (const auto* started = std::get_if<core::LeaseStarted>(&event.body)) {
    begin(*started, {event.now, ordinal}, changes);
  } else if (const auto* ended = std::get_if<core::TaskEnded>(&event.body)) {
    finish_decided(ended->outcome.task, ended->lease, {event.now, ordinal}, changes);
  } else if (const auto* after = std::get_if<core::LeaseEndedAfter>(&event.body)) {
    const auto lease = leases_.find(after->ended.lease);
    // Without a run it is not known when it ended.
    if (lease == leases_.end() || lease->second.started == Time::never()) return;
    if (after->ran.ns > 0) lease->second.ended = lease->second.started + after->ran;
  } else if (const auto* loaded = std::get_if<core::ModelLoaded>(&event.body)) {
    if (loaded->gpu.value >= gpus_.size()) return;
    GpuLine& gpu = gpus_[loaded->gpu.value];
    const auto at = gpu.models.find(loaded->model);
    if (at == gpu.models.end() || at->second.load != loaded->load) return;
    ModelLine& model = models_[loaded->model.value];
    at->second.loading = false;
    if (loaded->ok) {
      ++model.loads;
      model.load_time = model.load_time + loaded->took;
    } else {
      ++model.load_failures;
      gpu.promised -= at->second.weights;
      gpu.models.erase(at);
    }
  } else if (const auto* gone = std::get_if<core::ModelUnloaded>(&event.body)) {
    if (gone->gpu.value < gpus_.size()) unload(gone->gpu, gone->model, gone->load);
  } else if (const auto* lost = std::get_if<core::GpuLost>(&event.body)) {
    if (lost->gpu.value < gpus_.size()) lose_models(lost->gpu);
  }
}

void Board::unload(GpuId id, ModelId model, LoadId load) {
  GpuLine& gpu = gpus_[id.value];
  const auto at = gpu.models.find(model);
  if (at == gpu.models.end() || at->second.load != load) return;
  gpu.promised -= at->second.weights;
  gpu.models.erase(at);
}

void Board::lose_models(GpuId id) {
  GpuLine& gpu = gpus_[id.value];
  for (const auto& [model, resident] : gpu.models)
    gpu.promised -= resident.weights;
  gpu.models.clear();
}

// ---- Actions
// -------------------------------------------------------------------------------------

void Board::count(const TaskLine& line, TaskState state, std::int64_t by) {
  const auto add = [by](std::uint64_t& counter) {
    counter = static_cast<std::uint64_t>(static_cast<std::int64_t>(counter) + by);
  };
  QueueLine& queue = grown(queues_, line.card->queue.value);
  TenantLine& tenant = grown(tenants_, line.card->tenant.value);
  if (core::is_terminal(state)) {
    add(end_of(queue.ends, state));
    add(end_of(tenant.ends, state));
  } else {
    add(live_count(queue, state));
    add(live_count(tenant, state));
  }
}

void Board::enter(const TaskLine& line) {
  count(line, line.state, 1);
  if (line.state != TaskState::pending) return;
  grown(pending_, line.card->queue.value).join(line.eligible, line.card->task);
}

void Board::leave(TaskLine& line, TaskState to) {
  count(line, line.state, -1);
  if (std::exchange(line.state, to) != TaskState::pending) return;
  pending_[line.card->queue.value].leave(line.card->task, [this](TaskNo task, Time since) {
    const TaskLine* other = tasks_.find(task);
    return other != nullptr && other->state == TaskState::pending && other->eligible == since;
  });
}

void Board::step(TaskLine& line, TaskState to, const core::Reason& reason, const At& at,
                 Changes& changes) {
  leave(line, to);
  line.reason = reason;
  enter(line);
  tell(line, at, changes);
}

std::optional<Time> Board::oldest_pending(QueueId queue) const {
  if (queue.value >= pending_.size()) return std::nullopt;
  return pending_[queue.value].oldest();
}

void Board::tell(const TaskLine& line, const At& at, Changes& changes) {
  std::uint64_t sequence = sequence_of(at.ordinal, 0);
  if (!changes.tasks.empty()) sequence = std::max(sequence, changes.tasks.back().sequence + 1);
  TaskChange change{sequence, at.now, line.card, line.state, line.reason, 0, {}};
  if (!line.attempts.empty()) {
    change.attempt = line.attempts.back().number;
    change.gpus = line.attempts.back().gpus;
  }
  changes.tasks.push_back(std::move(change));
}

void Board::accept(TaskNo task, const At& at, Changes& changes) {
  const auto described = described_.find(task);
  if (described == described_.end()) return;  // a task without a card: not one of the service's
  TaskLine& line = tasks_.add(task);
  line.card = std::move(described->second);
  described_.erase(described);
  line.state = first_state(*line.card);
  line.eligible = at.now;
  keys_.take(*line.card);
  if (line.card->spec_at.size > 0) ++specs_by_segment_[line.card->spec_at.segment];
  enter(line);
  tell(line, at, changes);
}

void Board::start(const core::BatchStarted& batch, const At& at, Changes& changes) {
  LeaseLine& lease = leases_[batch.lease];
  lease.queue = batch.queue;
  lease.model = batch.model;
  lease.share = batch.share;
  lease.vram = batch.vram;
  lease.gpus = batch.gpus;
  lease.node = batch.node;
  lease.granted = at.now;
  lease.expected = batch.expected;
  for (const GpuId id : batch.gpus) {
    GpuLine& gpu = grown(gpus_, id.value);
    gpu.promised += batch.vram;
    gpu.load += batch.share;
    gpu.leases.push_back(batch.lease);
  }
  ++grown(queues_, batch.queue.value).batches;
  for (const core::StartedTask& started : batch.tasks) {
    TaskLine* line = tasks_.find(started.task);
    if (line == nullptr) continue;
    lease.tasks.push_back(started.task);
    end_attempt(*line, at.now);
    line->attempts.push_back(
        {started.attempt, batch.lease, batch.gpus, at.now, Time::never(), 0, {}});
    changes.started.push_back(line->eligible);
    step(*line, TaskState::starting, {}, at, changes);
  }
}

core::Reason reason_of_end(const core::TaskFinished& finished, const TaskCard& card, Time now) {
  const bool by_deadline =
      finished.reason.code == core::ReasonCode::waited_too_long && card.deadline <= now;
  if (!by_deadline) return finished.reason;
  return {core::ReasonCode::deadline_passed, 0, 0, finished.task.value, Time::never()};
}

// The task is no longer part of the lease it ran in. An agent may tell later than it was so.
Time Board::end_attempt(TaskLine& line, Time now) {
  if (line.attempts.empty() || line.attempts.back().ended != Time::never()) return now;
  AttemptLine& attempt = line.attempts.back();
  attempt.ended = now;
  const auto lease = leases_.find(attempt.lease);
  if (lease == leases_.end()) return now;
  attempt.ended = std::min(now, lease->second.ended);
  const AttemptEnded told = std::exchange(told_end_, {});
  if (told.task == line.card->task && told.lease == attempt.lease) {
    attempt.ended = std::clamp(told.at, std::min(attempt.started, attempt.ended), attempt.ended);
  }
  drop(lease->second.tasks, line.card->task);
  return attempt.ended;
}

// An attempt that is being stopped ends with its lease.
void Board::defer(const core::TaskDeferred& deferred, bool is_stopping, const At& at,
                  Changes& changes) {
  TaskLine* line = tasks_.find(deferred.task);
  if (line == nullptr) return;
  if (!is_stopping) end_attempt(*line, at.now);
  line->eligible = deferred.eligible_at;
  step(*line, state_after(deferred, at.now), deferred.reason, at, changes);
}

void Board::decide_end(const core::TaskFinished& finished, const At& at, Changes& changes) {
  TaskLine* line = tasks_.find(finished.task);
  const bool has_lease =
      line != nullptr && !line->attempts.empty() && leases_.contains(line->attempts.back().lease);
  if (!has_lease) return finish(finished, at, changes);
  line->end = {finished.state, finished.reason};
  keys_.end(finished.task, at.now + remember_ids_);  // as the sequencer does
  // Put back before and now cancelled: as long as its last attempt is there, it runs.
  const bool is_starting = line->state == TaskState::starting;
  step(*line, is_starting ? TaskState::starting : TaskState::running,
       reason_until(*line->end, finished.task), at, changes);
}

void Board::finish_decided(TaskNo task, LeaseId lease, const At& at, Changes& changes) {
  TaskLine* line = tasks_.find(task);
  if (line == nullptr || !line->end || line->attempts.back().lease != lease) return;
  finish({task, line->end->state, line->end->reason}, at, changes);
}

void Board::finish(const core::TaskFinished& finished, const At& at, Changes& changes) {
  TaskLine* line = tasks_.find(finished.task);
  if (line == nullptr) return;
  line->ended = end_attempt(*line, at.now);
  step(*line, finished.state, reason_of_end(finished, *line->card, at.now), at, changes);
  const TaskCard& card = *line->card;
  keys_.end(finished.task, at.now + remember_ids_);
  line->end.reset();
  keys_.forget(at.now);
  if (card.spec_at.size > 0) let_go(card.spec_at);
  changes.ended.tasks.push_back(std::move(*line));
  tasks_.remove(finished.task);
}

void Board::free_slice(LeaseId id, const LeaseLine& lease, GpuId gpu) {
  GpuLine& line = grown(gpus_, gpu.value);
  line.promised -= lease.vram;
  line.load -= lease.share;
  drop(line.leases, id);
}

void Board::close(LeaseId id, const At& at, Changes& changes) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  const std::vector<TaskNo> left = found->second.tasks;
  for (const TaskNo task : left) {
    finish_decided(task, id, at, changes);
    if (TaskLine* line = tasks_.find(task)) end_attempt(*line, at.now);
  }
  for (const GpuId gpu : found->second.gpus)
    free_slice(id, found->second, gpu);
  leases_.erase(found);
}

// What a lease costs is known when it closes; most of its tasks have ended just before, in the
// order of the batch. Those that ended earlier are set right in the history.
void Board::settle(const core::Action& action, Changes& changes) {
  const auto tenant_of = [&](TaskNo task) {
    const TaskLine* line = tasks_.find(task);
    return line == nullptr ? TenantId::none() : line->card->tenant;
  };
  const std::span<const Posting> postings = bills_.apply(action, tenant_of);
  post(postings, ledger_);
  const bool is_over = std::holds_alternative<core::LeaseClosed>(action);
  std::vector<TaskLine>& ended = changes.ended.tasks;
  std::size_t at = ended.size();
  for (auto posting = postings.rbegin(); posting != postings.rend(); ++posting) {
    TaskLine* line = tasks_.find(posting->task);
    if (line == nullptr && at > 0 && ended[at - 1].card->task == posting->task) line = &ended[--at];
    if (line == nullptr) {
      if (!is_over || !posting->tenant) continue;
      changes.ended.settled.push_back(
          {posting->task.value, posting->lease.value, posting->charge_us});
      continue;
    }
    const auto attempt =
        std::find_if(line->attempts.rbegin(), line->attempts.rend(),
                     [&](const AttemptLine& one) { return one.lease == posting->lease; });
    if (attempt != line->attempts.rend()) attempt->charge_us = posting->charge_us;
  }
}

void Board::apply(const core::Action& action, const At& at, Changes& changes) {
  const TaskNo stopped = std::exchange(stopped_, TaskNo::none());
  if (const auto* accepted = std::get_if<core::TaskAccepted>(&action)) {
    accept(accepted->task, at, changes);
  } else if (const auto* refused = std::get_if<core::TaskRefused>(&action)) {
    described_.erase(refused->task);
  } else if (const auto* ready = std::get_if<core::TaskReady>(&action)) {
    if (TaskLine* line = tasks_.find(ready->task)) {
      line->eligible = at.now;
      step(*line, TaskState::pending, {}, at, changes);
    }
  } else if (const auto* deferred = std::get_if<core::TaskDeferred>(&action)) {
    defer(*deferred, stopped == deferred->task, at, changes);
  } else if (const auto* finished = std::get_if<core::TaskFinished>(&action)) {
    if (stopped && stopped == finished->task) return decide_end(*finished, at, changes);
    finish(*finished, at, changes);
  } else if (const auto* stop = std::get_if<core::StopTask>(&action)) {
    stopped_ = stop->task;
  } else if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
    start(*batch, at, changes);
    settle(action, changes);
  } else if (std::holds_alternative<core::LeaseCharged>(action)) {
    settle(action, changes);
  } else if (const auto* lost = std::get_if<core::SliceLost>(&action)) {
    const auto lease = leases_.find(lost->lease);
    if (lease == leases_.end()) return;
    free_slice(lost->lease, lease->second, lost->gpu);
    drop(lease->second.gpus, lost->gpu);
  } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
    settle(action, changes);
    close(closed->lease, at, changes);
  } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
    GpuLine& gpu = grown(gpus_, load->gpu.value);
    const Mib weights = names_.models()[load->model.value].spec.weights;
    gpu.models[load->model] = {load->load, true, at.now, weights};
    gpu.promised += weights;
  } else if (const auto* evict = std::get_if<core::EvictModel>(&action)) {
    unload(evict->gpu, evict->model, evict->load);
    ++grown(models_, evict->model.value).evictions;
  }
}

void Board::put_back(TaskLine&& from) {
  const TaskCard& card = *from.card;
  TaskLine& line = tasks_.add(card.task);
  line = std::move(from);
  if (card.spec_at.size > 0) ++specs_by_segment_[card.spec_at.segment];
  enter(line);
}

void Board::put_back(LeaseId id, LeaseLine&& lease) {
  for (const GpuId gpu : lease.gpus) {
    GpuLine& line = grown(gpus_, gpu.value);
    line.promised += lease.vram;
    line.load += lease.share;
    line.leases.push_back(id);
  }
  leases_[id] = std::move(lease);
}

TaskNo Board::find(TenantId tenant, std::string_view id, Time now) const {
  if (const TaskNo task = numbered_id(id)) {
    const TaskLine* line = tasks_.find(task);
    return line == nullptr || line->card->tenant == tenant ? task : TaskNo::none();
  }
  const Keys::Known* known = keys_.find(tenant, Keys::Kind::task_id, id, now);
  return known == nullptr ? TaskNo::none() : known->task;
}

std::uint64_t Board::oldest_needed_segment() const {
  return specs_by_segment_.empty() ? std::numeric_limits<std::uint64_t>::max()
                                   : specs_by_segment_.begin()->first;
}

}  // namespace berth::service
