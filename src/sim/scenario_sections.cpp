// See scenario_sections.h.
#include "sim/scenario_sections.h"

#include <algorithm>

#include "config/mig_mode.h"
#include "core/model/ranges.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;
constexpr std::int64_t kMostGpus = core::kGpusMax;
constexpr std::int64_t kMostNodes = core::kNodesMax;

// The whole of `total` that may be promised.
Mib usable(Mib total, Milli part) { return {total.value * part.value / 1000}; }

void check_resident(TableReader& table, const Scenario& scenario, const Gpu& gpu) {
  Mib weights{0};
  for (std::size_t i = 0; i < gpu.resident.size(); ++i) {
    const ModelId model = gpu.resident[i];
    weights += scenario.models.specs[model.value].spec.weights;
    if (std::find(gpu.resident.begin(), gpu.resident.begin() + static_cast<std::ptrdiff_t>(i),
                  model) != gpu.resident.begin() + static_cast<std::ptrdiff_t>(i)) {
      table.error("resident", table.path_of("resident") + ": " +
                                  quoted(scenario.models.names[model.value]) + " is named twice");
    }
  }
  if (gpu.spec.mig != core::mig::Geometry::none && !gpu.resident.empty()) {
    table.error("resident",
                table.path_of("resident") + ": a GPU in MIG mode takes instances, not models");
  }
  const Mib room = usable(gpu.spec.vram, scenario.policy.vram_usable);
  if (weights > room) {
    table.error("resident", table.path_of("resident") + ": these models need " +
                                vram_text(weights.value) + ", the GPU has " +
                                vram_text(room.value) + " usable of " +
                                vram_text(gpu.spec.vram.value));
  }
}

// A kind of GPU by its name. False, with a diagnostic: there are too many.
bool intern_kind(TableReader& table, const std::string& name, Scenario& scenario, KindId& kind) {
  kind.value = scenario.kinds.intern(name);
  if (kind.value < core::kMaxKinds) return true;
  table.error("kind", table.path_of("kind") + ": a cluster has at most " +
                          std::to_string(core::kMaxKinds) + " kinds of GPU");
  return false;
}

// Whether there are too many is seen when all have been read.
WorkClassId intern_class(const std::string& name, Scenario& scenario) {
  return WorkClassId{static_cast<std::uint8_t>(scenario.work_classes.intern(name))};
}

std::vector<core::ClassSpeed> intern_speeds(const config::SpeedByClass& speeds,
                                            Scenario& scenario) {
  std::vector<core::ClassSpeed> result;
  for (const config::NamedSpeed& its : speeds)
    result.push_back({intern_class(its.work_class, scenario), its.speed});
  std::ranges::sort(result, {}, &core::ClassSpeed::work_class);
  return result;
}

// Whether so many more of something still fit into a cluster; says so if not.
bool has_room(TableReader& table, std::size_t have, std::int64_t more, std::int64_t most,
              const std::string& noun) {
  if (static_cast<std::int64_t>(have) + more <= most) return true;
  table.error("count", table.path_of("count") + ": a cluster has at most " + std::to_string(most) +
                           " " + noun);
  return false;
}

void add_gpus(const config::NodeBlock& block, std::int64_t node, KindId kind, NameBook& names,
              Origin at, Diagnostics& diagnostics, Scenario& scenario) {
  const NodeId id{static_cast<std::uint32_t>(scenario.node_specs.size() - 1)};
  for (std::int64_t i = 0; i < block.gpus; ++i) {
    Gpu gpu;
    gpu.spec = block.gpu_spec(i);
    gpu.spec.node = id;
    gpu.spec.kind = kind;
    gpu.spec.class_speeds = intern_speeds(block.speed_by_class, scenario);
    if (const auto island = block.island_of(node, i)) {
      gpu.spec.island.value = scenario.islands + static_cast<std::uint32_t>(*island);
    }
    const std::string name = block.name_of(node) + "/" + std::to_string(i);
    names.claim(name, at, "cluster.nodes.name", diagnostics);
    scenario.gpus.add(name, std::move(gpu));
  }
}

}  // namespace

