// See watch.h.
#include "cli/watch.h"

#include <algorithm>
#include <array>
#include <thread>

#include "cli/task_end.h"
#include "cli/task_filter.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

using namespace std::chrono_literals;
using client::Clock;
using client::Next;

constexpr auto kGlance = 1s;    // between two looks at the status while no event comes
constexpr auto kPause = 200ms;  // before asking again where asking failed
constexpr auto kAwayMax = 60s;  // how long a server may be away

// Whether waiting may help.
bool passes(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

}  // namespace

std::string words_of(const TaskName& name) {
  return " " + shell_word(name.id) +
         (name.tenant.empty() ? "" : " --tenant " + shell_word(name.tenant));
}

Watch::Watch(Session& session, TaskName name, client::Clock::time_point until)
    : session_(session), name_(std::move(name)), until_(until) {
  const std::string words = words_of(name_);
  on_leaving_ = "the task goes on. See it again:\n  berth status" + words + "\n  berth logs" +
                words + " --follow\nor end it: berth cancel" + words;
}

void Watch::detach() {
  session_.say("\ndetached; " + on_leaving_);
  code_ = kDetached;
}

bool Watch::bears(const client::Failure& failure, const std::string& what) {
  const auto now = Clock::now();
  if (session_.interrupted()) {
    detach();
  } else if (now >= until_) {
    code_ = complain(session_.console(),
                     "task " + name_.id + " did not end within --timeout; it goes on\nnext: " +
                         "berth status" + words_of(name_),
                     kTimedOut);
  } else if (!passes(failure.code) || (away_since_ && now - *away_since_ > kAwayMax)) {
    code_ = session_.fail(what, failure);
  } else {
    if (!away_since_) session_.say("the server is away or busy; waiting for it");
    if (!away_since_) away_since_ = now;
    pause(kPause);
    return true;
  }
  return false;
}

void Watch::pause(std::chrono::milliseconds length) const {
  const auto end = std::min(until_, Clock::now() + length);
  while (Clock::now() < end && !session_.interrupted())
    std::this_thread::sleep_for(10ms);
}

std::optional<v1::TaskStatus> Watch::wait_until(
    const std::function<bool(const v1::TaskStatus&)>& enough) {
  v1::GetTaskStatusRequest status_request;
  status_request.set_task_id(name_.id);
  status_request.set_user_id(name_.tenant);
  v1::TaskEventsRequest events_request;
  events_request.mutable_filter()->add_task_ids(name_.id);
  events_request.mutable_filter()->set_user_id(name_.tenant);
  events_request.set_follow(true);

  std::unique_ptr<client::Client::EventStream> events;
  for (;;) {
    if (!events) events = session_.client().events(events_request);
    auto task = session_.client().task_status(status_request);
    if (!task) {
      if (!bears(task.failure(), "watch task " + name_.id)) return std::nullopt;
      events.reset();
      continue;
    }
    away_since_.reset();
    if (enough(*task)) return std::move(*task);
    const std::string state = state_cell_of(*task).text;
    if (session_.console().err_is_terminal && state != said_) {
      said_ = state;
      const std::string why = reason_text(*task);
      session_.say(said_ + (why.empty() ? "" : ": " + harmless(why)));
    }
    const Next next = events->next(std::min(until_, Clock::now() + kGlance));
    if (session_.interrupted() || Clock::now() >= until_) {
      bears({}, "");
      return std::nullopt;
    }
    if (next == Next::ended) {
      events.reset();
      pause(kPause);
    }
  }
}

void print_chunk(const Session& session, const v1::LogChunk& chunk, std::string_view data,
                 bool errors_to_out) {
  if (session.as_document()) {
    session.print_document(chunk, true);
  } else {
    const bool to_err = chunk.stream() == v1::LogChunk::STDERR && !errors_to_out;
    (to_err ? session.console().err : session.console().out) << data << std::flush;
  }
  if (chunk.truncated()) session.say("berth: the output passed its limit and was cut here");
}

bool Watch::print_output(std::uint32_t attempt, bool follow) {
  v1::GetTaskLogsRequest request;
  request.set_task_id(name_.id);
  request.set_user_id(name_.tenant);
  request.set_attempt(attempt);
  request.set_follow(follow);
  std::array<std::size_t, 2> printed{};  // bytes of each stream, over all tries
  for (;;) {
    std::array<std::size_t, 2> seen{};
    const auto stream = session_.client().logs(request, until_);
    while (stream->next() == Next::message) {
      const v1::LogChunk& chunk = stream->message();
      const std::size_t which = chunk.stream() == v1::LogChunk::STDERR ? 1 : 0;
      const std::size_t known =
          std::min(printed[which] - std::min(seen[which], printed[which]), chunk.data().size());
      seen[which] += chunk.data().size();
      if (known == chunk.data().size() && known > 0) continue;
      print_chunk(session_, chunk, std::string_view(chunk.data()).substr(known), false);
      printed[which] = seen[which];
      away_since_.reset();
    }
    const auto failure = stream->failure();
    if (!failure || failure->code == grpc::StatusCode::NOT_FOUND) return true;
    if (!bears(*failure, "read the output of task " + name_.id)) return false;
  }
}

std::optional<v1::TaskStatus> Watch::follow_to_end() {
  std::uint32_t followed = 0;
  for (;;) {
    auto task = wait_until([&](const v1::TaskStatus& now) {
      return is_settled(now) || (now.state() == v1::RUNNING && now.attempts() > followed);
    });
    if (!task) return std::nullopt;
    if (task->attempts() <= followed) return task;
    while (followed < task->attempts()) {  // short ones may have passed unseen
      ++followed;
      if (!print_output(followed, followed == task->attempts())) return std::nullopt;
    }
  }
}

}  // namespace berth::cli
