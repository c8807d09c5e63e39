// Checks the counters of tenants, queues and models, and the lease table. See check.h.
#include <algorithm>
#include <map>
#include <set>

#include "core/state/check.h"

namespace berth::core {
namespace {

struct TenantSums {
  std::uint32_t live = 0;
  std::uint32_t queued = 0;
  std::uint32_t pending = 0;
  std::int64_t in_use = 0;
};

struct QueueSums {
  std::uint32_t gangs = 0;
  std::uint32_t queued = 0;
  std::uint32_t pending = 0;
  std::int64_t work_us = 0;
  std::int64_t in_use = 0;
};

void check_lease(const State& state, std::uint32_t slot, Findings& findings) {
  const Lease& lease = state.leases[slot];
  std::uint32_t live = 0;
  std::int64_t parts = 0;
  // What each task uses was counted when the lease had all its GPUs; some may be lost by now.
  std::int64_t used = 0;
  for (const LeaseTask& task : lease.tasks)
    used += task.use.value;
  const std::int64_t gpus = used / std::max<std::int64_t>(1, lease.share.value);
  findings.must(static_cast<std::int64_t>(lease.gpus.size()) <= gpus, "lease ", lease.id, " has ",
                lease.gpus.size(), " GPUs and uses ", gpus);
  std::set<TaskNo> seen;
  const BatchPrice price{lease.rate, lease.load_us, std::max<std::int64_t>(1, lease.parts)};
  const TaskState expected = lease.running ? TaskState::running : TaskState::starting;
  for (const LeaseTask& task : lease.tasks) {
    parts += task.part;
    findings.same(task.charged_us, share_of(price, lease.charged, task.part), "what task ",
                  task.task, " was charged in lease ", lease.id);
    findings.must(seen.insert(task.task).second, "lease ", lease.id, " names task ", task.task,
                  " twice");
    if (!task.live) continue;
    ++live;
    if (state.tasks.slot_of(task.task) != task.slot) {
      findings.say("lease ", lease.id, " has task ", task.task, " in slot ", task.slot,
                   ", the table has it in ", state.tasks.slot_of(task.task));
      continue;
    }
    const TaskRow& row = state.tasks.row(task.slot);
    findings.same(row.lease, slot, "lease slot of task ", task.task, " in lease ", lease.id);
    findings.same(row.state, expected, "state of task ", task.task, " in lease ", lease.id);
    findings.same(row.tenant, task.tenant, "tenant of task ", task.task, " in lease ", lease.id);
    findings.same(std::int64_t{row.gpus}, gpus, "GPUs of task ", task.task, " in lease ", lease.id);
    findings.same(row.queue, lease.queue, "queue of task ", task.task, " in lease ", lease.id);
  }
  findings.same(lease.live, live, "live tasks of lease ", lease.id);
  findings.same(lease.parts, parts, "parts of lease ", lease.id);
  findings.must(lease.gpus.empty() == static_cast<bool>(lease.node), "lease ", lease.id,
                " has no GPU and no node, or both");
  findings.must(lease.id.value < state.next_lease, "lease ", lease.id, " is above the next, ",
                state.next_lease);
  findings.must(lease.charged.ns >= 0 && lease.rate >= 1, "lease ", lease.id, " is charged ",
                lease.charged, " at rate ", lease.rate);
  findings.same(find_lease(state, lease.id), slot, "indexed slot of lease ", lease.id);
}

void check_lease_table(const State& state, Findings& findings) {
  RunningSum running;
  std::vector<RunningSum> by_queue(state.queues.size());
  std::set<std::uint32_t> free;
  for (std::uint32_t slot = 0; slot < state.leases.size(); ++slot) {
    const Lease& lease = state.leases[slot];
    if (lease.id) {
      check_lease(state, slot, findings);
      for (RunningSum* sum : {&running, &by_queue[lease.queue.value]}) {
        ++sum->leases;
        sum->ends_us += static_cast<std::uint64_t>((lease.started + lease.expected).ns / 1000);
      }
    } else {
      free.insert(slot);
    }
  }
  findings.same(state.running.leases, running.leases, "leases that run");
  findings.same(state.running.ends_us, running.ends_us, "sum of the ends of what runs");
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    findings.must(state.queues[i].running == by_queue[i], "queue ", i, " counts ",
                  state.queues[i].running.leases, " leases that run, derived ", by_queue[i].leases,
                  ", or other ends");
  }
  findings.same(state.lease_index.size(), running.leases, "size of the lease index");
  const std::set<std::uint32_t> listed(state.free_leases.begin(), state.free_leases.end());
  findings.must(listed == free && listed.size() == state.free_leases.size(),
                "the list of free lease slots has ", state.free_leases.size(), ", derived ",
                free.size());
}

void check_row(const State& state, std::uint32_t slot, Findings& findings) {
  const TaskRow& row = state.tasks.row(slot);
  findings.same(state.tasks.slot_of(row.no), slot, "slot of task ", row.no);
  findings.must(!is_terminal(row.state), "task ", row.no, " is live and ", row.state);
  const bool runs = row.state == TaskState::starting || row.state == TaskState::running;
  if (!runs && (row.state != TaskState::waiting || row.lease == kNoSlot)) {
    findings.same(row.lease, kNoSlot, "lease slot of ", row.state, " task ", row.no);
    return;
  }
  if (row.lease >= state.leases.size() || !state.leases[row.lease].id) {
    findings.say("task ", row.no, " is ", row.state, " in lease slot ", row.lease,
                 ", which is free");
    return;
  }
  const auto& tasks = state.leases[row.lease].tasks;
  const bool listed = std::any_of(tasks.begin(), tasks.end(), [&](const LeaseTask& task) {
    return task.task == row.no && (runs ? task.live : task.stopping);
  });
  findings.must(listed, "task ", row.no, " is ", row.state, " but lease ",
                state.leases[row.lease].id, " does not list it as live, or as stopping");
}

void check_tenant_counters(const State& state, const std::map<TenantId, TenantSums>& sums,
                           Findings& findings) {
  for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
    const Tenant& tenant = state.tenants[i];
    const auto it = sums.find(TenantId{i});
    const TenantSums derived = it == sums.end() ? TenantSums{} : it->second;
    findings.same(tenant.live, derived.live, "live tasks of tenant ", i);
    findings.same(tenant.queued, derived.queued, "queued tasks of tenant ", i);
    findings.same(tenant.pending, derived.pending, "pending tasks of tenant ", i);
    findings.same(tenant.in_use.value, derived.in_use, "in_use of tenant ", i);
    findings.must(tenant.credit_us >= 0, "tenant ", i, " has a credit of ", tenant.credit_us);
    std::int64_t usage = 0;
    for (const std::int64_t bucket : tenant.usage.bucket_us)
      usage += bucket;
    findings.same(tenant.usage.sum_us, usage, "sum of the usage window of tenant ", i);
  }
}

