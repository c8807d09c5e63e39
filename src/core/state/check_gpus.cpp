// Checks the GPUs and the indexes that find room on them. See check.h.
#include <algorithm>
#include <map>

#include "core/state/check.h"

namespace berth::core {
namespace {

using Entries = std::map<GpuId, FitIndex::Entry>;

void check_use(const State& state, GpuId id, Findings& findings) {
  const Gpu& gpu = state.gpu(id);
  Mib leased;
  Milli shares;
  std::vector<std::uint32_t> leases;
  std::map<ModelId, std::uint32_t> using_model;
  for (std::uint32_t slot = 0; slot < state.leases.size(); ++slot) {
    const Lease& lease = state.leases[slot];
    if (!lease.id) continue;
    if (std::find(lease.gpus.begin(), lease.gpus.end(), id) == lease.gpus.end()) continue;
    if (!lease.instance) leased += lease.vram;
    shares += lease.share;
    leases.push_back(slot);
    if (lease.model) ++using_model[lease.model];
  }
  findings.same(gpu.leased, leased, "leased VRAM of GPU ", id);
  findings.same(gpu.shares, shares, "shares of GPU ", id);
  std::vector<std::uint32_t> listed = gpu.leases;
  std::sort(listed.begin(), listed.end());
  findings.must(listed == leases, "GPU ", id, " lists ", listed.size(), " leases, derived ",
                leases.size(), ", or others");

  Mib weights;
  Mib busy;
  for (std::size_t i = 0; i < gpu.residences.size(); ++i) {
    const Residence& residence = gpu.residences[i];
    weights += residence.weights;
    if (residence.loading || using_model[residence.model] > 0) busy += residence.weights;
    findings.same(residence.leases, using_model[residence.model], "batches that use model ",
                  residence.model, " on GPU ", id);
    findings.must(residence.load ? residence.load.value < state.next_load : !residence.loading,
                  "model ", residence.model, " on GPU ", id, " comes from load ", residence.load,
                  ", the next is ", state.next_load);
    findings.must(i == 0 || gpu.residences[i - 1].model < residence.model, "the residences of GPU ",
                  id, " are not sorted at ", i);
    using_model.erase(residence.model);
  }
  for (std::size_t i = 0; i < gpu.pauses.size(); ++i) {
    const LoadPause& pause = gpu.pauses[i];
    findings.must(i == 0 || gpu.pauses[i - 1].model < pause.model, "the pauses of GPU ", id,
                  " are not sorted at ", i);
    findings.must(gpu.up && pause.failures > 0, "GPU ", id, " pauses loads of model ", pause.model,
                  " after ", pause.failures, " failures");
  }
  for (const auto& [model, count] : using_model) {
    findings.must(count == 0, "GPU ", id, " runs ", count, " batches of model ", model,
                  ", which is not there");
  }
  findings.same(gpu.weights, weights, "weights on GPU ", id);
  findings.same(gpu.weights_busy, busy, "busy weights on GPU ", id);
}

void check_limits(const State& state, GpuId id, Findings& findings) {
  const Gpu& gpu = state.gpu(id);
  findings.same(gpu.usable.value, gpu.spec.vram.value * state.policy.vram_usable.value / 1000,
                "usable VRAM of GPU ", id);
  // A policy or the GPU put anew may lower what is usable below what was promised before; then
  // nothing is added.
  const Mib used = gpu.leased + gpu.weights;
  findings.must(used <= gpu.usable || !gpu.indexed, "GPU ", id, " has ", gpu.usable,
                " usable, uses ", used, " and may take more");
  // The threshold may have been lower or higher when they joined, but a whole GPU is shared by many
  // only up to its whole.
  findings.must(
      gpu.leases.size() < 2 || gpu.shares <= std::max(kWholeGpu, state.policy.gpu_load_threshold),
      "GPU ", id, " runs ", gpu.leases.size(), " batches with shares of ", gpu.shares);
  findings.must(gpu.up || (gpu.leases.empty() && gpu.residences.empty() && !gpu.held_for), "GPU ",
                id, " is lost and has ", gpu.leases.size(), " leases and ", gpu.residences.size(),
                " models");
  findings.must(!gpu.up || state.node(gpu.spec.node).up, "GPU ", id, " takes work on node ",
                gpu.spec.node, ", which is lost");
  findings.must(!gpu.held_for || (gpu.up && !gpu.draining), "GPU ", id,
                " is held and accepts no work");
}

// What the GPU offers, if it may take a batch at all.
bool offers(const State& state, const Gpu& gpu, FitIndex::Entry& free, FitIndex::Entry& reclaim) {
  const std::int64_t left = gpu.usable.value - gpu.leased.value - gpu.weights.value;
  const std::int64_t load = std::max(gpu.shares.value, gpu.reported.value);
  const bool idle = gpu.leases.empty();
  if (!gpu.up || gpu.draining || gpu.held_for || gpu.kept_for || left < 0) return false;
  if (gpu.spec.mig != mig::Geometry::none || gpu.slices.used != 0) return false;
  if (!idle && load >= state.policy.gpu_load_threshold.value) return false;
  std::int64_t idle_weights = 0;
  for (const Residence& residence : gpu.residences) {
    if (!residence.loading && residence.leases == 0) idle_weights += residence.weights.value;
  }
  free = {Mib{left}, idle, Milli{idle ? 0 : load}};
  reclaim = {Mib{left + idle_weights}, idle, Milli{idle ? 0 : load}};
  return true;
}

void check_index(const FitIndex& index, const Entries& derived, std::string_view name,
                 std::uint32_t number, Findings& findings) {
  Entries found;
  index.visit([&](GpuId gpu, const FitIndex::Entry& entry) {
    findings.must(found.emplace(gpu, entry).second, "GPU ", gpu, " is twice in ", name, " ",
                  number);
  });
  for (const auto& [gpu, entry] : derived) {
    const auto it = found.find(gpu);
    if (it == found.end()) {
      findings.say("GPU ", gpu, " with ", entry.amount, " is missing from ", name, " ", number);
    } else if (it->second != entry) {
      findings.say("GPU ", gpu, " stands in ", name, " ", number, " with ", it->second.amount,
                   " at load ", it->second.load, ", derived ", entry.amount, " at load ",
                   entry.load);
    }
  }
  for (const auto& [gpu, entry] : found) {
    findings.must(derived.contains(gpu), "GPU ", gpu, " with ", entry.amount, " stands in ", name,
                  " ", number, " and may take no such batch");
  }
}

// What a lease takes of each node.
struct NodeUse {
  std::vector<GpuId> gpus;
  std::vector<std::uint32_t> leases;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

void check_keeps(const State& state, Findings& findings) {
  std::map<TaskNo, std::vector<GpuId>> kept;
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const Gpu& gpu = state.gpus[i];
    if (!gpu.kept_for) continue;
    kept[gpu.kept_for].push_back(GpuId{i});
    findings.must(gpu.up && !gpu.draining && !gpu.held_for, "GPU ", i, " is kept for task ",
                  gpu.kept_for, " and accepts no work");
    findings.must(state.tasks.slot_of(gpu.kept_for) != kNoSlot, "GPU ", i, " is kept for task ",
                  gpu.kept_for, ", which does not live");
  }
  findings.must(state.kept == kept, "GPUs are kept for ", state.kept.size(), " tasks, derived ",
                kept.size(), ", or others");
  for (const auto& [task, gpus] : state.claims) {
    std::vector<GpuId> sorted = gpus;
    std::sort(sorted.begin(), sorted.end());
    findings.must(sorted == kept[task], "task ", task, " has claimed ", gpus.size(),
                  " GPUs, kept for it are ", kept[task].size(), ", or others");
  }
}

// CPUs and memory that claims have on each node.
void check_claims(const State& state, Findings& findings) {
  std::vector<std::pair<std::int64_t, std::int64_t>> claimed(state.nodes.size());
  for (const auto& [task, gpus] : state.claims) {
    const std::uint32_t slot = state.tasks.slot_of(task);
    if (slot == kNoSlot) continue;
    const Shape shape = shape_of(state, state.tasks.row(slot));
    for (const NodeCount& part : count_by_node(state, gpus, NodeId::none())) {
      claimed[part.node.value].first += node_part(shape.cpu.value, part.gpus, shape.gpus);
      claimed[part.node.value].second += node_part(shape.memory.value, part.gpus, shape.gpus);
    }
  }
  for (std::uint32_t i = 0; i < state.nodes.size(); ++i) {
    findings.same(state.nodes[i].cpu_claimed.value, claimed[i].first, "CPUs claimed on node ", i);
    findings.same(state.nodes[i].memory_claimed.value, claimed[i].second, "memory claimed on node ",
                  i);
  }
}

void check_nodes(const State& state, Findings& findings) {
  std::vector<NodeUse> derived(state.nodes.size());
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i)
    derived[state.gpus[i].spec.node.value].gpus.push_back(GpuId{i});
  for (std::uint32_t slot = 0; slot < state.leases.size(); ++slot) {
    const Lease& lease = state.leases[slot];
    if (!lease.id) continue;
    std::map<NodeId, std::int64_t> carried;
    for (const GpuId gpu : lease.gpus)
      ++carried[state.gpu(gpu).spec.node];
    if (lease.node) {
      derived[lease.node.value].leases.push_back(slot);
      carried[lease.node] = 1;
    }
    for (const auto& [node, count] : carried) {
      const std::int64_t all = std::max<std::int64_t>(1, lease.asked);
      derived[node.value].cpu += (lease.cpu.value * count + all - 1) / all;
      derived[node.value].memory += (lease.memory.value * count + all - 1) / all;
    }
  }
  for (std::uint32_t i = 0; i < state.nodes.size(); ++i) {
    const Node& node = state.nodes[i];
    std::vector<std::uint32_t> leases = node.leases;
    std::sort(leases.begin(), leases.end());
    findings.must(node.gpus == derived[i].gpus, "node ", i, " lists ", node.gpus.size(),
                  " GPUs, derived ", derived[i].gpus.size(), ", or others");
    findings.must(leases == derived[i].leases, "node ", i, " lists ", leases.size(),
                  " leases without a GPU, derived ", derived[i].leases.size(), ", or others");
    findings.same(node.cpu_used.value, derived[i].cpu, "CPUs in use on node ", i);
    findings.same(node.memory_used.value, derived[i].memory, "memory in use on node ", i);
    findings.must(node.up || leases.empty(), "node ", i, " is lost and runs ", leases.size(),
                  " leases");
  }
}

}  // namespace

