// Preemption over random histories, with lost GPUs and nodes, late and repeated reports: only work
// of a higher rank is stopped, no tenant falls below its guarantee by it, claimed GPUs go to nobody
// else, and a claim that has become free is taken up at once, so nothing was stopped in vain.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"

namespace berth::property {
namespace {

// Keeps books of who runs where, from events and actions alone.
class Watch {
 public:
  std::size_t preemptions = 0;
  std::size_t reclaims = 0;  // of the stopped, those of the preemptor's own tier
  std::size_t for_one = 0;   // claims of one GPU or a share of one

  void read(const Step& step) {
    for (std::size_t i = 0; i < step.from_timers; ++i)
      read(step.actions[i]);
    read(step.event);
    for (std::size_t i = step.from_timers; i < step.actions.size(); ++i)
      read(step.actions[i]);
  }

 private:
  struct Lease {
    std::vector<GpuId> gpus;
    std::vector<TaskNo> tasks;
    std::vector<std::pair<TenantId, std::int64_t>> use;
    bool stopped = false;
  };

  void read(const core::Event& event) {
    if (const auto* submit = std::get_if<core::Submit>(&event.body)) {
      specs_[submit->task] = submit->spec;
    } else if (const auto* flow = std::get_if<core::SubmitWorkflow>(&event.body)) {
      for (std::size_t i = 0; i < flow->tasks.size(); ++i)
        specs_[TaskNo{flow->first.value + i}] = flow->tasks[i];
    } else if (const auto* tenant = std::get_if<core::PutTenant>(&event.body)) {
      tenants_[tenant->tenant] = tenant->spec;
    } else if (const auto* drain = std::get_if<core::DrainGpu>(&event.body)) {
      if (drain->draining) drop_claims_on(drain->gpu);
    } else if (const auto* lost = std::get_if<core::GpuLost>(&event.body)) {
      drop_claims_on(lost->gpu);
    } else if (const auto* node = std::get_if<core::NodeLost>(&event.body)) {
      for (const auto& [gpu, home] : nodes_) {
        if (home == node->node) drop_claims_on(gpu);
      }
    } else if (const auto* another = std::get_if<core::PutNode>(&event.body)) {
      for (const auto& [gpu, home] : nodes_) {
        if (home == another->node) drop_claims_on(gpu);
      }
    } else if (std::holds_alternative<core::SetPolicy>(event.body)) {
      claims_.clear();  // GPUs may be too small by it
    } else if (const auto* put = std::get_if<core::PutGpu>(&event.body)) {
      nodes_[put->gpu] = put->spec.node;
      drop_claims_on(put->gpu);
    }
  }

  void read(const core::Action& action) {
    if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
      start(*batch);
    } else if (const auto* preempt = std::get_if<core::Preempt>(&action)) {
      ++preemptions;
      require(preempt->gpus.size() == specs_.at(preempt->task).gpus, "a claim of part of a gang");
      for_one += preempt->gpus.size() == 1 ? 1 : 0;
      claims_[preempt->task] = preempt->gpus;
    } else if (const auto* deferred = std::get_if<core::TaskDeferred>(&action)) {
      if (deferred->reason.code == core::ReasonCode::preempted) stop(*deferred);
    } else if (const auto* release = std::get_if<core::ReleaseHold>(&action)) {
      if (release->task) claims_.erase(release->task);
    } else if (const auto* end = std::get_if<core::TaskFinished>(&action)) {
      claims_.erase(end->task);
    } else if (const auto* changed = std::get_if<core::TaskChanged>(&action)) {
      claims_.erase(changed->task);  // it may want other GPUs now, and asks anew
    } else if (const auto* slice = std::get_if<core::SliceLost>(&action)) {
      std::erase(leases_.at(slice->lease).gpus, slice->gpu);
    } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
      leases_.erase(closed->lease);
    }
  }

  void start(const core::BatchStarted& batch) {
    Lease lease{batch.gpus, {}, {}, false};
    const auto count = static_cast<std::int64_t>(batch.tasks.size());
    const std::int64_t use = batch.share.value * static_cast<std::int64_t>(batch.gpus.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const TaskNo task = batch.tasks[static_cast<std::size_t>(i)].task;
      lease.tasks.push_back(task);
      lease.use.emplace_back(specs_.at(task).tenant, use * (i + 1) / count - use * i / count);
      claims_.erase(task);
    }
    for (const auto& [task, gpus] : claims_) {
      for (const GpuId gpu : batch.gpus) {
        require(
            std::count(gpus.begin(), gpus.end(), gpu) == 0,
            "a batch started on a GPU that task " + std::to_string(task.value) + " has claimed");
      }
    }
    leases_[batch.lease] = std::move(lease);
  }

