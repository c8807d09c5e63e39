// LogSource: the output of one attempt of a task, as its agent sends it. The agent sends a window,
// and more when the reader has taken what came: so one that does not read holds one window here,
// and the rest stays in its file. One that follows a task that has not started waits for its first
// attempt.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "api/context.h"
#include "api/source.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

class LogSource : public Source<v1::LogChunk> {
 public:
  LogSource(ApiContext& context, const v1::TaskStatus& status,
            const v1::GetTaskLogsRequest& request);
  ~LogSource() override;

  void wake_with(std::function<void()> wake) override;
  Piece<v1::LogChunk> pull() override;

 private:
  // Shared with the agent's thread, which may outlive the reader.
  struct Buffer {
    std::mutex mutex;
    std::function<void()> wake;
    std::deque<v1::LogChunk> chunks;
    std::uint64_t bytes = 0;  // that came since the last pull, wanted or not
    bool ended = false;
    bool closed = false;
    std::optional<Problem> problem;
  };
  static void wake(Buffer& buffer);
  static bool take(Buffer& buffer, const v1::LogData& data, bool out, bool err);
  static bool put(Buffer& buffer, const v1::LogData& data, bool out, bool err);
  void open(std::uint32_t attempt, bool follow);
  void open_if_started();

  ApiContext& context_;
  const TaskNo task_;
  const v1::GetTaskLogsRequest request_;
  const std::uint32_t attempt_;  // 0: none has started
  std::shared_ptr<Buffer> buffer_ = std::make_shared<Buffer>();
  std::uint64_t log_ = 0;
  std::uint64_t news_ = 0;  // subscription to the feed, while it waits
};

}  // namespace berth::api
