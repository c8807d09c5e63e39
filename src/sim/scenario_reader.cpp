// See scenario_reader.h.
#include "sim/scenario_reader.h"

#include <utility>

#include "config/node_blocks.h"
#include "config/notes.h"
#include "config/overrides.h"
#include "config/sections.h"
#include "sim/scenario_sections.h"
#include "sim/workload_reader.h"

namespace berth::sim {
namespace {

class ScenarioReader {
 public:
  ScenarioReader(Diagnostics& diagnostics, const ReadFile& read_file, const std::string& path)
      : diagnostics_(diagnostics),
        files_{read_file, path.substr(0, path.rfind('/') + 1)},
        workload_(scenario_, diagnostics, read_file, files_.folder) {}

  Scenario read(const Node& document) {
    TableReader root(document, "", diagnostics_);
    root.text("name", scenario_.name);
    root.text("description", scenario_.description);
    root.number("seed", scenario_.seed, integers(0, INT64_MAX));
    std::optional<Duration> stop_at;
    root.number("stop_at", stop_at, durations(1));
    if (stop_at) scenario_.stop_at = Time{stop_at->ns};
    root.boolean("flush_at_end", scenario_.flush_at_end);

    // In the order of reference: a section may name what an earlier one declares.
    TableReader policy = root.table("policy");
    config::read_policy(policy, scenario_.policy);
    policy.finish();
    TableReader agents = root.table("agents");
    read_agents(agents, scenario_.agents);
    read_tenants(root);
    read_models(root);
    read_queues(root);
    read_cluster(root);
    check_work_classes(root);
    read_workload(root);
    read_packing(root);
    root.finish();
    return std::move(scenario_);
  }

 private:
  void read_tenants(TableReader& root) {
    NameBook names("tenant");
    std::vector<TableReader> tables = root.blocks("tenants");
    const std::vector<std::string> all = config::names_in(tables);
    for (TableReader& table : tables) {
      std::string name;
      core::TenantSpec spec;
      config::read_tenant(table, all, name, spec);
      table.finish();
      names.claim(name, table.origin_of("name"), "tenants.name", diagnostics_);
      scenario_.tenants.add(std::move(name), spec);
    }
    config::put_in_tree(tables, scenario_.tenants,
                        [](core::TenantSpec& spec) -> core::TenantSpec& { return spec; });
    if (!root.has("tenants")) scenario_.tenants.add("default", {});
  }

  void read_models(TableReader& root) {
    NameBook names("model");
    for (TableReader& table : root.blocks("models")) {
      std::string name;
      Model model;
      read_model(table, name, model);
      names.claim(name, table.origin_of("name"), "models.name", diagnostics_);
      scenario_.models.add(std::move(name), model);
    }
  }

  void read_queues(TableReader& root) {
    NameBook names("queue");
    for (TableReader& table : root.required_blocks("queues")) {
      std::string name;
      Queue queue;
      read_queue(table, scenario_, name, queue);
      names.claim(name, table.origin_of("name"), "queues.name", diagnostics_);
      scenario_.queues.add(std::move(name), queue);
    }
  }

  void read_cluster(TableReader& root) {
    NameBook nodes("node");
    NameBook gpus("GPU");
    TableReader cluster = root.table("cluster");
    if (!cluster.has("gpus") && !cluster.has("nodes")) {
      cluster.error("gpus",
                    "missing section [[cluster.gpus]] or [[cluster.nodes]]: expected at least one");
    }
    scenario_.racks.intern(config::kDefaultRack);
    for (TableReader& table : cluster.blocks("nodes"))
      read_nodes(table, files_, nodes, gpus, scenario_);
    for (TableReader& table : cluster.blocks("gpus"))
      read_gpus(table, gpus, scenario_);
    cluster.finish();
  }

  void check_work_classes(TableReader& root) {
    TableReader cluster = root.table("cluster");
    std::vector<TableReader> queues = root.blocks("queues");
    std::vector<TableReader> gpus = cluster.blocks("nodes");
    for (TableReader& block : cluster.blocks("gpus"))
      gpus.push_back(block);
    config::check_work_classes(queues, gpus);
  }

  void read_workload(TableReader& root) {
    std::uint32_t block = 0;
    for (TableReader& table : root.required_blocks("workload")) {
      workload_.read_block(table, block++);
    }
    for (TableReader& table : root.blocks("at")) {
      workload_.read_command(table);
    }
    workload_.finish();
  }

  void read_packing(TableReader& root) {
    TableReader packing = root.table("packing");
    const std::vector<std::string> sources = {"none", "trained", "online"};
    packing.choice("table", sources, scenario_.packing.table);
    std::string file;
    packing.name("mix", file);
    const bool trained = scenario_.packing.table == TableSource::trained;
    if (!file.empty() && !trained) {
      packing.error("mix", packing.path_of("mix") + ": needs table = \"trained\"");
    }
    packing.finish();
    if (!trained) return;
    scenario_.packing.mix =
        file.empty() ? shapes_of(scenario_) : workload_.shapes_in(packing, file);
    if (file.empty() && scenario_.packing.mix.empty()) {
      packing.error("table", packing.path_of("table") +
                                 ": \"trained\" learns from tasks that are " +
                                 "listed one by one; give them, or a CSV of tasks as mix");
    }
  }

  Diagnostics& diagnostics_;
  config::FileSource files_;
  Scenario scenario_;
  WorkloadReader workload_;
};

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string file = slash == path.npos ? path : path.substr(slash + 1);
  const std::size_t dot = file.rfind('.');
  return dot == file.npos || dot == 0 ? file : file.substr(0, dot);
}

}  // namespace

std::optional<Scenario> load_scenario(const std::string& path,
                                      std::span<const std::string> settings,
                                      Diagnostics& diagnostics, const ReadFile& read_file) {
  std::string problem;
  const std::optional<std::string> text = read_file(path, problem);
  if (!text) {
    const std::uint32_t source = diagnostics.add_source(path);
    diagnostics.error({source, 0, 0}, "cannot read the scenario: " + problem);
    return std::nullopt;
  }
  const std::uint32_t source = diagnostics.add_source(path, *text);
  std::optional<Node> document = parse_document(*text, source, diagnostics);
  if (!document) return std::nullopt;
  document->at = {source, 0, 0};
  const std::vector<std::string> keys =
      settings.empty() ? std::vector<std::string>() : known_keys();
  for (const std::string& setting : settings)
    config::apply_override(*document, setting, keys, diagnostics);

  Scenario scenario = ScenarioReader(diagnostics, read_file, path).read(*document);
  if (!diagnostics.empty()) return std::nullopt;
  if (scenario.name.empty()) scenario.name = stem_of(path);
  return scenario;
}

std::vector<std::string> known_keys() {
  // One table of each kind, so that every reader runs. Its errors do not matter.
  constexpr std::string_view kSample = R"(
    [[tenants]]
    [[models]]
    [[queues]]
    [[cluster.nodes]]
    [[cluster.gpus]]
    [[workload]]
    kind = "tasks"
    retry = {}
    expected_run = {}
    [[workload.tasks]]
    [[workload]]
    kind = "poisson"
    [[workload.steps]]
    [[at]]
  )";
  Diagnostics diagnostics;
  config::Notes notes;
  diagnostics.note_in(&notes);
  const ReadFile read_sample = [&](const std::string&, std::string&) {
    return std::optional<std::string>(kSample);
  };
  (void)load_scenario("sample", {}, diagnostics, read_sample);
  return {notes.keys.begin(), notes.keys.end()};
}

}  // namespace berth::sim
