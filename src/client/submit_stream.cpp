// See submit_stream.h.
#include "client/submit_stream.h"

#include <algorithm>
#include <utility>

#include "client/request_id.h"

namespace berth::client {

SubmitStream::SubmitStream(v1::Scheduler::Stub& stub, std::unique_ptr<grpc::ClientContext> context,
                           Options options)
    : options_(options), context_(std::move(context)), stream_(stub.SubmitTasks(context_.get())) {
  reader_ = std::thread([this] { read_answers(); });
}

SubmitStream::~SubmitStream() {
  if (!reader_.joinable()) return;
  context_->TryCancel();
  reader_.join();
  stream_->Finish();
}

void SubmitStream::read_answers() {
  v1::SubmitTasksResponse answer;
  while (stream_->Read(&answer)) {
    const std::lock_guard lock(mutex_);
    durable_ = std::max(durable_, answer.durable());
    refusals_.insert(refusals_.end(), answer.refusals().begin(), answer.refusals().end());
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

std::uint64_t SubmitStream::submit(v1::SubmitTaskRequest task) {
  if (task.request_id().empty()) task.set_request_id(make_request_id());
  const auto has_room = [this] { return ended_ || last_ - durable_ < options_.window; };
  std::unique_lock lock(mutex_);
  if (!has_room()) {
    lock.unlock();
    if (!flush()) return 0;
    lock.lock();
    changed_.wait(lock, has_room);
  }
  if (ended_) return 0;
  lock.unlock();
  if (gathered_.tasks().empty()) gathered_.set_sequence(last_ + 1);
  *gathered_.add_tasks() = std::move(task);
  ++last_;
  if (gathered_.tasks_size() >= options_.batch && !flush()) return 0;
  return last_;
}

bool SubmitStream::flush() {
  if (gathered_.tasks().empty()) return true;
  const bool sent = stream_->Write(gathered_);
  gathered_.Clear();
  return sent;
}

Answer<std::uint64_t> SubmitStream::finish() {
  flush();
  stream_->WritesDone();
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, options_.finish_deadline, [this] { return ended_; }))
      context_->TryCancel();
  }
  reader_.join();
  const grpc::Status status = stream_->Finish();
  if (!status.ok()) return failure_of(status);
  if (durable() >= last_) return durable();
  Failure failure;
  failure.code = grpc::StatusCode::DATA_LOSS;
  failure.message = "the server ended the stream before it had acknowledged every task";
  return failure;
}

std::uint64_t SubmitStream::durable() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

std::vector<v1::SubmitRefusal> SubmitStream::take_refusals() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refusals_, {});
}

}  // namespace berth::client
