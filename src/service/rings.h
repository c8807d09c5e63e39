// Rings: the way from any thread to the engine thread. Bounded, in tasks and in bytes: what does
// not fit is refused, never dropped.
//
// Reports are taken before control (cancels, administration), and both before submits, which come
// in small helpings: a flood of submits never delays a completion by more than one helping.
// Questions (why does a task wait, which signals are there) come last, one with each helping: each
// costs the engine a bounded walk, so whoever asks, however often, delays a submit by one of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <variant>
#include <vector>

#include "base/time.h"
#include "berth/v1/agent.pb.h"
#include "service/commands.h"

namespace berth::service {

struct AgentSaid {
  std::uint64_t session = 0;
  v1::AgentMessage message;
};
struct SessionEnded {
  std::uint64_t session = 0;
};
using FromAgent = std::variant<AgentSaid, SessionEnded>;

class Rings {
 public:
  struct Limits {
    std::size_t tasks = 65'536;
    std::size_t task_bytes = 128U << 20;
    std::size_t controls = 65'536;
    std::size_t questions = 1'024;
  };
  explicit Rings(const Limits& most) : most_(most) {}

  // False: full, or closed.
  bool offer(SubmitCommand&& command);
  bool offer(ControlCommand&& command);
  // Reports are bounded by what the agents run, so they always fit.
  void push(AgentSaid&& said);
  void push(SessionEnded&& ended);

  // Whether there is room for them in the open group; there always is for reports.
  struct Room {
    bool controls = true;
    bool submits = true;
  };
  struct Helping {
    std::vector<FromAgent> reports;
    std::vector<ControlCommand> controls;
    std::vector<SubmitCommand> submits;
    std::vector<ControlCommand> questions;
    bool closed = false;  // and empty
  };
  // Waits for something to do: at most `wait`, or until poke.
  Helping take(Duration wait, Room room);

  // Ends a wait: the store is ready for the next group.
  void poke();
  // Nothing is taken in any more.
  void close();
  bool is_closed() const;

  std::size_t waiting_tasks() const;
  std::uint64_t refused() const;

 private:
  static constexpr std::size_t kHelping = 256;  // tasks
  static constexpr std::size_t kUrgentHelping = 4096;
  static constexpr std::size_t kQuestionHelping = 1;

  void push_report(FromAgent&& report);
  void wake();

  const Limits most_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<FromAgent> reports_;
  std::deque<ControlCommand> controls_;
  std::deque<SubmitCommand> submits_;
  std::deque<ControlCommand> questions_;
  std::size_t tasks_ = 0;
  std::size_t task_bytes_ = 0;
  std::uint64_t refused_ = 0;
  bool poked_ = false;
  bool closed_ = false;
  bool told_closed_ = false;
  bool asleep_ = false;
};

}  // namespace berth::service
