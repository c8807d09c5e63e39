// The set-up of openb: who arrives when, and the scenario that says so. See openb.h.
#include <algorithm>
#include <set>
#include <utility>

#include "base/rng.h"
#include "config/quantity.h"
#include "exp/openb.h"

namespace berth::exp {
namespace {

constexpr std::int64_t kDemandPercent = 130;
constexpr std::string_view kTaskColumns =
    "at,gpus,share,cpu,memory,kinds,within,required,actual_run,tolerated_wait\n";

std::string thousandths(std::int64_t milli) { return config::exact_decimal(milli, 1000); }

std::set<std::string> models_of(const OpenbTrace& trace) {
  std::set<std::string> models;
  for (const OpenbNode& node : trace.nodes)
    models.insert(node.model);
  return models;
}

// The models of the pod that some node has; false: it names some, and no node has any of them.
bool usable_models(const OpenbPod& pod, const std::set<std::string>& known, std::string& list) {
  for (const std::string& model : pod.models) {
    if (known.contains(model)) list += (list.empty() ? "" : ";") + model;
  }
  return pod.models.empty() || !list.empty();
}

std::string task_row(const OpenbPod& pod, const std::string& models, std::size_t ms) {
  std::string row = std::to_string(ms) + "ms," + std::to_string(pod.gpus) + ",";
  if (pod.gpus > 0) row += thousandths(pod.gpu_milli);
  row += "," + thousandths(pod.cpu_milli) + "," + std::to_string(pod.memory_mib) + "MiB,";
  row += models + (pod.gpus > 1 ? ",node,true" : ",,");
  return row + ",100d,0.1ms\n";
}

std::string tasks_csv(const OpenbTrace& trace, const OpenbWorkload& workload,
                      const std::vector<std::uint32_t>& order) {
  const std::set<std::string> known = models_of(trace);
  std::string text(kTaskColumns);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const OpenbPod& pod = workload.pods[order[i]];
    std::string models;
    if (usable_models(pod, known, models)) text += task_row(pod, models, i);
  }
  return text;
}

std::string node_block(const OpenbNode& node) {
  return "[[cluster.nodes]]\nname = \"" + node.name + "\"\ncpu = " + thousandths(node.cpu_milli) +
         "\nmemory = \"" + std::to_string(node.memory_mib) +
         "MiB\"\ngpus = " + std::to_string(node.gpus) + "\nkind = \"" + node.model +
         "\"\nvram = \"16GB\"\n\n";
}

}  // namespace

const std::vector<OpenbPolicy>& openb_policies() {
  static const std::vector<OpenbPolicy> kPolicies = {{"frag", "trained"},
                                                     {"frag-online", "online"}};
  return kPolicies;
}

std::vector<std::uint32_t> openb_arrivals(const OpenbTrace& trace, const OpenbWorkload& workload,
                                          std::uint64_t seed) {
  Rng rng(seed);
  const auto pods = static_cast<std::int64_t>(workload.pods.size());
  std::vector<std::uint32_t> order(workload.pods.size());
  std::int64_t asked = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::uint32_t>(i);
    asked += workload.pods[i].asked();
  }
  for (std::int64_t i = pods - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(rng.between(0, i))]);
  const std::int64_t limit = trace.gpu_milli() * kDemandPercent / 100;
  while (asked > limit) {
    const auto at = rng.between(0, static_cast<std::int64_t>(order.size()) - 1);
    asked -= workload.pods[order[static_cast<std::size_t>(at)]].asked();
    order.erase(order.begin() + at);
  }
  // The check counts one GPU of a candidate, the sum all of them, as the published set-up has it.
  while (true) {
    const auto copy = static_cast<std::uint32_t>(rng.between(0, pods - 1));
    if (asked + workload.pods[copy].gpu_milli > limit) return order;
    asked += workload.pods[copy].asked();
    order.push_back(copy);
  }
}

ScenarioFiles openb_scenario(const OpenbTrace& trace, const OpenbWorkload& workload,
                             const OpenbPolicy& policy, std::uint64_t seed) {
  const std::string stem = "openb-" + workload.name;
  const std::string seeded = stem + "-" + std::to_string(seed);
  const std::vector<std::uint32_t> order = openb_arrivals(trace, workload, seed);
  ScenarioFiles files;
  files.texts[seeded + ".csv"] = tasks_csv(trace, workload, order);

  std::string text = "# openb, workload " + workload.name + ", policy " + policy.name +
                     ": pods arrive one after the other and never end; one that does not fit at\n"
                     "# once is given up. The trace knows no VRAM; no pod asks for any.\n\n"
                     "name = \"" +
                     seeded + "-" + policy.name + "\"\nseed = " + std::to_string(seed) +
                     "\nstop_at = \"" + std::to_string(order.size()) + "ms\"\n\n" +
                     "[policy]\norder = \"fifo\"\npacking = \"frag\"\ngpu_load_threshold = 1\n"
                     "reservations = 0\n\n[packing]\ntable = \"" +
                     policy.table + "\"\n";
  if (policy.table == "trained") {
    std::vector<std::uint32_t> all(workload.pods.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::uint32_t>(i);
    files.texts[stem + "-mix.csv"] = tasks_csv(trace, workload, all);
    text += "mix = \"" + stem + "-mix.csv\"\n";
  }
  text += "\n[[queues]]\nname = \"pods\"\n\n[[workload]]\nkind = \"csv\"\nfile = \"" + seeded +
          ".csv\"\n\n";
  for (const OpenbNode& node : trace.nodes)
    text += node_block(node);
  files.scenario = seeded + "-" + policy.name + ".toml";
  files.texts[files.scenario] = std::move(text);
  return files;
}

}  // namespace berth::exp
