// See grpc_reactors.h.
#include "api/grpc_reactors.h"

namespace berth::api {

grpc::Status grpc_status_of(const Problem& problem) {
  return {static_cast<grpc::StatusCode>(problem.code), problem.message,
          rpc_status_of(problem).SerializeAsString()};
}

void UnaryCall::fail(const Problem& problem) {
  if (ended_.exchange(true)) return;
  if (problem.retry_after) {
    context_->AddTrailingMetadata("grpc-retry-pushback-ms",
                                  std::to_string(problem.retry_after->ns / 1'000'000));
  }
  Finish(grpc_status_of(problem));
}

SubmitCall::SubmitCall(ApiContext& context, const Caller& caller,
                       std::shared_ptr<SubmitStream> stream)
    : context_(context), submits_(std::move(stream)) {
  submits_->open({
      .ready = [this] { StartRead(&request_); },
      .answer = [this](v1::SubmitTasksResponse&& response) { answer(std::move(response)); },
      .finished =
          [this](std::optional<Problem>&& problem) {
            finish(problem ? grpc_status_of(*problem) : grpc::Status::OK);
          },
  });
  const std::weak_ptr<SubmitStream> weak = submits_;
  auto opened = context_.streams.open(listener_of(caller), 0, [weak, replies = &context_.replies] {
    replies->post([weak] {
      if (auto alive = weak.lock()) alive->end(stopping());
    });
  });
  if (const auto* refused = std::get_if<Problem>(&opened)) {
    submits_->abandon();
    finish(grpc_status_of(*refused));
  } else {
    stream_ = std::get<std::uint64_t>(opened);
    StartRead(&request_);
  }
}

void SubmitCall::OnReadDone(bool ok) {
  if (!ok) {
    submits_->no_more();
  } else if (!request_.is_readable) {
    submits_->end(request_.unreadable());
  } else {
    submits_->take(request_.message);
  }
}

void SubmitCall::answer(v1::SubmitTasksResponse&& response) {
  {
    const std::lock_guard lock(mutex_);
    next_.MergeFrom(response);
    if (std::exchange(busy_, true)) return;
    writing_ = std::exchange(next_, {});
  }
  StartWrite(&writing_);
}

void SubmitCall::OnWriteDone(bool ok) {
  submits_->written(SubmitStream::rows_in(writing_));
  std::optional<grpc::Status> last;
  {
    const std::lock_guard lock(mutex_);
    if (ok && next_.durable() != 0) {
      writing_ = std::exchange(next_, {});
    } else {
      busy_ = false;
      if (!last_ || finished_) return;
      finished_ = true;
      last = last_;
    }
  }
  if (last) return Finish(*last);
  StartWrite(&writing_);
}

void SubmitCall::finish(const grpc::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (!last_) last_ = status;
    if (busy_ || std::exchange(finished_, true)) return;
  }
  Finish(*last_);
}

void SubmitCall::OnCancel() {
  submits_->abandon();
  finish(grpc::Status::CANCELLED);
}

void SubmitCall::OnDone() {
  submits_->abandon();
  context_.streams.close(stream_);
  delete this;
}

}  // namespace berth::api
