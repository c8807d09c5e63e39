// See projector.h.
#include "service/projector.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/v1/task.pb.h"
#include "service/named_thread.h"
#include "service/reason_text.h"

namespace berth::service {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

// "": it was stopped on request, or never ran.
std::string failure_name(const v1::TaskResult& result) {
  switch (result.failure()) {
    case v1::ERROR:
      return "error";
    case v1::OUT_OF_MEMORY:
      return "out_of_memory";
    case v1::TIMEOUT:
      return "timeout";
    case v1::CRASH:
      return "crash";
    case v1::INFRASTRUCTURE:
      return "infrastructure";
    case v1::DEADLINE:
      return "deadline";
    default:
      return "";
  }
}

store::EndedAttempt ended_attempt(const AttemptLine& from, const Names& names,
                                  const v1::TaskResult& result) {
  store::EndedAttempt attempt;
  attempt.number = from.number;
  attempt.lease = from.lease.value;
  for (const GpuId gpu : from.gpus)
    attempt.gpus.push_back(names.gpus()[gpu.value].name);
  attempt.started_ns = from.started.ns;
  attempt.ended_ns = from.ended.ns;
  attempt.charge_us = from.charge_us;
  if (!from.result.empty()) {
    attempt.outcome = result.completed() ? "completed" : failure_name(result);
    if (attempt.outcome.empty()) attempt.outcome = "stopped";
    attempt.exit_status = result.exit_status();
  }
  return attempt;
}

}  // namespace

store::EndedTask ended_task(const TaskLine& line, const Board& board, const std::string& spec,
                            Duration default_ttl) {
  const TaskCard& card = *line.card;
  const Names& names = board.names();
  store::EndedTask task;
  task.task_no = card.task.value;
  task.task_id = id_of(card);
  task.tenant = names.tenants()[card.tenant.value].name;
  task.queue = names.queues()[card.queue.value].name;
  task.group = card.group_name;
  task.state = core::name_of(line.state);
  const ReasonWords words = words_of(line.reason, board, {card.task, card.tenant});
  task.reason = {words.code, line.reason.need, line.reason.have,
                 words.unit, words.subject,    words.message};
  task.tier = card.tier;
  task.priority = card.priority;
  task.vram_mb = card.vram.value;
  task.gpus = card.gpus;
  task.share = static_cast<std::uint32_t>(card.share.value);
  task.submitted_ns = card.submitted.ns;
  task.eligible_ns = line.eligible.ns;
  task.ended_ns = line.ended.ns;
  task.labels = {card.labels.begin(), card.labels.end()};
  v1::TaskResult result;
  for (const AttemptLine& attempt : line.attempts) {
    result.Clear();
    result.ParseFromString(attempt.result);
    task.attempts.push_back(ended_attempt(attempt, names, result));
    task.charge_us += attempt.charge_us;
    task.started_ns = attempt.started.ns;
  }
  const std::int64_t first_start =
      line.attempts.empty() ? line.ended.ns : line.attempts.front().started.ns;
  task.wait_ns = std::max<std::int64_t>(0, first_start - card.submitted.ns);
  task.outcome = {result.completed(),   failure_name(result), result.exit_status(),
                  result.term_signal(), result.message(),     result.simulated()};
  if (result.completed()) task.outcome.failure.clear();
  const Duration ttl = card.result_ttl.ns > 0 ? card.result_ttl : default_ttl;
  task.expires_ns = ttl.ns > 0 ? (line.ended + ttl).ns : 0;
  task.spec = bytes_of(spec);
  task.result = bytes_of(result.result());
  return task;
}

std::vector<std::string> read_specs(std::span<const TaskLine> lines, const ReadSpec& read,
                                    const std::function<void(const std::string&)>& log) {
  std::vector<std::string> specs;
  specs.reserve(lines.size());
  for (const TaskLine& line : lines) {
    Result<std::string> spec = read(*line.card);
    if (!spec) {
      log("the spec of task " + id_of(*line.card) + " cannot be read: " + spec.error().message +
          "; the history keeps the task without it");
    }
    specs.push_back(spec ? std::move(*spec) : std::string());
  }
  return specs;
}

Projector::Projector(ProjectorOptions options, std::unique_ptr<store::HistoryWriter> writer,
                     View& view)
    : options_(std::move(options)),
      writer_(std::move(writer)),
      view_(view),
      projected_(writer_->durable_projected()) {}

Projector::~Projector() { stop(); }

void Projector::start() {
  thread_ = background_thread("berth-history", [this] { run(); });
}

