// Submit: a task, an array, a workflow. Streams of tasks are in submit_stream.h.
#include <algorithm>
#include <iterator>

#include "api/handlers.h"
#include "api/outcomes.h"
#include "api/submit_problem.h"
#include "api/submit_stream.h"
#include "api/task_array.h"
#include "journal/running_hash.h"

namespace berth::api {
namespace {

using service::SubmitOutcome;

std::uint64_t hash_of(const std::vector<std::uint64_t>& numbers) {
  return journal::hash_bytes(std::as_bytes(std::span(numbers)));
}

// A workflow is the same again only as a whole: each task's digest covers all of them.
void mix_digests(std::vector<service::NewTask>& tasks) {
  std::vector<std::uint64_t> all;
  for (const service::NewTask& task : tasks)
    all.push_back(task.card->digest);
  const std::uint64_t whole = hash_of(all);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].card->digest = hash_of({whole, i});
}

// What is wrong with a workflow, and with which of its tasks, where one is to blame.
Problem workflow_problem(const ApiContext& context, const SubmitOutcome& outcome,
                         const std::vector<service::CardPtr>& cards, const Submitter& submitter) {
  Problem problem = submit_problem(context, outcome, *cards[outcome.place], submitter);
  const auto named = [&](std::size_t place) {
    const std::string& id = cards[place]->id;
    return "tasks[" + std::to_string(place) + "]" + (id.empty() ? "" : " (\"" + id + "\")");
  };
  if (outcome.kind != SubmitOutcome::Kind::refused) {
    problem.message = named(outcome.place) + ": " + problem.message;
    return problem;
  }
  // The core names a task by a number that nobody else has seen.
  const core::ReasonInfo& info = core::info_of(outcome.reason.code);
  const std::uint64_t place = outcome.reason.subject - outcome.task.value;
  if (info.subject == "task" && place < cards.size()) {
    problem.message = named(place) + ": " + std::string(info.sentence);
    problem.metadata["subject"] = cards[place]->id;
  }
  return problem;
}

}  // namespace

void Handlers::submit_task(const Caller& caller, const v1::SubmitTaskRequest& request,
                           Reply<v1::SubmitTaskResponse> reply) {
  if (is_array(request.task())) return submit_array(caller, request, std::move(reply));
  auto read = read_submit(context_, caller, request, "task.");
  if (auto* problem = std::get_if<Problem>(&read)) return reply(std::move(*problem));
  service::SubmitCommand command;
  command.tasks.push_back(std::move(std::get<service::NewTask>(read)));
  const service::CardPtr card = command.tasks[0].card;
  const Submitter submitter{command.tasks[0].tenant, sees_all(caller)};
  command.done = [self = shared_from_this(), card, submitter, reply,
                  came =
                      std::chrono::steady_clock::now()](std::span<const SubmitOutcome> outcomes) {
    self->context_.submit_latency.add(
        {std::chrono::nanoseconds(std::chrono::steady_clock::now() - came).count()});
    self->context_.replies.post([self, card, submitter, reply, outcome = outcomes[0]] {
      if (!is_good(outcome))
        return reply(submit_problem(self->context_, outcome, *card, submitter));
      v1::SubmitTaskResponse response;
      response.set_task_id(accepted_id(*card, outcome.task));
      response.set_task_no(outcome.task.value);
      response.set_duplicate(outcome.kind == SubmitOutcome::Kind::duplicate);
      reply(std::move(response));
    });
  };
  if (!context_.service.offer(std::move(command))) reply(not_taken(context_));
}

// The array's answer is its first task's, with how many there are.
void Handlers::submit_array(const Caller& caller, const v1::SubmitTaskRequest& request,
                            Reply<v1::SubmitTaskResponse> reply) {
  auto tasks = tasks_of_array(request.task(), "task.", kWorkflowMax);
  if (auto* flaws = std::get_if<1>(&tasks)) return reply(bad_request(std::move(*flaws)));
  std::vector<SpecAt> specs;
  for (v1::TaskSpec& task : std::get<0>(tasks))
    specs.push_back({std::move(task), "task.", request.task().array().indices()});
  submit_all(caller, specs, request.request_id(),
             [id = request.task().task_id(),
              reply = std::move(reply)](Answer<v1::SubmitWorkflowResponse>&& answer) {
               if (auto* problem = std::get_if<Problem>(&answer)) return reply(std::move(*problem));
               const auto& all = std::get<v1::SubmitWorkflowResponse>(answer);
               v1::SubmitTaskResponse response;
               response.set_task_id(id);
               response.set_task_no(all.task_nos(0));
               response.set_duplicate(all.duplicate());
               response.set_tasks(static_cast<std::uint32_t>(all.task_nos_size()));
               reply(std::move(response));
             });
}

