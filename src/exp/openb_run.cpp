// One run of openb and its figures. See openb.h.
#include <algorithm>
#include <cmath>
#include <set>

#include <time.h>

#include "exp/openb.h"
#include "learn/self_play.h"
#include "sim/simulation.h"

namespace berth::exp {
namespace {

std::int64_t thread_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// Counts what arrived and what of it holds GPUs, and how long the engine took for each arrival.
class Meter : public sim::Observer {
 public:
  void on_event(const core::Event&) override {}
  void on_action(Time, const core::Action& action) override {
    const auto* batch = std::get_if<core::BatchStarted>(&action);
    if (batch == nullptr) return;
    for (const core::StartedTask& task : batch->tasks)
      started_.insert(task.task.value);
  }
  void before_step(const core::Event&) override { began_ = thread_ns(); }
  void after_step(const core::Event& event) override {
    if (std::holds_alternative<core::Submit>(event.body)) steps_.push_back(thread_ns() - began_);
  }

  bool has_started(std::uint64_t task) const { return started_.contains(task); }
  double p99_us() {
    if (steps_.empty()) return 0;
    std::ranges::sort(steps_);
    return static_cast<double>(steps_[steps_.size() * 99 / 100]) / 1000.0;
  }

 private:
  std::int64_t began_ = 0;
  std::vector<std::int64_t> steps_;
  std::set<std::uint64_t> started_;
};

// The mean of the allocation after each arrival at which the demand rounds to one percentage.
struct Mean {
  double sum = 0;
  int count = 0;
  void add(double value) { sum += value, ++count; }
  double value() const { return count == 0 ? 0 : sum / count; }
};

bool is_submitted(const OpenbPod& pod, const std::set<std::string>& models) {
  return pod.models.empty() ||
         std::ranges::any_of(pod.models, [&](const auto& model) { return models.contains(model); });
}

void count_allocation(const OpenbTrace& trace, const OpenbWorkload& workload,
                      const std::vector<std::uint32_t>& order, const Meter& meter,
                      OpenbFigures& figures) {
  std::set<std::string> models;
  for (const OpenbNode& node : trace.nodes)
    models.insert(node.model);
  const auto all = static_cast<double>(trace.gpu_milli());
  std::int64_t arrived = 0;
  std::int64_t used = 0;
  std::uint64_t task = 0;
  Mean at_100;
  Mean at_130;
  for (const std::uint32_t number : order) {
    const OpenbPod& pod = workload.pods[number];
    const bool started = is_submitted(pod, models) && meter.has_started(task++);
    arrived += pod.asked();
    if (started) used += pod.asked();
    if (!started && pod.gpus == 0) ++figures.cpu_only_failed;
    const long percent = std::lround(100.0 * static_cast<double>(arrived) / all);
    const double allocated = 100.0 * static_cast<double>(used) / all;
    if (percent == 100) at_100.add(allocated);
    if (percent == 130) at_130.add(allocated);
  }
  figures.at_100 = at_100.value();
  figures.allocated_percent = at_130.value();
}

}  // namespace

Result<OpenbFigures> OpenbRunner::run(const OpenbPolicy& policy, std::uint64_t seed) {
  const Result<sim::Scenario> scenario = load(openb_scenario(trace_, workload_, policy, seed));
  if (!scenario) return scenario.error();
  sim::Simulation simulation(*scenario, seed);
  Meter meter;
  simulation.add_observer(meter);
  std::int64_t lessons = 0;
  simulation.train_with([&](const std::vector<core::NodeView>& nodes, const core::TypicalMix& mix) {
    const std::int64_t began = thread_ns();
    if (!last_table_ || mix != last_mix_) {
      last_table_ = learn::train_value_table(nodes, mix);
      last_mix_ = mix;
    }
    lessons += thread_ns() - began;
    return last_table_;
  });
  const std::int64_t began = thread_ns();
  simulation.run();
  const std::int64_t took = thread_ns() - began - lessons;

  OpenbFigures figures;
  count_allocation(trace_, workload_, openb_arrivals(trace_, workload_, seed), meter, figures);
  figures.seconds = static_cast<double>(took) / 1e9;
  figures.decision_us_p99 = meter.p99_us();
  return figures;
}

OpenbFigures mean_of(const std::vector<OpenbFigures>& runs) {
  OpenbFigures mean;
  const auto count = static_cast<double>(runs.size());
  for (const OpenbFigures& run : runs) {
    mean.allocated_percent += run.allocated_percent / count;
    mean.at_100 += run.at_100 / count;
    mean.cpu_only_failed += run.cpu_only_failed / count;
    mean.seconds += run.seconds / count;
    mean.decision_us_p99 += run.decision_us_p99 / count;
  }
  return mean;
}

}  // namespace berth::exp
