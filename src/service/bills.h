// Bills: what each open lease has been charged, task by task, from the actions alone. The core
// keeps its ledger by tenants; this is the second book, by which the first can be audited.
//
// Knows no state of the core but the one it may begin with. What it answers is exact: the same
// integers, whoever adds them up.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/action.h"
#include "core/model/price.h"
#include "core/state/state.h"

namespace berth::service {

// A line for one task: how much more it has cost, or less.
struct Posting {
  TaskNo task;
  TenantId tenant;  // none: not known
  LeaseId lease;
  std::int64_t amount_us = 0;
  std::int64_t charge_us = 0;  // of the whole attempt by now
};

class Bills {
 public:
  Bills() = default;
  // Goes on from here.
  explicit Bills(const core::State& state);

  // What the action charges or gives back; valid until the next one. tenant_of(task): asked about
  // tasks that start.
  template <class TenantOf>
  std::span<const Posting> apply(const core::Action& action, TenantOf tenant_of) {
    postings_.clear();
    if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
      Bill& bill = open(*batch);
      for (Part& part : bill.parts)
        part.tenant = tenant_of(part.task);
      charge(batch->lease, bill, core::first_quantum(batch->expected));
    } else if (const auto* charged = std::get_if<core::LeaseCharged>(&action)) {
      const auto bill = bills_.find(charged->lease);
      if (bill != bills_.end()) charge(bill->first, bill->second, charged->quantum);
    } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
      close(*closed);
    }
    return postings_;
  }

  std::size_t open_leases() const { return bills_.size(); }

 private:
  struct Part {
    TaskNo task;
    TenantId tenant;
    std::int64_t part = 1;
    std::int64_t charged_us = 0;
  };
  struct Bill {
    core::BatchPrice price;
    Duration charged{0};
    std::vector<Part> parts;
  };

  Bill& open(const core::BatchStarted& batch);
  void charge(LeaseId lease, Bill& bill, Duration quantum);
  void close(const core::LeaseClosed& closed);
  void set(LeaseId lease, Part& part, std::int64_t amount_us);

  std::map<LeaseId, Bill> bills_;
  std::vector<Posting> postings_;
};

// Into the tenants' lines, by number: for each tenant what the action means to it as a whole.
// Tenants that have no line yet get one.
void post(std::span<const Posting> postings, std::vector<core::LedgerLine>& lines);

}  // namespace berth::service