void check_gpus(const State& state, Findings& findings) {
  std::size_t accepting = 0;
  std::size_t holdable = 0;
  std::size_t usable = 0;
  Entries free_entries;
  Entries reclaim_entries;
  std::map<ModelId, Entries> by_model;
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const Gpu& gpu = state.gpus[i];
    check_use(state, GpuId{i}, findings);
    check_limits(state, GpuId{i}, findings);
    const std::uint64_t key = static_cast<std::uint64_t>(gpu.usable.value) << 32 | i;
    const bool in_mig_mode = gpu.spec.mig != mig::Geometry::none;
    const bool accepts = gpu.up && !gpu.draining && !in_mig_mode;
    usable += in_mig_mode ? 0 : 1;
    const bool may_be_held = accepts && !gpu.held_for && !gpu.kept_for;
    accepting += accepts ? 1 : 0;
    holdable += may_be_held ? 1 : 0;
    findings.same(state.accepting.contains(key), accepts, "whether GPU ", i, " accepts work");
    findings.same(state.holdable.contains(key), may_be_held, "whether GPU ", i, " may be held");
    FitIndex::Entry free;
    FitIndex::Entry reclaim;
    const bool takes = offers(state, gpu, free, reclaim);
    findings.same(gpu.indexed, takes, "whether GPU ", i, " is indexed");
    findings.same(state.usable.contains(key), !in_mig_mode, "whether GPU ", i, " with ", gpu.usable,
                  " usable is in the usable set");
    if (!takes) continue;
    findings.must(gpu.free_entry == free, "GPU ", i, " remembers ", gpu.free_entry.amount,
                  " free, derived ", free.amount);
    findings.must(gpu.reclaim_entry == reclaim, "GPU ", i, " remembers ", gpu.reclaim_entry.amount,
                  " reclaimable, derived ", reclaim.amount);
    free_entries[GpuId{i}] = free;
    reclaim_entries[GpuId{i}] = reclaim;
    for (const Residence& residence : gpu.residences) {
      if (!residence.loading) by_model[residence.model][GpuId{i}] = free;
    }
  }
  check_nodes(state, findings);
  check_keeps(state, findings);
  check_claims(state, findings);
  check_mig(state, findings);
  findings.same(state.accepting.size(), accepting, "GPUs that accept work");
  findings.same(state.holdable.size(), holdable, "GPUs that may be held");
  findings.same(state.usable.size(), usable, "size of the usable set");
  check_index(state.free_fit, free_entries, "the index of free VRAM", 0, findings);
  check_index(state.reclaim_fit, reclaim_entries, "the index of reclaimable VRAM", 0, findings);
  for (std::uint32_t i = 0; i < state.models.size(); ++i) {
    check_index(state.models[i].fit, by_model[ModelId{i}], "the index of model", i, findings);
  }
}

}  // namespace berth::core
