// See lublin.h.
#include "exp/lublin.h"

#include <algorithm>
#include <array>

#include "exp/trace_file.h"
#include "sim/simulation.h"

namespace berth::exp {
namespace {

constexpr std::int64_t kGpus = 256;
constexpr std::size_t kWindow = 1024;
constexpr std::array<std::size_t, 10> kStarts = {1981, 2756, 4299, 8850, 3316,
                                                 2714, 5228, 7762, 4022, 7085};
constexpr std::int64_t kLatest = 1'000'000'000;  // seconds
constexpr std::int64_t kLongest = 100 * 86'400;  // seconds
constexpr double kShortRun = 10;                 // seconds
constexpr double kNano = 1e9;

LublinTrace read_jobs(const TraceFile& file, std::string name, config::Diagnostics& diagnostics) {
  LublinTrace trace{std::move(name), {}};
  for (std::size_t row = 0; row < file.rows(); ++row) {
    LublinJob job;
    job.submit_s = file.number(row, "submit_s", 0, kLatest, diagnostics);
    job.run_s = file.number(row, "run_s", 0, kLongest, diagnostics);
    job.gpus = file.number(row, "procs", 1, kGpus, diagnostics);
    job.requested_s = file.has("requested_s")
                          ? file.number(row, "requested_s", 0, kLongest, diagnostics)
                          : job.run_s;
    trace.jobs.push_back(job);
  }
  std::ranges::stable_sort(trace.jobs, {}, &LublinJob::submit_s);
  return trace;
}

// When each task started and the last one ended.
class Waits : public sim::Observer {
 public:
  void on_event(const core::Event&) override {}
  void on_action(Time at, const core::Action& action) override {
    if (std::holds_alternative<core::TaskFinished>(action)) last_ = at;
    const auto* batch = std::get_if<core::BatchStarted>(&action);
    if (batch == nullptr) return;
    for (const core::StartedTask& task : batch->tasks) {
      if (started_.size() <= task.task.value) started_.resize(task.task.value + 1);
      started_[task.task.value] = at;
    }
  }
  std::optional<Time> start_of(std::size_t task) const {
    return task < started_.size() ? started_[task] : std::nullopt;
  }
  Time last() const { return last_; }

 private:
  std::vector<std::optional<Time>> started_;
  Time last_{0};
};

}  // namespace

std::optional<LublinTraces> read_lublin(const std::string& traces,
                                        config::Diagnostics& diagnostics) {
  const std::string folder = traces + "/rlscheduler";
  const auto files = files_in(folder, diagnostics);
  if (!files) return std::nullopt;
  LublinTraces all;
  for (const std::string& name : *files) {
    const std::string path = folder + "/" + name;
    if (!name.ends_with(".csv")) {
      all.notes.push_back("skipped " + path + ": no csv");
      continue;
    }
    const std::optional<TraceFile> file = TraceFile::read(path, diagnostics);
    if (!file) continue;
    if (!file->missing({"submit_s", "run_s", "procs"}).empty() || file->rows() == 0) {
      all.notes.push_back("skipped " + path + ": no jobs with submit_s, run_s and procs");
      continue;
    }
    all.traces.push_back(read_jobs(*file, name.substr(0, name.size() - 4), diagnostics));
  }
  if (all.traces.empty() && diagnostics.empty())
    diagnostics.error({diagnostics.add_source(folder), 0, 0}, "there is no csv with jobs");
  if (!diagnostics.empty()) return std::nullopt;
  return all;
}

const std::vector<LublinPolicy>& lublin_policies() {
  static const std::string kBase =
      "order = \"slowdown\"\nreservations = 4\nbackfill_visits = 10000\ngpu_load_threshold = 1\n";
  static const std::vector<LublinPolicy> kPolicies = {
      {"slowdown", kBase},
      {"slowdown-reserve", kBase + "long_work = \"1h\"\nlong_share = 0.938\n"}};
  return kPolicies;
}

std::vector<LublinWindow> lublin_windows(const LublinTrace& trace) {
  const std::size_t jobs = trace.jobs.size();
  if (jobs <= kWindow) return {{0, jobs}};
  std::vector<LublinWindow> windows;
  const bool all_fit = std::ranges::max(kStarts) + kWindow <= jobs;
  for (std::size_t i = 0; i < kStarts.size(); ++i) {
    const std::size_t spread = (jobs - kWindow) * i / (kStarts.size() - 1);
    windows.push_back({all_fit ? kStarts[i] : spread, kWindow});
  }
  return windows;
}

ScenarioFiles lublin_scenario(const LublinTrace& trace, const LublinWindow& window,
                              const LublinPolicy& policy) {
  const std::string stem = trace.name + "-" + std::to_string(window.first);
  std::string rows = "at,gpus,expected_run,actual_run\n";
  const std::int64_t begin = trace.jobs[window.first].submit_s;
  for (std::size_t i = window.first; i < window.first + window.count; ++i) {
    const LublinJob& job = trace.jobs[i];
    rows += std::to_string(job.submit_s - begin) + "s," + std::to_string(job.gpus) + "," +
            std::to_string(job.requested_s) + "s," + std::to_string(job.run_s) + "s\n";
  }
  ScenarioFiles files;
  files.scenario = stem + "-" + policy.name + ".toml";
  files.texts[stem + ".csv"] = rows;
  files.texts[files.scenario] =
      "# " + trace.name + ", jobs from number " + std::to_string(window.first) + " on, policy " +
      policy.name + ". The trace knows no VRAM; no job asks for any.\n\nname = \"" + stem + "-" +
      policy.name + "\"\n\n[policy]\n" + policy.settings +
      "\n[[queues]]\nname = \"jobs\"\n\n[[cluster.nodes]]\nname = \"node\"\ncount = 32\n"
      "nodes_per_rack = 8\ngpus = 8\nisland = 1\nvram = \"80GB\"\n\n[[workload]]\nkind = \"csv\"\n"
      "file = \"" +
      stem + ".csv\"\n";
  return files;
}

Result<LublinFigures> run_lublin(const LublinTrace& trace, const LublinWindow& window,
                                 const LublinPolicy& policy) {
  const Result<sim::Scenario> scenario = load(lublin_scenario(trace, window, policy));
  if (!scenario) return scenario.error();
  sim::Simulation simulation(*scenario, scenario->seed);
  Waits waits;
  simulation.add_observer(waits);
  simulation.run();
  LublinFigures figures;
  const std::int64_t begin = trace.jobs[window.first].submit_s;
  for (std::size_t i = 0; i < window.count; ++i) {
    const LublinJob& job = trace.jobs[window.first + i];
    const std::optional<Time> start = waits.start_of(i);
    if (!start) return Error{trace.name + ": job " + std::to_string(i) + " never started"};
    const double wait =
        static_cast<double>(start->ns) / kNano - static_cast<double>(job.submit_s - begin);
    const auto run = static_cast<double>(job.run_s);
    figures.mean_wait_s += wait;
    figures.bounded_slowdown += std::max(1.0, (wait + run) / std::max(run, kShortRun));
  }
  const auto count = static_cast<double>(window.count);
  figures.mean_wait_s /= count;
  figures.bounded_slowdown /= count;
  figures.makespan_s = static_cast<double>(waits.last().ns) / kNano;
  return figures;
}

}  // namespace berth::exp