void check_queue_counters(const State& state, const std::map<QueueId, QueueSums>& sums,
                          Findings& findings) {
  std::map<ModelId, std::vector<QueueId>> queues;
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const Queue& queue = state.queues[i];
    const auto it = sums.find(QueueId{i});
    const QueueSums derived = it == sums.end() ? QueueSums{} : it->second;
    findings.same(queue.pending, derived.pending, "pending tasks of queue ", i);
    findings.same(queue.gangs, derived.gangs, "gangs of queue ", i);
    findings.same(queue.queued, derived.queued, "queued tasks of queue ", i);
    findings.must(derived.gangs == 0 || !queue.spec.model, "queue ", i, " has model ",
                  queue.spec.model, " and ", derived.gangs, " gangs");
    findings.must(derived.gangs > 0 || !queue.next_model, "queue ", i, " has no gangs and model ",
                  queue.next_model, " still to come");
    findings.same(queue.pending_work_us, derived.work_us, "pending_work_us of queue ", i);
    findings.same(queue.in_use.value, derived.in_use, "in_use of queue ", i);
    if (!queue.spec.model) continue;
    queues[queue.spec.model].push_back(QueueId{i});
  }
  for (std::uint32_t i = 0; i < state.models.size(); ++i) {
    const Model& model = state.models[i];
    findings.must(model.queues == queues[ModelId{i}], "model ", i, " lists ", model.queues.size(),
                  " queues, derived ", queues[ModelId{i}].size(), ", or another order");
    std::uint32_t resident = 0;
    std::uint32_t open = 0;
    std::uint32_t loading = 0;
    std::uint32_t failing = 0;
    std::vector<GpuId> where;
    for (std::uint32_t gpu_no = 0; gpu_no < state.gpus.size(); ++gpu_no) {
      const Gpu& gpu = state.gpus[gpu_no];
      for (const LoadPause& pause : gpu.pauses)
        failing += pause.model == ModelId{i} ? 1 : 0;
      for (const Residence& residence : gpu.residences) {
        if (residence.model != ModelId{i}) continue;
        where.push_back(GpuId{gpu_no});
        ++(residence.loading ? loading : resident);
        const bool is_open = gpu.up && !gpu.draining && !gpu.held_for && !gpu.kept_for &&
                             gpu.spec.mig == mig::Geometry::none;
        if (!residence.loading && is_open) ++open;
      }
    }
    findings.same(model.resident, resident, "residences of model ", i);
    findings.same(model.failing_gpus, failing, "GPUs where model ", i, " failed to load");
    findings.same(model.resident_open, open, "open residences of model ", i);
    findings.must(model.gpus == where, "model ", i, " lists ", model.gpus.size(), " GPUs, derived ",
                  where.size(), ", or others");
    findings.same(model.loading, loading, "loads under way of model ", i);
  }
}

}  // namespace

