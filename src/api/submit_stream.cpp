// See submit_stream.h.
#include "api/submit_stream.h"

#include <algorithm>
#include <utility>

#include "api/outcomes.h"
#include "api/submit_problem.h"

namespace berth::api {
namespace {

constexpr auto kRetryFullRing = std::chrono::milliseconds(1);

}  // namespace

struct SubmitStream::Sent {
  std::shared_ptr<Open> open;
  bool want_ids = false;
  service::SubmitCommand command;
  std::vector<std::uint64_t> sequences;  // of the command's tasks
  std::vector<service::CardPtr> cards;
  std::vector<std::string> tenants;
};

void SubmitStream::open(Door door) {
  door_ = std::move(door);
  const auto wake = [weak = weak_from_this(), &context = context_] {
    context.replies.post([weak, &context] {
      const std::shared_ptr<SubmitStream> alive = weak.lock();
      if (alive == nullptr) return;
      if (auto problem = context.objection(alive->caller_)) alive->end(std::move(*problem));
    });
  };
  guard_ = context_.guards.add(
      [&context = context_, caller = caller_] { return context.objection(caller); }, wake);
}

SubmitStream::~SubmitStream() {
  if (guard_ != 0) context_.guards.forget(guard_);
}

void SubmitStream::take(const v1::SubmitTasksRequest& request) {
  if (auto problem = context_.objection(caller_)) return end(std::move(*problem));
  const auto open = std::make_shared<Open>();
  const auto sent = std::make_shared<Sent>();
  open->tasks = static_cast<std::size_t>(request.tasks_size());
  sent->open = open;
  sent->want_ids = request.want_ids();
  std::uint64_t sequence = request.sequence();
  if (request.tasks_size() == 0 || sequence <= last_sequence_) {
    const std::lock_guard lock(mutex_);
    return finish(request.tasks_size() == 0
                      ? bad_field("tasks", "is empty")
                      : bad_field("sequence", "must be above " + std::to_string(last_sequence_) +
                                                  ", the last one of this stream"));
  }
  for (const v1::SubmitTaskRequest& one : request.tasks()) {
    auto read = read_submit(context_, caller_, one, "task.");
    if (auto* problem = std::get_if<Problem>(&read)) {
      refuse(*open, sequence, *problem);
    } else {
      auto& task = std::get<service::NewTask>(read);
      sent->sequences.push_back(sequence);
      sent->cards.push_back(task.card);
      sent->tenants.push_back(task.tenant);
      sent->command.tasks.push_back(std::move(task));
    }
    open->last = sequence++;
  }
  last_sequence_ = open->last;
  {
    const std::lock_guard lock(mutex_);
    open_.push_back(open);
    outstanding_ += open->tasks;
    waiting_ = true;
    if (sent->command.tasks.empty()) {
      open->decided = true;
      answer_decided();
      ask_for_more();
      return;
    }
    offered_ = false;
  }
  sent->command.done = [self = shared_from_this(),
                        sent](std::span<const service::SubmitOutcome> given) {
    // Off the release thread: words for refusals are read from the view.
    std::vector<service::SubmitOutcome> outcomes(given.begin(), given.end());
    self->context_.replies.post(
        [self, sent, outcomes = std::move(outcomes)] { self->decided(*sent, outcomes); });
  };
  offer(sent);
}

void SubmitStream::offer(const std::shared_ptr<Sent>& sent) {
  if (context_.service.offer(std::move(sent->command))) {
    const std::lock_guard lock(mutex_);
    offered_ = true;
    ask_for_more();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    const bool give_up = over_ || !context_.serving;
    if (give_up) {
      sent->command = {};
      return finish(stopping());
    }
  }
  context_.replies.after(kRetryFullRing, [self = shared_from_this(), sent] { self->offer(sent); });
}

void SubmitStream::decided(const Sent& sent, std::span<const service::SubmitOutcome> outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (is_good(outcomes[i])) {
      if (sent.want_ids) accept(sent, i, outcomes[i]);
      continue;
    }
    const Problem problem =
        submit_problem(context_, outcomes[i], *sent.cards[i], {sent.tenants[i], sees_all(caller_)});
    refuse(*sent.open, sent.sequences[i], problem, &outcomes[i].reason);
  }
  std::ranges::sort(sent.open->refusals, {}, &v1::SubmitRefusal::sequence);
  const std::lock_guard lock(mutex_);
  sent.open->decided = true;
  answer_decided();
  ask_for_more();
}

void SubmitStream::accept(const Sent& sent, std::size_t place,
                          const service::SubmitOutcome& outcome) {
  v1::SubmitAcceptance& accepted = sent.open->accepted.emplace_back();
  accepted.set_sequence(sent.sequences[place]);
  accepted.set_task_id(accepted_id(*sent.cards[place], outcome.task));
  accepted.set_task_no(outcome.task.value);
  accepted.set_duplicate(outcome.kind == service::SubmitOutcome::Kind::duplicate);
}

void SubmitStream::refuse(Open& open, std::uint64_t sequence, const Problem& problem,
                          const core::Reason* reason) {
  v1::SubmitRefusal refusal;
  refusal.set_sequence(sequence);
  refusal.set_code(static_cast<int>(problem.code));
  refusal.set_message(problem.message);
  if (reason != nullptr && *reason) {
    *refusal.mutable_reason() = context_.service.view().read(
        [&](const service::Board& board) { return reason_message(*reason, board); });
  } else {
    refusal.mutable_reason()->set_code(problem.reason);
    refusal.mutable_reason()->set_message(problem.message);
  }
  open.refusals.push_back(std::move(refusal));
}

void SubmitStream::answer_decided() {
  v1::SubmitTasksResponse response;
  while (!open_.empty() && open_.front()->decided) {
    Open& first = *open_.front();
    response.set_durable(first.last);
    for (v1::SubmitRefusal& refusal : first.refusals)
      *response.add_refusals() = std::move(refusal);
    for (v1::SubmitAcceptance& accepted : first.accepted)
      *response.add_accepted() = std::move(accepted);
    outstanding_ -= first.tasks;
    open_.pop_front();
  }
  if (over_) return;
  unwritten_ += rows_in(response);
  if (response.durable() != 0) door_.answer(std::move(response));
  if (no_more_ && open_.empty()) finish(last_word_);
}

void SubmitStream::finish(std::optional<Problem> problem) {
  if (!std::exchange(over_, true)) door_.finished(std::move(problem));
}

void SubmitStream::ask_for_more() {
  if (!waiting_ || over_ || no_more_ || !offered_ ||
      outstanding_ >= context_.submit_outstanding_max ||
      unwritten_ >= context_.submit_outstanding_max)
    return;
  waiting_ = false;
  door_.ready();
}

void SubmitStream::written(std::size_t rows) {
  const std::lock_guard lock(mutex_);
  unwritten_ -= std::min(rows, unwritten_);
  ask_for_more();
}

void SubmitStream::no_more() {
  const std::lock_guard lock(mutex_);
  no_more_ = true;
  if (open_.empty()) finish(last_word_);
}

void SubmitStream::end(Problem why) {
  const std::lock_guard lock(mutex_);
  last_word_ = std::move(why);
  no_more_ = true;
  if (open_.empty()) finish(last_word_);
}

void SubmitStream::abandon() {
  const std::lock_guard lock(mutex_);
  over_ = true;
}

}  // namespace berth::api
