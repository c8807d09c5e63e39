// Tenants as a tree under load: groups that always have work share by weight, however many users
// each has; no limit of any level is ever exceeded; an idle guarantee that is wanted again goes
// before everything beyond one; a refund is worth what was charged. Plain tasks on equal GPUs, run
// times from the case.
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine.h"
#include "core/state/state.h"
#include "tests/property/cases.h"

namespace berth::property {
namespace {

// An engine with whole-GPU tasks, whose batches end when they are said to and are never stopped.
class Cluster {
 public:
  Cluster(std::uint32_t gpus, const std::vector<core::TenantSpec>& tenants) {
    core::PolicySpec policy;
    policy.preemption = false;
    feed(core::SetPolicy{policy});
    for (std::uint32_t i = 0; i < gpus; ++i)
      feed(core::PutGpu{GpuId{i}, {.vram = Mib{16'000}}});
    feed(core::PutQueue{QueueId{0}, {}});
    for (std::uint32_t i = 0; i < tenants.size(); ++i)
      feed(core::PutTenant{TenantId{i}, tenants[i]});
  }

  // Looks at the state before each event and at the starts that follow.
  std::function<void(const core::BatchStarted&)> on_start;

  void submit(std::uint32_t tenant, Duration run) {
    core::TaskSpec spec;
    spec.tenant = TenantId{tenant};
    spec.queue = QueueId{0};
    spec.expected_run = run;
    feed(core::Submit{engine.next_task_no(), spec});
  }

  // The batch that ends next does; false: nothing runs.
  bool end_one() {
    if (running_.empty()) return false;
    const End next = running_.top();
    running_.pop();
    now = next.at;
    feed(core::LeaseEnded{next.lease, {}});
    return true;
  }

  const core::State& state() const { return engine.state(); }
  const core::Tenant& tenant(std::uint32_t i) const { return state().tenants[i]; }

  core::Engine engine;
  Time now{0};

 private:
  struct End {
    Time at;
    LeaseId lease;
    bool operator<(const End& other) const {
      return std::tie(other.at, other.lease) < std::tie(at, lease);
    }
  };

  void feed(core::EventBody body) {
    core::Actions actions;
    engine.step({now, std::move(body)}, actions);
    for (const core::Action& action : actions) {
      const auto* batch = std::get_if<core::BatchStarted>(&action);
      if (batch == nullptr) continue;
      running_.push({now + batch->expected, batch->lease});
      if (on_start) on_start(*batch);
    }
    const auto findings = engine.check_invariants();
    if (!findings.empty()) throw Broken(findings.front());
  }

  std::priority_queue<End> running_;
};

core::TenantSpec below(std::uint32_t parent, std::int64_t weight = 1000) {
  return {.parent = TenantId{parent}, .weight = Milli{weight}};
}

double seconds_of(const core::Tenant& tenant) {
  return static_cast<double>(tenant.ledger.net_us()) / 1e6;
}

TEST(TenantTree, GroupsShareByWeightHoweverManyUsersTheyHave) {
  for_cases({.cases = 40, .commands = 0}, [](const Case& input) {
    Digits digits(input.setup[0]);
    const std::uint32_t few = 1 + digits.pick(3);
    const std::uint32_t many = 1 + digits.pick(6);
    // Group 0 weighs 1, group 1 three times as much.
    std::vector<core::TenantSpec> tenants = {{.weight = Milli{1000}}, {.weight = Milli{3000}}};
    for (std::uint32_t i = 0; i < few; ++i)
      tenants.push_back(below(1));
    for (std::uint32_t i = 0; i < many; ++i)
      tenants.push_back(below(0));
    Cluster cluster(1 + digits.pick(3), tenants);
    const auto run_of = [&](std::uint32_t tenant) {
      return milliseconds(500 + input.setup[tenant % input.setup.size()] % 1000);
    };
    std::vector<std::uint32_t> again;
    cluster.on_start = [&](const core::BatchStarted& batch) {
      const auto& tasks = cluster.state().tasks;
      again.push_back(tasks.row(tasks.slot_of(batch.tasks.front().task)).tenant.value);
    };
    for (std::uint32_t i = 2; i < tenants.size(); ++i) {
      for (int n = 0; n < 6; ++n)
        cluster.submit(i, run_of(i));
    }
    for (int n = 0; n < 1500; ++n) {
      cluster.end_one();
      for (const std::uint32_t tenant : std::exchange(again, {}))
        cluster.submit(tenant, run_of(tenant));
    }
    double small = 0;
    double large = 0;
    for (std::uint32_t i = 2; i < tenants.size(); ++i)
      (i < 2 + few ? large : small) += seconds_of(cluster.tenant(i));
    const double part = large / (small + large);
    if (part < 0.72 || part > 0.78) {
      throw Broken("the group of weight 3 has " + std::to_string(part) + " with " +
                   std::to_string(few) + " users against " + std::to_string(many));
    }
    for (std::uint32_t i = 2; i < tenants.size(); ++i) {
      const double fair = i < 2 + few ? large / few : small / many;
      if (std::abs(seconds_of(cluster.tenant(i)) - fair) > 0.1 * fair + 6) {
        throw Broken("tenant " + std::to_string(i) + " has " +
                     std::to_string(seconds_of(cluster.tenant(i))) + " s of a fair " +
                     std::to_string(fair));
      }
    }
  });
}

// A random tree over so many tenants, each below one of a lower number or at the top.
std::vector<core::TenantSpec> any_tree(const Case& input, std::uint32_t count) {
  std::vector<core::TenantSpec> tenants;
  for (std::uint32_t i = 0; i < count; ++i) {
    Digits digits(input.setup[i + 1]);
    core::TenantSpec spec;
    spec.weight = digits.pick<Milli>({{1000}, {100}, {4000}});
    if (i > 0 && digits.pick(4) > 0) spec.parent = TenantId{digits.pick(i)};
    if (digits.one_in(2)) spec.guaranteed_gpus = Milli{1000 + 1000 * std::int64_t{digits.pick(3)}};
    if (digits.one_in(3)) spec.borrow_gpus = Milli{1000 * std::int64_t{digits.pick(3)}};
    if (digits.one_in(3)) spec.max_gpus = Milli{1000 + 1000 * std::int64_t{digits.pick(4)}};
    tenants.push_back(spec);
  }
  return tenants;
}

// What each tenant uses with all below it, from the leases.
std::vector<std::int64_t> use_of_subtrees(const core::State& state) {
  std::vector<std::int64_t> use(state.tenants.size(), 0);
  for (const core::Lease& lease : state.leases) {
    if (!lease.id) continue;
    for (const core::LeaseTask& task : lease.tasks) {
      for (TenantId at = task.tenant; at; at = state.tenant(at).spec.parent)
        use[at.value] += task.use.value;
    }
  }
  return use;
}

struct Claim {
  bool may_start = true;
  bool is_within = false;  // a guarantee, with one GPU more
};

Claim claim_of(const core::State& state, const std::vector<std::int64_t>& use, TenantId tenant) {
  Claim claim;
  for (TenantId at = tenant; at; at = state.tenant(at).spec.parent) {
    const core::TenantSpec& spec = state.tenant(at).spec;
    const std::int64_t then = use[at.value] + 1000;
    if (spec.max_gpus && then > spec.max_gpus->value) claim.may_start = false;
    if (spec.borrow_gpus && then > (spec.guaranteed_gpus + *spec.borrow_gpus).value) {
      claim.may_start = false;
    }
    if (spec.guaranteed_gpus.value >= then) claim.is_within = true;
  }
  return claim;
}

TEST(TenantTree, LimitsHoldAndGuaranteesGoFirst) {
  std::size_t within = 0;
  std::size_t beyond = 0;
  for_cases({.cases = 150, .commands = 0}, [&](const Case& input) {
    constexpr std::uint32_t kTenants = 8;
    Digits counts(input.setup[0]);
    Cluster cluster(2 + counts.pick(6), any_tree(input, kTenants));
    const core::State& state = cluster.state();
    // As it was before the start: nobody within a guarantee may have been passed over.
    cluster.on_start = [&](const core::BatchStarted& batch) {
      std::vector<std::int64_t> use = use_of_subtrees(state);
      const auto& tasks = state.tasks;
      const TenantId starter = tasks.row(tasks.slot_of(batch.tasks.front().task)).tenant;
      for (TenantId at = starter; at; at = state.tenant(at).spec.parent)
        use[at.value] -= 1000;
      const Claim own = claim_of(state, use, starter);
      if (!own.may_start) throw Broken("a tenant started over a limit");
      ++(own.is_within ? within : beyond);
      if (own.is_within) return;
      for (std::uint32_t i = 0; i < kTenants; ++i) {
        const Claim other = claim_of(state, use, TenantId{i});
        if (state.tenants[i].pending > 0 && other.may_start && other.is_within) {
          throw Broken("tenant " + std::to_string(starter.value) + " went before tenant " +
                       std::to_string(i) + ", which is within a guarantee");
        }
      }
    };
    for (std::size_t n = 0; n < 300; ++n) {
      Digits digits(input.setup[n % input.setup.size()] + 7919 * n);
      if (digits.pick(2) == 0) {
        cluster.submit(digits.pick(kTenants), milliseconds(1 + digits.pick(90'000)));
      } else {
        cluster.end_one();
      }
    }
  });
  EXPECT_GT(within, 1000U);
  EXPECT_GT(beyond, 1000U);
}

TEST(TenantTree, ARefundIsWorthWhatWasCharged) {
  // ann is alone and is charged for a minute that she does not use; before it ends ben wakes, and a
  // second counts double. Her counter rises by the second she ran, not by less.
  Cluster cluster(2, {{}, below(0), below(0)});
  cluster.submit(1, seconds(60));
  EXPECT_EQ(cluster.tenant(1).v_us, 60'000'000);
  cluster.submit(2, seconds(60));
  core::Actions actions;
  cluster.engine.step({Time{0} + seconds(1), core::LeaseEnded{LeaseId{0}, {}}}, actions);
  EXPECT_EQ(cluster.tenant(1).v_us - cluster.tenant(1).credit_us, 1'000'000);
  EXPECT_EQ(cluster.tenant(1).ledger.net_us(), 1'000'000);
}

}  // namespace
}  // namespace berth::property
