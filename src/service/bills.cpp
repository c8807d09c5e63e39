// See bills.h.
#include "service/bills.h"

#include <algorithm>

namespace berth::service {

Bills::Bills(const core::State& state) {
  for (const core::Lease& lease : state.leases) {
    if (!lease.id) continue;
    Bill& bill = bills_[lease.id];
    bill.price = {lease.rate, lease.load_us, lease.parts};
    bill.charged = lease.charged;
    for (const core::LeaseTask& task : lease.tasks)
      bill.parts.push_back({task.task, task.tenant, task.part, task.charged_us});
  }
}

Bills::Bill& Bills::open(const core::BatchStarted& batch) {
  Bill& bill = bills_[batch.lease];
  bill = {{batch.rate, batch.load_us, 0}, Duration{0}, {}};
  for (const core::StartedTask& task : batch.tasks) {
    bill.price.parts += task.part;
    bill.parts.push_back({task.task, TenantId::none(), task.part, 0});
  }
  return bill;
}

void Bills::set(LeaseId lease, Part& part, std::int64_t amount_us) {
  postings_.push_back({part.task, part.tenant, lease, amount_us - part.charged_us, amount_us});
  part.charged_us = amount_us;
}

void Bills::charge(LeaseId lease, Bill& bill, Duration quantum) {
  bill.charged = bill.charged + quantum;
  for (Part& part : bill.parts)
    set(lease, part, core::share_of(bill.price, bill.charged, part.part));
}

void Bills::close(const core::LeaseClosed& closed) {
  const auto bill = bills_.find(closed.lease);
  if (bill == bills_.end()) return;
  const bool was_lost = closed.ran.ns == 0;
  for (Part& part : bill->second.parts) {
    const core::BatchPrice& price = bill->second.price;
    set(closed.lease, part, was_lost ? 0 : core::share_of(price, closed.ran, part.part));
  }
  bills_.erase(bill);
}

void post(std::span<const Posting> postings, std::vector<core::LedgerLine>& lines) {
  // A batch has few tenants, and their tasks mostly stand together.
  std::vector<std::pair<TenantId, std::int64_t>> sums;
  for (const Posting& posting : postings) {
    if (!posting.tenant) continue;
    const auto known = std::find_if(sums.rbegin(), sums.rend(),
                                    [&](const auto& sum) { return sum.first == posting.tenant; });
    if (known != sums.rend()) {
      known->second += posting.amount_us;
    } else {
      sums.emplace_back(posting.tenant, posting.amount_us);
    }
  }
  for (const auto& [tenant, amount_us] : sums) {
    if (lines.size() <= tenant.value) lines.resize(tenant.value + 1);
    lines[tenant.value].post(amount_us);
  }
}

}  // namespace berth::service