void read_agents(TableReader& table, AgentSpec& agents) {
  table.fraction("jitter", agents.jitter, 0.99);
  table.fraction("load_jitter", agents.load_jitter, 0.99);
  table.number("start_delay", agents.start_delay, durations());
  table.number("stop_delay", agents.stop_delay, durations());
  table.number("unload_delay", agents.unload_delay, durations());
  const auto failure = [&](std::string_view key, core::Failure kind) {
    table.fraction(key, agents.task_failure[static_cast<std::size_t>(kind)]);
  };
  failure("error_rate", core::Failure::error);
  failure("out_of_memory_rate", core::Failure::out_of_memory);
  failure("timeout_rate", core::Failure::timeout);
  failure("crash_rate", core::Failure::crash);
  double sum = 0.0;
  for (const double rate : agents.task_failure)
    sum += rate;
  if (sum > 1.0) {
    table.error("error_rate", "agents: the failure rates of a task add up to more than 1");
  }
  table.fraction("load_failure_rate", agents.load_failure);
  table.number("gpu_mtbf", agents.gpu_mtbf, durations(kBillion));
  table.number("gpu_repair", agents.gpu_repair, durations());
  table.number("seed", agents.seed, integers(0, INT64_MAX));
  table.finish();
}

void read_model(TableReader& table, std::string& name, Model& model) {
  config::read_model(table, name, model.spec);
  table.number("actual_load_time", model.actual_load_time, durations());
  table.finish();
}

void read_queue(TableReader& table, Scenario& scenario, std::string& name, Queue& queue) {
  std::string work_class;
  config::read_queue(table, scenario.models.names, name, queue.spec, work_class);
  if (!work_class.empty()) queue.spec.work_class = intern_class(work_class, scenario);
  constexpr NumberType kRun = durations(0, kLongestRun);
  table.number("actual_batch_base", queue.actual_batch_base, kRun);
  table.number("actual_batch_per_task", queue.actual_batch_per_task, kRun);
  config::check_batch_time(table, "actual_batch_per_task", queue.batch_base(),
                           queue.batch_per_task(), queue.spec.max_batch_size);
  table.finish();
}

void read_nodes(TableReader& table, const config::FileSource& files, NameBook& names,
                NameBook& gpu_names, Scenario& scenario) {
  config::NodeBlock block;
  const bool good = config::read_node_block(table, files, block);
  table.finish();
  if (!good) return;
  if (!has_room(table, scenario.node_specs.size(), block.count, kMostNodes, "nodes")) return;
  if (!has_room(table, scenario.gpus.size(), block.count * block.gpus, kMostGpus, "GPUs")) return;
  KindId kind;
  if (block.gpus > 0 && !intern_kind(table, block.kind, scenario, kind)) return;
  const Origin at = table.origin_of("name");
  for (std::int64_t i = 0; i < block.count; ++i) {
    names.claim(block.name_of(i), at, "cluster.nodes.name", table.diagnostics());
    scenario.nodes.intern(block.name_of(i));
    const RackId rack{scenario.racks.intern(block.rack_of(i))};
    scenario.node_specs.push_back({rack, block.cpu, block.memory});
    add_gpus(block, i, kind, gpu_names, at, table.diagnostics(), scenario);
  }
  scenario.islands += static_cast<std::uint32_t>(block.islands());
  has_room(table, scenario.racks.all().size(), 0, kMostNodes, "racks");
}

void read_gpus(TableReader& table, NameBook& names, Scenario& scenario) {
  config::GpuBlock block;
  config::read_gpu_block(table, block);
  Gpu gpu;
  gpu.spec.vram = block.vram;
  gpu.spec.speed = block.speed;
  gpu.spec.class_speeds = intern_speeds(block.speed_by_class, scenario);
  config::read_mig_mode(table, block.kind, block.vram, gpu.spec.mig);
  std::string node = "node";
  table.name("node", node);
  std::int64_t gpus_per_node = 0;
  table.number("gpus_per_node", gpus_per_node, integers(1, kMostGpus));
  std::vector<std::size_t> resident;
  const bool all_known = table.references("resident", "model", scenario.models.names, resident);
  for (const std::size_t model : resident) {
    gpu.resident.push_back(ModelId{static_cast<std::uint32_t>(model)});
  }
  if (all_known && gpu.spec.vram.value > 0) check_resident(table, scenario, gpu);
  table.finish();

  if (!has_room(table, scenario.gpus.size(), block.count, kMostGpus, "GPUs")) return;
  const std::int64_t nodes = gpus_per_node == 0 ? 1 : (block.count - 1) / gpus_per_node + 1;
  if (!has_room(table, scenario.nodes.all().size(), nodes, kMostNodes, "nodes")) return;
  if (!intern_kind(table, block.kind, scenario, gpu.spec.kind)) return;
  const Origin at = table.has("name") ? table.origin_of("name") : table.at();
  for (std::int64_t i = 0; i < block.count; ++i) {
    const std::string suffix = gpus_per_node == 0 ? "" : "-" + std::to_string(i / gpus_per_node);
    gpu.spec.node.value = scenario.nodes.intern(node + suffix);
    names.claim(block.name_of(i), at, "cluster.gpus.name", table.diagnostics());
    scenario.gpus.add(block.name_of(i), gpu);
  }
}

}  // namespace berth::sim
