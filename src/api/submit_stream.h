// SubmitStream: many submits on one connection. A message is one command; answers are cumulative
// and in order: the highest sequence number up to which everything is decided and on disk, the
// refusals in between, and where the client wants them the ids of what was accepted.
//
// Back-pressure: while the service's ring is full, or too many tasks of this stream wait for their
// answer, or too many lines of answers for their reader, `ready` is not called, and its door must
// not read. Each message is taken only if the
// caller would still be let in. Knows no network.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "api/caller.h"
#include "api/context.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

class SubmitStream : public std::enable_shared_from_this<SubmitStream> {
 public:
  struct Door {
    std::function<void()> ready;                             // the next message may be given
    std::function<void(v1::SubmitTasksResponse&&)> answer;   // in order, one at a time
    std::function<void(std::optional<Problem>&&)> finished;  // nothing follows; once
  };

  SubmitStream(std::shared_ptr<ApiContext> context, Caller caller)
      : shared_context_(std::move(context)),
        context_(*shared_context_),
        caller_(std::move(caller)) {}

  ~SubmitStream();

  // Before the first message. Its functions must not call back into the stream on their thread.
  void open(Door door);

  // Lines of an answer: refusals and ids. The door tells when so many have left.
  static std::size_t rows_in(const v1::SubmitTasksResponse& response) {
    return static_cast<std::size_t>(response.refusals_size()) +
           static_cast<std::size_t>(response.accepted_size());
  }
  void written(std::size_t rows);

  // One message; the next only after `ready`.
  void take(const v1::SubmitTasksRequest& request);
  // No message follows: `finished` comes behind the last answer.
  void no_more();
  // The server stops, or the caller may submit no more: what was taken is answered, then
  // `finished` says why it ends.
  void end(Problem why);
  // The other side is gone: nothing is called any more.
  void abandon();

 private:
  // A message that is not answered yet.
  struct Open {
    std::uint64_t last = 0;
    std::vector<v1::SubmitRefusal> refusals;  // in order
    std::vector<v1::SubmitAcceptance> accepted;
    std::size_t tasks = 0;
    bool decided = false;
  };
  struct Sent;  // where the tasks of a command stood in their message

  void refuse(Open& open, std::uint64_t sequence, const Problem& problem,
              const core::Reason* reason = nullptr);
  void accept(const Sent& sent, std::size_t place, const service::SubmitOutcome& outcome);
  void offer(const std::shared_ptr<Sent>& sent);
  void decided(const Sent& sent, std::span<const service::SubmitOutcome> outcomes);
  void answer_decided();
  void ask_for_more();
  void finish(std::optional<Problem> problem);

  const std::shared_ptr<ApiContext> shared_context_;
  ApiContext& context_;
  const Caller caller_;
  Door door_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Open>> open_;
  std::uint64_t last_sequence_ = 0;
  std::size_t outstanding_ = 0;
  std::size_t unwritten_ = 0;  // lines of answers that the door has and the client has not
  bool offered_ = true;        // what was taken is with the service
  bool waiting_ = false;       // `ready` is owed
  bool no_more_ = false;
  std::optional<Problem> last_word_;
  bool over_ = false;
  std::uint64_t guard_ = 0;
};

}  // namespace berth::api