void Projector::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    news_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Projector::wait_no_more() {
  const std::lock_guard lock(mutex_);
  no_waiting_ = true;
  room_.notify_all();
}

void Projector::add(Ended&& ended, std::uint64_t ordinal) {
  std::unique_lock lock(mutex_);
  if (thread_.joinable()) {
    room_.wait(lock, [&] { return stopping_ || no_waiting_ || queue_.tasks.size() < kMostQueued; });
  }
  queued_upto_ = ordinal;
  if (ended.empty()) return;
  lag_ += ended.tasks.size();
  const bool was_empty = queue_.empty();
  append(queue_, std::move(ended));
  if (was_empty) news_.notify_one();
}

void Projector::run() {
  using namespace std::chrono_literals;
  Ended ended;  // what is at hand
  if (Status indexed = writer_->index_ids(); !indexed) {
    options_.log("the history's index of task ids cannot be made: " + indexed.error().message +
                 "; tasks that ended long ago are found slowly by their own ids");
  }
  std::unique_lock lock(mutex_);
  while (true) {
    // The pause lets rows gather: a transaction costs as much for one as for a thousand.
    news_.wait_for(lock, 1s, [&] { return stopping_ || (!failing_ && !queue_.empty()); });
    if (!stopping_ && queue_.tasks.size() < kMostPerWrite)
      news_.wait_for(lock, 20ms, [&] { return stopping_; });
    if (ended.empty()) ended = std::exchange(queue_, {});
    const bool all = queue_.empty();
    const std::uint64_t upto = all ? queued_upto_ : writer_->projected();
    const bool last = stopping_;
    lock.unlock();
    room_.notify_all();
    write(ended, upto);
    if (!failing_) tidy();
    lock.lock();
    if (last && (failing_ || (ended.empty() && queue_.empty()))) return;
  }
}

void Projector::write(Ended& ended, std::uint64_t upto) {
  const std::size_t written = write_tasks(ended, upto);
  ended.tasks.erase(ended.tasks.begin(),
                    ended.tasks.begin() + static_cast<std::ptrdiff_t>(written));
  if (ended.tasks.empty() && !failing_) ended.settled.clear();
  lag_ -= written;
}

// What was settled goes with the last of the tasks: all that it is about have a row then.
std::size_t Projector::write_tasks(Ended& ended, std::uint64_t upto) {
  const std::span<TaskLine> lines = ended.tasks;
  std::size_t done = 0;
  do {
    const std::size_t count = std::min(kMostPerWrite, lines.size() - done);
    const bool all = done + count == lines.size();
    if (count == 0 && ended.settled.empty() && writer_->projected() >= upto) break;
    const std::span<const store::SettledCharge> settled = ended.settled;
    const Status written =
        write_some(lines.subspan(done, count), all ? upto : 0, all ? settled : settled.first(0));
    if (!written) {
      ++failures_;
      if (!std::exchange(failing_, true)) {
        options_.log("the history cannot be written: " + written.error().message +
                     "; ended tasks stay in memory until it can");
      }
      return done;
    }
    failing_ = false;
    done += count;
  } while (done < lines.size());
  return done;
}

Status Projector::write_some(std::span<TaskLine> lines, std::uint64_t upto,
                             std::span<const store::SettledCharge> settled) {
  std::vector<std::string> specs = read_specs(lines, options_.read_spec, options_.log);
  std::vector<store::EndedTask> rows;
  rows.reserve(lines.size());
  while (rows.size() < lines.size()) {
    view_.read([&](const Board& board) {
      const std::size_t end = std::min(lines.size(), rows.size() + kMostPerLock);
      for (std::size_t i = rows.size(); i < end; ++i) {
        const std::string spec = std::move(specs[i]);  // held once: from here on in the row
        rows.push_back(ended_task(lines[i], board, spec, options_.result_ttl));
      }
    });
  }
  if (Status written = writer_->add(rows, upto, settled); !written) return written;
  std::vector<TaskNo> done;
  for (const TaskLine& line : lines)
    done.push_back(line.card->task);
  view_.forget_ended(done);
  return Done{};
}

void Projector::tidy() {
  const std::int64_t now = options_.clock().ns;
  if (Result<std::size_t> pruned = writer_->prune(now); !pruned)
    options_.log(pruned.error().message);
  if (options_.retention.ns > 0) {
    Result<std::size_t> removed = writer_->remove_ended(now - options_.retention.ns);
    if (!removed) options_.log(removed.error().message);
  }
  if (Result<bool> done = writer_->checkpoint(); !done) options_.log(done.error().message);
  projected_ = writer_->durable_projected();
}

}  // namespace berth::service
