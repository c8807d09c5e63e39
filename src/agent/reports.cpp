// Numbering, keeping and sending again.
#include "agent/reports.h"

namespace berth::agent {

void Reports::add(berth::v1::Report&& report) {
  report.set_incarnation(incarnation_);
  report.set_seq(++last_);
  kept_.push_back(std::move(report));
  if (welcomed_) send(kept_.back());
}

void Reports::acknowledge(std::uint64_t seq) {
  if (seq > last_) return;
  while (!kept_.empty() && kept_.front().seq() <= seq) {
    forget_(kept_.front());
    kept_.pop_front();
  }
}

void Reports::welcome(std::uint64_t acknowledged) {
  welcomed_ = true;
  acknowledge(acknowledged);
  for (const berth::v1::Report& report : kept_) {
    send(report);
  }
}

void Reports::send(const berth::v1::Report& report) {
  berth::v1::AgentMessage message;
  *message.mutable_report() = report;
  send_(std::move(message));
}

}  // namespace berth::agent
