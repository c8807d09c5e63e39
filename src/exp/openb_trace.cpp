// See openb_trace.h.
#include "exp/openb_trace.h"

#include <algorithm>
#include <set>
#include <utility>

#include "exp/trace_file.h"

namespace berth::exp {
namespace {

constexpr std::string_view kNodesPrefix = "openb_node_list_";
constexpr std::string_view kGpuNodes = "openb_node_list_gpu_node.csv";
constexpr std::string_view kPodsPrefix = "openb_pod_list_";
constexpr std::string_view kEnding = ".csv";
constexpr std::int64_t kAmountMax = 1'000'000'000;
constexpr std::int64_t kNodeGpusMax = 16;
constexpr std::int64_t kWhole = 1000;

bool is_list(const std::string& file, std::string_view prefix) {
  return file.size() > prefix.size() + kEnding.size() && file.starts_with(prefix) &&
         file.ends_with(kEnding);
}

std::string workload_of(const std::string& file) {
  return file.substr(kPodsPrefix.size(), file.size() - kPodsPrefix.size() - kEnding.size());
}

// False, with a diagnostic, if a column is missing or there is no row.
bool has_content(const TraceFile& file, const std::vector<std::string>& columns,
                 config::Diagnostics& diagnostics) {
  for (const std::string& column : file.missing(columns))
    file.error("the column " + config::quoted(column) + " is missing", diagnostics);
  if (file.rows() == 0) file.error("expected a heading and at least one row", diagnostics);
  return file.missing(columns).empty() && file.rows() > 0;
}

std::vector<OpenbNode> read_nodes(const std::string& path, config::Diagnostics& diagnostics) {
  std::vector<OpenbNode> nodes;
  const std::optional<TraceFile> file = TraceFile::read(path, diagnostics);
  if (!file || !has_content(*file, {"sn", "cpu_milli", "memory_mib", "gpu", "model"}, diagnostics))
    return nodes;
  std::set<std::string> names;
  for (std::size_t row = 0; row < file->rows(); ++row) {
    OpenbNode node;
    node.name = file->text(row, "sn");
    node.cpu_milli = file->number(row, "cpu_milli", 0, kAmountMax, diagnostics);
    node.memory_mib = file->number(row, "memory_mib", 0, kAmountMax, diagnostics);
    node.gpus = file->number(row, "gpu", 0, kNodeGpusMax, diagnostics);
    node.model = file->text(row, "model");
    if (node.name.empty()) file->error(row, "sn", "sn: a node needs a name", diagnostics);
    if (!names.insert(node.name).second)
      file->error(row, "sn", "sn: " + config::quoted(node.name) + " stands here twice",
                  diagnostics);
    if (node.gpus == 0) continue;  // the experiment is about nodes with GPUs
    if (node.model.empty())
      file->error(row, "model", "model: a node with GPUs needs one", diagnostics);
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) file->error("no node has a GPU", diagnostics);
  return nodes;
}

std::vector<std::string> models_in(const std::string& cell) {
  std::set<std::string> models;
  std::size_t from = 0;
  while (from <= cell.size()) {
    const std::size_t to = std::min(cell.find('|', from), cell.size());
    if (to > from) models.insert(cell.substr(from, to - from));
    from = to + 1;
  }
  return {models.begin(), models.end()};
}

OpenbPod read_pod(const TraceFile& file, std::size_t row, config::Diagnostics& diagnostics) {
  OpenbPod pod;
  const std::size_t errors = diagnostics.count();
  pod.cpu_milli = file.number(row, "cpu_milli", 0, kAmountMax, diagnostics);
  pod.memory_mib = file.number(row, "memory_mib", 0, kAmountMax, diagnostics);
  pod.gpus = file.number(row, "num_gpu", 0, kNodeGpusMax, diagnostics);
  if (pod.gpus > 0) {
    pod.gpu_milli = file.number(row, "gpu_milli", 1, kWhole, diagnostics);
    pod.models = models_in(file.text(row, "gpu_spec"));
  }
  if (diagnostics.count() > errors) return pod;
  if (pod.gpus > 1 && pod.gpu_milli < kWhole)
    file.error(row, "gpu_milli", "gpu_milli: a pod on several GPUs takes them whole, 1000 each",
               diagnostics);
  if (pod.gpus == 0 && pod.cpu_milli == 0 && pod.memory_mib == 0)
    file.error(row, "num_gpu", "the pod asks for nothing: no GPU, no CPU, no memory", diagnostics);
  return pod;
}

OpenbWorkload read_pods(const std::string& path, std::string name,
                        config::Diagnostics& diagnostics) {
  OpenbWorkload workload{std::move(name), {}};
  const std::optional<TraceFile> file = TraceFile::read(path, diagnostics);
  const std::vector<std::string> columns = {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
  if (!file || !has_content(*file, columns, diagnostics)) return workload;
  for (std::size_t row = 0; row < file->rows(); ++row)
    workload.pods.push_back(read_pod(*file, row, diagnostics));
  const auto wants_gpu = [](const OpenbPod& pod) { return pod.gpus > 0; };
  if (std::ranges::none_of(workload.pods, wants_gpu))
    file->error("no pod asks for a GPU", diagnostics);
  return workload;
}

// The list of nodes with GPUs, or else the only list there is; "", with a diagnostic: neither.
std::string node_list(const std::string& folder, const std::vector<std::string>& files,
                      config::Diagnostics& diagnostics) {
  if (std::ranges::find(files, kGpuNodes) != files.end()) return std::string(kGpuNodes);
  std::vector<std::string> lists;
  std::ranges::copy_if(files, std::back_inserter(lists),
                       [](const std::string& file) { return is_list(file, kNodesPrefix); });
  if (lists.size() == 1) return lists.front();
  diagnostics.error({diagnostics.add_source(folder), 0, 0},
                    lists.empty() ? "there is no list of nodes: expected " + std::string(kGpuNodes)
                                  : "there are several lists of nodes: expected one, or " +
                                        std::string(kGpuNodes));
  return {};
}

}  // namespace

std::int64_t OpenbTrace::gpu_milli() const {
  std::int64_t sum = 0;
  for (const OpenbNode& node : nodes)
    sum += node.gpus * kWhole;
  return sum;
}

std::optional<OpenbTrace> read_openb(const std::string& traces,
                                     const std::vector<std::string>& only,
                                     config::Diagnostics& diagnostics) {
  const std::string folder = traces + "/openb";
  const auto files = files_in(folder, diagnostics);
  if (!files) return std::nullopt;
  OpenbTrace trace;
  const std::string nodes = node_list(folder, *files, diagnostics);
  if (!nodes.empty()) trace.nodes = read_nodes(folder + "/" + nodes, diagnostics);

  std::vector<std::string> known;
  for (const std::string& file : *files) {
    if (is_list(file, kPodsPrefix)) {
      known.push_back(workload_of(file));
    } else if (!is_list(file, kNodesPrefix)) {
      trace.notes.push_back("skipped " + folder + "/" + file + ": no " + std::string(kPodsPrefix) +
                            "*.csv");
    }
  }
  const std::uint32_t source = diagnostics.add_source(folder);
  if (known.empty())
    diagnostics.error({source, 0, 0}, "there is no pod list: expected openb_pod_list_*.csv");
  for (const std::string& name : only) {
    if (known.empty() || std::ranges::find(known, name) != known.end()) continue;
    diagnostics.error({source, 0, 0}, "there is no workload " + config::quoted(name) +
                                          config::suggestion(name, known));
  }
  for (const std::string& name : known) {
    if (!only.empty() && std::ranges::find(only, name) == only.end()) continue;
    const std::string path = folder + "/" + std::string(kPodsPrefix) + name + std::string(kEnding);
    trace.workloads.push_back(read_pods(path, name, diagnostics));
  }
  if (!diagnostics.empty()) return std::nullopt;
  return trace;
}

}  // namespace berth::exp
