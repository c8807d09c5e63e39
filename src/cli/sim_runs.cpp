// See sim_runs.h.
#include "cli/sim_runs.h"

#include <chrono>

#include "cli/table.h"
#include "sim/recorder.h"
#include "sim/unfinished.h"

namespace berth::cli {
namespace {

double wall_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

constexpr double kSecondsBetween = 0.1;

}  // namespace

ProgressLine::ProgressLine(Console& console, bool wanted)
    : console_(console), wanted_(wanted && console.err_is_terminal), began_s_(wall_seconds()) {}

ProgressLine::~ProgressLine() {
  if (shown_) console_.err << "\r\033[K" << std::flush;
}

void ProgressLine::show(const sim::Progress& progress) {
  if (!wanted_) return;
  const double elapsed = wall_seconds() - began_s_;
  if (elapsed < next_s_) return;
  next_s_ = elapsed + kSecondsBetween;
  shown_ = true;
  const double simulated_ms = static_cast<double>(progress.now.ns) / 1e6;
  console_.err << "\r\033[K" << label_ << milliseconds_text(simulated_ms) << " simulated, "
               << plural(progress.events, "event") << ", " << plural(progress.submitted, "task")
               << " submitted, " << count_text(progress.live) << " live" << std::flush;
}

sim::Report run_once(const sim::Scenario& scenario, std::uint64_t seed, ProgressLine& progress,
                     const std::vector<sim::Observer*>& observers) {
  sim::Recorder recorder(scenario, seed);
  sim::Simulation simulation(scenario, seed);
  simulation.add_observer(recorder);
  for (sim::Observer* observer : observers)
    simulation.add_observer(*observer);
  simulation.report_progress_to([&](const sim::Progress& now) { progress.show(now); });
  const double began = wall_seconds();
  simulation.run();
  const double took = wall_seconds() - began;
  sim::Report report = recorder.report();
  report.unfinished = sim::explain_unfinished(simulation.engine(), recorder.live_tasks());
  report.wall_s = took;
  return report;
}

std::vector<sim::Report> run_seeds(const sim::Scenario& scenario, std::uint64_t first,
                                   std::uint64_t count, ProgressLine& progress) {
  std::vector<sim::Report> reports;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (count > 1) {
      progress.set_label("seed " + std::to_string(i + 1) + " of " + std::to_string(count) + ": ");
    }
    reports.push_back(run_once(scenario, first + i, progress));
  }
  return reports;
}

const std::vector<Figure>& figures() {
  using sim::Report;
  const auto whole = [](double value) { return count_text(static_cast<std::uint64_t>(value)); };
  const auto two = [](double value) { return fixed_text(value, 2); };
  const auto seconds = [](double value) { return milliseconds_text(value * 1000.0); };
  static const std::vector<Figure> kFigures = {
      {"completed", "completed",
       [](const Report& r) { return static_cast<double>(r.tasks.completed); }, whole},
      {"refused", "refused", [](const Report& r) { return static_cast<double>(r.tasks.refused); },
       whole},
      {"failed or expired", "failed_or_expired",
       [](const Report& r) { return static_cast<double>(r.tasks.failed + r.tasks.expired); },
       whole},
      {"not finished", "unfinished",
       [](const Report& r) { return static_cast<double>(r.tasks.unfinished); }, whole},
      {"wait, mean", "wait_ms_mean", [](const Report& r) { return r.waits.mean; },
       milliseconds_text},
      {"wait, p99", "wait_ms_p99", [](const Report& r) { return r.waits.p99; }, milliseconds_text},
      {"wait, max", "wait_ms_max", [](const Report& r) { return r.waits.max; }, milliseconds_text},
      {"tasks per second", "throughput_per_s", [](const Report& r) { return r.throughput_per_s; },
       two},
      {"makespan", "makespan_s", [](const Report& r) { return r.makespan_s; }, seconds},
      {"batches", "batches", [](const Report& r) { return static_cast<double>(r.batches); }, whole},
      {"tasks per batch", "mean_batch_size", [](const Report& r) { return r.mean_batch_size; },
       two},
      {"GPUs busy", "gpu_busy_ratio", [](const Report& r) { return r.busy_ratio; }, percent_text},
      {"VRAM used", "gpu_vram_ratio", [](const Report& r) { return r.vram_ratio; }, percent_text},
      {"model loads", "model_loads", [](const Report& r) { return static_cast<double>(r.loads); },
       whole},
      {"evictions", "model_evictions",
       [](const Report& r) { return static_cast<double>(r.evictions); }, whole},
  };
  return kFigures;
}

sim::Spread spread_of(const Figure& figure, const std::vector<sim::Report>& reports) {
  std::vector<double> values;
  for (const sim::Report& report : reports)
    values.push_back(figure.of(report));
  return sim::spread_of(std::move(values));
}

void write_spreads(sim::JsonWriter& json, const std::vector<sim::Report>& reports) {
  json.begin_object();
  for (const Figure& figure : figures()) {
    json.key(figure.key);
    sim::write_json(json, spread_of(figure, reports));
  }
  json.end_object();
}

}  // namespace berth::cli