void Handlers::submit_workflow(const Caller& caller, const v1::SubmitWorkflowRequest& request,
                               Reply<v1::SubmitWorkflowResponse> reply) {
  if (request.tasks().empty()) return reply(bad_field("tasks", "is empty"));
  std::vector<SpecAt> specs;
  std::vector<FieldFlaw> flaws;
  for (int i = 0; i < request.tasks_size(); ++i) {
    const std::string path = "tasks[" + std::to_string(i) + "].";
    if (!is_array(request.tasks(i))) {
      specs.push_back({request.tasks(i), path, {}});
      continue;
    }
    auto tasks = tasks_of_array(request.tasks(i), path, kWorkflowMax);
    if (auto* wrong = std::get_if<1>(&tasks)) {
      std::ranges::move(*wrong, std::back_inserter(flaws));
      continue;
    }
    for (v1::TaskSpec& task : std::get<0>(tasks))
      specs.push_back({std::move(task), path, request.tasks(i).array().indices()});
  }
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  submit_all(caller, specs, request.request_id(), std::move(reply));
}

void Handlers::submit_all(const Caller& caller, const std::vector<SpecAt>& specs,
                          const std::string& request_id, Reply<v1::SubmitWorkflowResponse> reply) {
  if (specs.size() > kWorkflowMax) {
    return reply(bad_field("tasks", "there are " + std::to_string(specs.size()) +
                                        "; the limit is " + std::to_string(kWorkflowMax)));
  }
  service::SubmitCommand command;
  command.workflow = true;
  std::vector<FieldFlaw> flaws;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    // The request's id names the whole; the first task carries it.
    const std::string id = i == 0 ? request_id : std::string();
    auto read = read_spec(context_, caller, specs[i].spec, id, specs[i].path);
    if (auto* task = std::get_if<service::NewTask>(&read)) {
      task->indices = specs[i].indices;
      command.tasks.push_back(std::move(*task));
      continue;
    }
    auto& problem = std::get<Problem>(read);
    if (problem.fields.empty()) return reply(std::move(problem));
    // The tasks of an array have the same flaws; once is enough.
    for (FieldFlaw& flaw : problem.fields) {
      if (std::ranges::count(flaws, flaw) == 0) flaws.push_back(std::move(flaw));
    }
  }
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  for (std::size_t i = 1; i < command.tasks.size(); ++i) {
    if (command.tasks[i].tenant != command.tasks[0].tenant) {
      return reply(
          bad_field(specs[i].path + "user_id", "the tasks of a workflow belong to one tenant"));
    }
  }
  mix_digests(command.tasks);
  command.tasks[0].card->workflow = !request_id.empty();
  std::vector<service::CardPtr> cards;
  for (const service::NewTask& task : command.tasks)
    cards.push_back(task.card);
  command.done = [self = shared_from_this(), cards = std::move(cards),
                  submitter = Submitter{command.tasks[0].tenant, sees_all(caller)},
                  reply](std::span<const SubmitOutcome> given) {
    std::vector<SubmitOutcome> outcomes(given.begin(), given.end());
    self->context_.replies.post([self, cards, submitter, reply, outcomes = std::move(outcomes)] {
      v1::SubmitWorkflowResponse response;
      for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (!is_good(outcomes[i])) {
          return reply(workflow_problem(self->context_, outcomes[i], cards, submitter));
        }
        response.add_task_ids(accepted_id(*cards[i], outcomes[i].task));
        response.add_task_nos(outcomes[i].task.value);
        response.set_duplicate(outcomes[i].kind == SubmitOutcome::Kind::duplicate);
      }
      reply(std::move(response));
    });
  };
  if (!context_.service.offer(std::move(command))) reply(not_taken(context_));
}

std::shared_ptr<SubmitStream> Handlers::submit_tasks(const Caller& caller) {
  return std::make_shared<SubmitStream>(shared_context_, caller);
}

}  // namespace berth::api
