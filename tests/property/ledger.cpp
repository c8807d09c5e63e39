// The ledger can be audited: what a tenant was charged, net of refunds, is what its leases cost by
// the actions alone, and the tenants' sums are the cluster's. Whatever ran, was lost, was charged
// ahead or moved to another parent meanwhile.
#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "core/state/state.h"
#include "tests/property/cases.h"

namespace berth::property {
namespace {

// What a lease was promised for; read once, when it is new.
struct Bill {
  struct Part {
    TenantId tenant;
    std::int64_t part = 0;
    std::int64_t charged_us = 0;
  };
  std::int64_t rate = 0;
  std::int64_t load_us = 0;
  std::int64_t parts = 1;
  Duration charged;
  std::vector<Part> tasks;

  void set_to(Duration ran, std::map<TenantId, std::int64_t>& ledger) {
    charged = ran;
    for (Part& task : tasks) {
      const std::int64_t whole = scale(ran.ns, rate, 1'000'000) + load_us;
      const std::int64_t now = scale(whole, task.part, parts);
      ledger[task.tenant] += now - task.charged_us;
      task.charged_us = now;
    }
  }
};

class Audit {
 public:
  void read(const core::Actions& actions, const core::State& state) {
    for (const core::Action& action : actions) {
      if (const auto* batch = std::get_if<core::BatchStarted>(&action)) open(*batch, state);
      if (const auto* more = std::get_if<core::LeaseCharged>(&action)) {
        const auto bill = bills_.find(more->lease);
        if (bill == bills_.end()) continue;  // see below
        bill->second.set_to(bill->second.charged + more->quantum, ledger_);
        ++quanta;
      }
      if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
        auto bill = bills_.extract(closed->lease);
        if (bill.empty()) {  // lost in the step that started it, so that it costs nothing
          if (closed->ran.ns > 0) throw Broken("a lease ran that was never seen");
          continue;
        }
        bill.mapped().set_to(closed->ran, ledger_);
        if (closed->ran.ns == 0) forgive(bill.mapped());
        ++closes;
      }
    }
  }

  void compare(const core::State& state) {
    for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
      const std::int64_t found = state.tenants[i].charged_us;
      if (found == ledger_[TenantId{i}]) continue;
      throw Broken("tenant " + std::to_string(i) + " was charged " + std::to_string(found) +
                   " us, by the actions " + std::to_string(ledger_[TenantId{i}]));
    }
  }

  std::size_t quanta = 0;
  std::size_t closes = 0;

 private:
  // The action says what each task pays at first; the rest of the price is in the lease.
  void open(const core::BatchStarted& batch, const core::State& state) {
    const std::uint32_t slot = core::find_lease(state, batch.lease);
    if (slot == core::kNoSlot) return;
    Bill bill;
    const core::Lease& lease = state.leases[slot];
    bill.rate = lease.rate;
    bill.load_us = lease.load_us;
    bill.parts = lease.parts;
    bill.charged = std::min(batch.expected, minutes(1));
    for (std::size_t i = 0; i < batch.tasks.size(); ++i) {
      bill.tasks.push_back({lease.tasks[i].tenant, lease.tasks[i].part, batch.tasks[i].charge_us});
      ledger_[lease.tasks[i].tenant] += batch.tasks[i].charge_us;
    }
    bills_[batch.lease] = std::move(bill);
  }

  // Lost with its GPU: nobody pays.
  void forgive(const Bill& bill) {
    for (const Bill::Part& task : bill.tasks)
      ledger_[task.tenant] -= task.charged_us;
  }

  std::map<LeaseId, Bill> bills_;
  std::map<TenantId, std::int64_t> ledger_;
};

TEST(Ledger, IsTheSumOverTheActions) {
  std::size_t quanta = 0;
  std::size_t closes = 0;
  for_cases({.cases = 600, .commands = 200}, [&](const Case& input) {
    World world(input);
    Audit audit;
    world.on_step = [&](const Step& step) {
      audit.read(step.actions, world.engine().state());
      audit.compare(world.engine().state());
    };
    run_world(world);
    quanta += audit.quanta;
    closes += audit.closes;
  });
  EXPECT_GT(quanta, 100U);
  EXPECT_GT(closes, 1000U);
}

}  // namespace
}  // namespace berth::property