  void stop(const core::TaskDeferred& deferred) {
    const TaskNo preemptor{deferred.reason.subject};
    const auto lease = std::find_if(leases_.begin(), leases_.end(), [&](const auto& entry) {
      const auto& tasks = entry.second.tasks;
      return std::count(tasks.begin(), tasks.end(), deferred.task) > 0;
    });
    require(lease != leases_.end(), "a task was stopped that does not run");
    const core::TaskSpec& victim = specs_.at(deferred.task);
    const core::TaskSpec& winner = specs_.at(preemptor);
    require(victim.tier >= winner.tier, "work of a higher tier was stopped");
    if (victim.tier == winner.tier) {
      ++reclaims;
      require(is_within_guarantee(winner.tenant),
              "work of its own tier was stopped for a tenant over its guarantee");
      // A batch goes as a whole: what was stopped of it counts once more.
      const bool was_stopped = std::exchange(lease->second.stopped, false);
      require(!is_within_guarantee(victim.tenant),
              "a tenant was brought below its guarantee by another of its tier");
      lease->second.stopped = was_stopped;
    }
    lease->second.stopped = true;
    require(claims_.contains(preemptor), "work was stopped for a task without a claim");
  }

  // Whether the tenant, or one above it, uses no more than it is guaranteed.
  bool is_within_guarantee(TenantId tenant) const {
    for (; tenant; tenant = tenants_.at(tenant).parent) {
      const std::int64_t guaranteed = tenants_.at(tenant).guaranteed_gpus.value;
      if (guaranteed > 0 && use_of(tenant) <= guaranteed) return true;
    }
    return false;
  }
  bool is_below(TenantId tenant, TenantId above) const {
    while (tenant && tenant != above)
      tenant = tenants_.at(tenant).parent;
    return static_cast<bool>(tenant);
  }

  // What it and all below it use with their claims, and without what is being stopped.
  std::int64_t use_of(TenantId tenant) const {
    std::int64_t use = 0;
    for (const auto& [id, lease] : leases_) {
      for (const auto& [owner, part] : lease.use)
        use += !lease.stopped && is_below(owner, tenant) ? part : 0;
    }
    for (const auto& [task, gpus] : claims_) {
      const core::TaskSpec& spec = specs_.at(task);
      if (is_below(spec.tenant, tenant)) use += spec.share.value * spec.gpus;
    }
    return use;
  }
  void drop_claims_on(GpuId gpu) {
    std::erase_if(claims_, [&](const auto& claim) {
      return std::count(claim.second.begin(), claim.second.end(), gpu) > 0;
    });
  }
  static void require(bool holds, const std::string& sentence) {
    if (!holds) throw Broken(sentence);
  }

  std::map<TaskNo, core::TaskSpec> specs_;
  std::map<TenantId, core::TenantSpec> tenants_;
  std::map<GpuId, NodeId> nodes_;
  std::map<LeaseId, Lease> leases_;
  std::map<TaskNo, std::vector<GpuId>> claims_;
};

TEST(Preemptions, StopOnlyWhatTheyMayAndNothingInVain) {
  std::size_t preemptions = 0;
  std::size_t reclaims = 0;
  std::size_t for_one = 0;
  for_cases({.cases = 4000, .commands = 200}, [&](const Case& input) {
    World world(input, {.mixes_ranks = true});
    Watch watch;
    world.on_step = [&](const Step& step) {
      watch.read(step);
      const core::State& state = world.engine().state();
      if (state.continue_at != Time::never()) return;
      for (const auto& [task, gpus] : state.claims) {
        if (claim_stands(state, task) && is_claim_free(state, task, gpus)) {
          throw Broken("task " + std::to_string(task.value) + " does not take up its claim");
        }
      }
    };
    run_world(world);
    preemptions += watch.preemptions;
    reclaims += watch.reclaims;
    for_one += watch.for_one;
  });
  std::printf("%zu preemptions, %zu of one GPU; stopped within a tier %zu\n", preemptions, for_one,
              reclaims);
  EXPECT_GT(preemptions, 60U);
  EXPECT_GT(for_one, 30U);
  EXPECT_GT(reclaims, 20U);
}

}  // namespace
}  // namespace berth::property