void check_counters(const State& state, const Derived& derived, Findings& findings) {
  std::map<TenantId, TenantSums> tenants;
  std::map<QueueId, QueueSums> queues;
  const std::vector<std::uint32_t>& tasks = derived.live;
  findings.same(state.tasks.live(), tasks.size(), "live tasks");
  for (const std::uint32_t slot : tasks) {
    const TaskRow& row = state.tasks.row(slot);
    check_row(state, slot, findings);
    TenantSums& tenant = tenants[row.tenant];
    ++tenant.live;
    const bool is_pending = row.state == TaskState::pending;
    if (row.gpus > 1 || row.shape != kNoSlot) ++queues[row.queue].gangs;
    if (is_pending || row.state == TaskState::waiting) {
      ++tenant.queued;
      ++queues[row.queue].queued;
    }
    if (!is_pending) continue;
    ++tenant.pending;
    ++queues[row.queue].pending;
    queues[row.queue].work_us += std::min(row.expected_run, kWorkCounted).ns / 1000;
  }
  for (const Lease& lease : state.leases) {
    if (!lease.id) continue;
    queues[lease.queue].in_use += lease.share.value * static_cast<std::int64_t>(lease.gpus.size());
    for (const LeaseTask& task : lease.tasks)
      tenants[task.tenant].in_use += task.use.value;
  }
  for (const auto& [task, gpus] : state.claims) {
    const std::uint32_t slot = state.tasks.slot_of(task);
    if (slot == kNoSlot) continue;
    const TaskRow& row = state.tasks.row(slot);
    tenants[row.tenant].in_use += std::int64_t{row.share} * row.gpus;
    queues[row.queue].in_use += std::int64_t{row.share} * row.gpus;
  }
  check_lease_table(state, findings);
  check_tenant_counters(state, tenants, findings);
  check_queue_counters(state, queues, findings);
}

}  // namespace berth::core
