// Reports: what the agent has told the server and may have to tell again.
//
// Numbered from 1 in each incarnation, without gaps; kept until acknowledged. Before the server's
// Welcome nothing is sent: what is reported by then goes out with it. One thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "base/time.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

class Reports {
 public:
  using Send = std::function<void(berth::v1::AgentMessage&&)>;
  using Forget = std::function<void(const berth::v1::Report&)>;

  // `forget` is told of each report that the server has made durable.
  Reports(std::uint64_t incarnation, Send send, Forget forget)
      : incarnation_(incarnation), send_(std::move(send)), forget_(std::move(forget)) {}

  // Takes a report with its body set. `ended`: when the lease did whose end it tells, since the
  // boot; how long ago that was is told each time it is sent.
  void add(berth::v1::Report&& report, Time ended = Time::never());

  // Reports up to `seq` are durable. A number that was never given is not believed: it belongs to
  // another incarnation.
  void acknowledge(std::uint64_t seq);

  // A new session: everything that is not acknowledged is told again.
  void welcome(std::uint64_t acknowledged);

  std::uint64_t last() const { return last_; }
  std::size_t kept() const { return kept_.size(); }

 private:
  struct Kept {
    berth::v1::Report report;
    Time ended;
  };
  void send(const Kept& kept);

  std::uint64_t incarnation_;
  Send send_;
  Forget forget_;
  std::uint64_t last_ = 0;
  bool welcomed_ = false;
  std::deque<Kept> kept_;
};

}  // namespace berth::agent
