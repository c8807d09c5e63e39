// Numbering, keeping and sending again.
#include "agent/reports.h"

#include <algorithm>

#include "agent/wall_clock.h"

namespace berth::agent {

void Reports::add(berth::v1::Report&& report, Time ended) {
  report.set_incarnation(incarnation_);
  report.set_seq(++last_);
  kept_.push_back({std::move(report), ended});
  if (welcomed_) send(kept_.back());
}

void Reports::acknowledge(std::uint64_t seq) {
  if (seq > last_) return;
  while (!kept_.empty() && kept_.front().report.seq() <= seq) {
    forget_(kept_.front().report);
    kept_.pop_front();
  }
}

void Reports::welcome(std::uint64_t acknowledged) {
  welcomed_ = true;
  acknowledge(acknowledged);
  for (const Kept& kept : kept_) {
    send(kept);
  }
}

void Reports::send(const Kept& kept) {
  berth::v1::AgentMessage message;
  *message.mutable_report() = kept.report;
  if (kept.ended != Time::never()) {
    const Duration ago = std::max(since_boot() - kept.ended, Duration{0});
    berth::v1::Report& report = *message.mutable_report();
    const std::int64_t ago_ms = ago.ns / 1'000'000;
    if (report.has_lease_ended()) report.mutable_lease_ended()->set_ended_ago_ms(ago_ms);
    if (report.has_task_ended()) report.mutable_task_ended()->set_ended_ago_ms(ago_ms);
  }
  send_(std::move(message));
}

}  // namespace berth::agent
