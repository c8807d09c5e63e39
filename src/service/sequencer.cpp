// The order itself: stamps, steps, notes, groups. Submits, control and reports have their own
// files.
#include "service/sequencer.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/state/state.h"
#include "service/clock.h"

namespace berth::service {

Sequencer::Sequencer(SequencerOptions options, Position at)
    : options_(options),
      engine_(std::move(at.engine)),
      names_(std::move(at.names)),
      keys_(std::move(at.keys)),
      hash_(at.hash),
      next_seq_(at.next_seq),
      ordinal_(at.next_seq + at.hash.count),
      epoch_(at.epoch),
      now_(at.now),
      builder_(hash_),
      group_(std::make_unique<Group>()),
      forgetter_(options.remember_ids) {
  group_->first_ordinal = ordinal_ + 1;
}

void Sequencer::begin_epoch(const ClockMapped& clock, const std::string& version) {
  const Time now = clock.at;
  ++epoch_;
  note(EpochBegan{epoch_, now, wall_time(now, clock).ns, version});
  note(clock);
  step(core::Tick{}, now);
  // Tasks are numbered from 1 for people and agents: a submit without a tenant spends the 0.
  if (engine_.next_task_no() == TaskNo{0}) step(core::Submit{TaskNo{0}, {}}, now);
}

void Sequencer::map_clock(const ClockMapped& clock, Time now) {
  note(clock);
  step(core::Tick{}, now);
}

void Sequencer::tick(Time now) { step(core::Tick{}, now); }
void Sequencer::day_boundary(Time now) { step(core::DayBoundary{}, now); }

void Sequencer::note(Note note) {
  names_.apply(note);
  notes_.push_back(std::move(note));
}

void Sequencer::write_notes() {
  for (Note& note : notes_) {
    if (const auto* described = std::get_if<TaskDescribed>(&note)) {
      described->card->begins_waiting = is_waiting(described->card->task);
      keys_.take(*described->card);
    } else if (std::holds_alternative<ArrayNamed>(note)) {
      names_.apply(note);  // not before it is accepted
    }
    scratch_.clear();
    encode_note(scratch_, note);
    const auto at = static_cast<std::uint32_t>(builder_.add_note(scratch_.view()));
    group_->items.push_back({std::move(note), at, static_cast<std::uint32_t>(scratch_.size())});
  }
  notes_.clear();
}

void Sequencer::write(core::Action&& action) {
  builder_.add_action(action);
  ++ordinal_;
  if (const auto* instant = std::get_if<core::Instant>(&action)) {
    decided_at_ = instant->at;
  } else if (const auto* finished = std::get_if<core::TaskFinished>(&action)) {
    keys_.end(finished->task, decided_at_ + options_.remember_ids);
    redescribed_.erase(finished->task);
  } else if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
    const NodeId node =
        batch->gpus.empty() ? batch->node : names_.gpus()[batch->gpus.front().value].spec.node;
    if (!is_greeted(node)) unsent_leases_.insert(batch->lease);
  } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
    if (!is_greeted(names_.gpus()[load->gpu.value].spec.node)) unsent_loads_.insert(load->load);
  }
  group_->items.push_back({std::move(action), 0, 0});
}

bool Sequencer::is_greeted(NodeId node) const {
  return greeted_.contains(names_.nodes()[node.value].agent);
}

void Sequencer::step(core::EventBody body, Time now) {
  now_ = std::max(now_, now);
  core::Event event{now_, std::move(body)};
  actions_.clear();
  early_ = engine_.step(event, actions_);
  // A tick that led to nothing is as if it had not been.
  if (actions_.empty() && notes_.empty() && std::holds_alternative<core::Tick>(event.body)) return;
  for (std::size_t i = 0; i < early_; ++i)
    write(std::move(actions_[i]));
  forget_refused(early_);
  write_notes();
  names_.apply(event);
  builder_.add_event(event);
  ++ordinal_;
  ++next_seq_;
  ++group_events_;
  decided_at_ = now_;
  group_->items.push_back({std::move(event), 0, 0});
  for (std::size_t i = early_; i < actions_.size(); ++i)
    write(std::move(actions_[i]));
  keys_.forget(now_);
}

// Nobody needs the card of a task that was refused; all of a workflow are, or none.
void Sequencer::forget_refused(std::size_t early) {
  if (early >= actions_.size()) return;
  const auto* refused = std::get_if<core::TaskRefused>(&actions_[early]);
  if (refused == nullptr) return;
  std::erase_if(notes_, [&](const Note& note) {
    const auto* again = std::get_if<TaskRedescribed>(&note);
    if (again != nullptr) return again->card->task == refused->task;
    if (const auto* array = std::get_if<ArrayNamed>(&note)) return array->first >= refused->task;
    const auto* described = std::get_if<TaskDescribed>(&note);
    return described != nullptr && described->card->task >= refused->task;
  });
}

// The step's actions have been moved into the group; what this kind holds survives a move.
core::Reason Sequencer::refusal_of(TaskNo task) const {
  for (const core::Action& action : actions_) {
    const auto* refused = std::get_if<core::TaskRefused>(&action);
    if (refused != nullptr && refused->task == task) return refused->reason;
  }
  return {};
}

bool Sequencer::empty() const {
  return builder_.empty() && group_->items.empty() && group_->submits.empty() &&
         group_->controls.empty();
}

std::unique_ptr<Group> Sequencer::seal(journal::Writer reuse) {
  write_notes();  // names that were given before something was refused
  if (!builder_.empty()) {
    group_->bytes =
        builder_.seal({next_seq_ - group_events_, epoch_, core::kBehaviour}, std::move(reuse));
  }
  group_->hash_after = hash_.state();
  group_->last_ordinal = ordinal_;
  group_->next_seq = next_seq_;
  group_events_ = 0;
  auto sealed = std::exchange(group_, std::make_unique<Group>());
  group_->first_ordinal = ordinal_ + 1;
  return sealed;
}

bool Sequencer::is_waiting(TaskNo task) const {
  const core::TaskTable& tasks = engine_.state().tasks;
  const std::uint32_t slot = tasks.slot_of(task);
  return slot != core::kNoSlot && tasks.row(slot).state == core::TaskState::waiting;
}

}  // namespace berth::service
