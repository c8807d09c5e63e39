// The ledger can be audited: what a tenant was charged and given back is what its leases cost by
// the events and actions alone, and what the tenants at the top were charged with all below them is
// what the cluster was. Whatever ran, was lost, was charged ahead or moved to another parent
// meanwhile.
#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "core/model/tenant_tree.h"
#include "core/state/state.h"
#include "tests/property/cases.h"

namespace berth::property {
namespace {

struct Sums {
  std::int64_t charged_us = 0;
  std::int64_t refunded_us = 0;
};

// What a lease was promised for, as its first action says.
struct Bill {
  struct Part {
    TenantId tenant;
    std::int64_t part = 0;
    std::int64_t charged_us = 0;
  };
  std::int64_t rate = 0;
  std::int64_t load_us = 0;
  std::int64_t parts = 0;
  Duration charged;
  std::vector<Part> tasks;

  std::int64_t share(const Part& task, Duration ran) const {
    return scale(scale(ran.ns, rate, 1'000'000) + load_us, task.part, parts);
  }
};

class Audit {
 public:
  void read(const Step& step) {
    // What timers decided comes before the event; nothing of it is about the event's new tasks.
    if (const auto* submit = std::get_if<core::Submit>(&step.event.body)) {
      tenants_[submit->task] = submit->spec.tenant;
    } else if (const auto* flow = std::get_if<core::SubmitWorkflow>(&step.event.body)) {
      for (std::size_t i = 0; i < flow->tasks.size(); ++i)
        tenants_[TaskNo{flow->first.value + i}] = flow->tasks[i].tenant;
    }
    for (const core::Action& action : step.actions) {
      if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
        open(*batch);
      } else if (const auto* more = std::get_if<core::LeaseCharged>(&action)) {
        Bill& bill = bills_.at(more->lease);
        bill.charged = bill.charged + more->quantum;
        set(bill, [&](const Bill::Part& task) { return bill.share(task, bill.charged); });
        ++quanta;
      } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
        auto bill = bills_.extract(closed->lease);
        set(bill.mapped(), [&](const Bill::Part& task) {
          return closed->ran.ns == 0 ? 0 : bill.mapped().share(task, closed->ran);
        });
        ++closes;
      }
    }
  }

  void compare(const core::State& state) {
    std::vector<TenantId> parents;
    std::vector<core::LedgerLine> lines;
    core::LedgerLine cluster;
    for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
      const core::LedgerLine& found = state.tenants[i].ledger;
      const Sums& sums = sums_[TenantId{i}];
      if (found.charged_us != sums.charged_us || found.refunded_us != sums.refunded_us) {
        throw Broken("tenant " + std::to_string(i) + " was charged " +
                     std::to_string(found.charged_us) + " us and refunded " +
                     std::to_string(found.refunded_us) + ", by the actions " +
                     std::to_string(sums.charged_us) + " and " + std::to_string(sums.refunded_us));
      }
      parents.push_back(state.tenants[i].spec.parent);
      lines.push_back(found);
      cluster += found;
    }
    const std::vector<core::LedgerLine> with_below = core::summed_upwards(parents, lines);
    core::LedgerLine tops;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (!parents[i]) tops += with_below[i];
    }
    if (tops != cluster) throw Broken("the trees of tenants do not sum up to the cluster");
  }

  std::size_t quanta = 0;
  std::size_t closes = 0;

 private:
  void open(const core::BatchStarted& batch) {
    Bill bill;
    bill.rate = batch.rate;
    bill.load_us = batch.load_us;
    bill.charged = std::min(batch.expected, minutes(1));
    for (const core::StartedTask& task : batch.tasks) {
      bill.parts += task.part;
      bill.tasks.push_back({tenants_.at(task.task), task.part, 0});
    }
    set(bill, [&](const Bill::Part& task) { return bill.share(task, bill.charged); });
    for (std::size_t i = 0; i < bill.tasks.size(); ++i) {
      if (bill.tasks[i].charged_us == batch.tasks[i].charge_us) continue;
      throw Broken("task " + std::to_string(batch.tasks[i].task.value) + " begins with " +
                   std::to_string(batch.tasks[i].charge_us) + " us, by its price " +
                   std::to_string(bill.tasks[i].charged_us));
    }
    bills_[batch.lease] = std::move(bill);
  }

  // One line for each tenant, whatever its tasks in the lease make together.
  template <class AmountOf>
  void set(Bill& bill, AmountOf amount_of) {
    std::map<TenantId, std::int64_t> lines;
    for (Bill::Part& task : bill.tasks) {
      const std::int64_t now = amount_of(task);
      lines[task.tenant] += now - task.charged_us;
      task.charged_us = now;
    }
    for (const auto& [tenant, amount_us] : lines) {
      Sums& sums = sums_[tenant];
      (amount_us > 0 ? sums.charged_us : sums.refunded_us) += std::abs(amount_us);
    }
  }

  std::map<TaskNo, TenantId> tenants_;
  std::map<LeaseId, Bill> bills_;
  std::map<TenantId, Sums> sums_;
};

TEST(Ledger, IsTheSumOverTheActions) {
  std::size_t quanta = 0;
  std::size_t closes = 0;
  for_cases({.cases = 600, .commands = 200}, [&](const Case& input) {
    World world(input);
    Audit audit;
    world.on_step = [&](const Step& step) {
      audit.read(step);
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
