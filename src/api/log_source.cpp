// See log_source.h.
#include "api/log_source.h"

#include <utility>

namespace berth::api {
namespace {

constexpr std::uint64_t kWindow = kStreamPieceBytes;
constexpr std::uint32_t kErrors = 2;  // LogData.stream

}  // namespace

LogSource::LogSource(ApiContext& context, const v1::TaskStatus& status,
                     const v1::GetTaskLogsRequest& request)
    : context_(context),
      task_{status.task_no()},
      request_(request),
      attempt_(request.attempt() != 0 ? request.attempt() : status.attempts()) {}

LogSource::~LogSource() {
  if (log_ != 0) context_.service.close_log(log_);
  if (news_ != 0) context_.service.feed().forget(news_);
  const std::lock_guard lock(buffer_->mutex);
  buffer_->closed = true;
  buffer_->wake = nullptr;
}

void LogSource::wake_with(std::function<void()> wake) {
  {
    const std::lock_guard lock(buffer_->mutex);
    buffer_->wake = std::move(wake);
  }
  open_if_started();
}

// One that is no longer live has ended, with an attempt or without: its agent knows.
void LogSource::open_if_started() {
  if (attempt_ == 0 && news_ == 0) {  // before the look, so that no start is missed
    news_ = context_.service.feed().wake_on_news([buffer = buffer_] { wake(*buffer); });
  }
  bool live = false;
  std::uint32_t attempt = attempt_;
  context_.service.view().read([&](const service::Board& board) {
    const service::TaskLine* line = board.tasks().find(task_);
    live = line != nullptr;
    if (attempt == 0 && live && !line->attempts.empty()) attempt = line->attempts.back().number;
  });
  if (attempt != 0 || !live) open(attempt, request_.follow() && live);
}

void LogSource::open(std::uint32_t attempt, bool follow) {
  if (news_ != 0) context_.service.feed().forget(std::exchange(news_, 0));
  log_ = context_.service.open_log(
      {.task = task_, .attempt = attempt, .follow = follow, .window = kWindow},
      [buffer = buffer_, out = !request_.stderr_only(), err = !request_.stdout_only()](
          const v1::LogData& data) { return take(*buffer, data, out, err); });
}

// Outside the lock: the call may be the last to know its stream, which then ends this source.
void LogSource::wake(Buffer& buffer) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(buffer.mutex);
    wake = buffer.wake;
  }
  if (wake) wake();
}

bool LogSource::take(Buffer& buffer, const v1::LogData& data, bool out, bool err) {
  const bool goes_on = put(buffer, data, out, err);
  wake(buffer);
  return goes_on;
}

bool LogSource::put(Buffer& buffer, const v1::LogData& data, bool out, bool err) {
  const std::lock_guard lock(buffer.mutex);
  if (buffer.closed || buffer.ended) return false;
  const bool is_error = data.stream() == kErrors;
  if ((is_error ? err : out) && (!data.data().empty() || data.truncated())) {
    v1::LogChunk& chunk = buffer.chunks.emplace_back();
    chunk.set_stream(is_error ? v1::LogChunk::STDERR : v1::LogChunk::STDOUT);
    chunk.set_data(data.data());
    chunk.set_truncated(data.truncated());
  }
  buffer.bytes += data.data().size();
  if (!data.error().empty()) {
    buffer.problem =
        Problem{.code = Code::not_found, .reason = "no_output", .message = data.error()};
  }
  buffer.ended = data.end() || buffer.problem;
  return !buffer.ended;
}

Piece<v1::LogChunk> LogSource::pull() {
  if (log_ == 0) open_if_started();
  Piece<v1::LogChunk> piece;
  std::uint64_t taken = 0;
  {
    const std::lock_guard lock(buffer_->mutex);
    for (v1::LogChunk& chunk : buffer_->chunks)
      piece.messages.push_back(std::move(chunk));
    buffer_->chunks.clear();
    taken = std::exchange(buffer_->bytes, 0);
    piece.ended = buffer_->ended;
    piece.problem = std::exchange(buffer_->problem, std::nullopt);
  }
  if (taken > 0 && !piece.ended) context_.service.more_log(log_, taken);
  return piece;
}

}  // namespace berth::api
