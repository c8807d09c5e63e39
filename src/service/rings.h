// Rings: the way from any thread to the engine thread. Bounded: what does not fit is refused, never
// dropped.
//
// Control (reports, cancels, administration) is taken before submits, and submits in small
// helpings, so a flood of submits never delays a completion by more than one helping.
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
using Urgent = std::variant<ControlCommand, AgentSaid, SessionEnded>;

class Rings {
 public:
  Rings(std::size_t most_tasks, std::size_t most_controls)
      : most_tasks_(most_tasks), most_controls_(most_controls) {}

  // False: full, or closed.
  bool offer(SubmitCommand&& command);
  bool offer(ControlCommand&& command);
  // Reports are bounded by what the agents run, so they always fit.
  void push(AgentSaid&& said);
  void push(SessionEnded&& ended);

  struct Helping {
    std::vector<Urgent> urgent;
    std::vector<SubmitCommand> submits;
    bool closed = false;  // and empty
  };
  // Waits for something to do: at most `wait`, or until poke. `submits`: whether there is room for
  // them in the open group.
  Helping take(Duration wait, bool submits);

  // Ends a wait: the store is ready for the next group.
  void poke();
  // Nothing is taken in any more.
  void close();

  std::size_t waiting_tasks() const;
  std::uint64_t refused() const;

 private:
  static constexpr std::size_t kHelping = 256;  // tasks
  static constexpr std::size_t kUrgentHelping = 4096;

  void push_urgent(Urgent&& urgent);

  const std::size_t most_tasks_;
  const std::size_t most_controls_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Urgent> urgent_;
  std::deque<SubmitCommand> submits_;
  std::size_t tasks_ = 0;
  std::uint64_t refused_ = 0;
  bool poked_ = false;
  bool closed_ = false;
  bool asleep_ = false;
};

}  // namespace berth::service
