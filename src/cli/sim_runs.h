// Runs scenarios for the sim commands: one run or one for each seed, with progress on a terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "sim/report.h"
#include "sim/scenario.h"
#include "sim/simulation.h"

namespace berth::cli {

// Shows "label: how far" on one line of a terminal, from half a second on; silent elsewhere.
class ProgressLine {
 public:
  ProgressLine(Console& console, bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void set_label(std::string label) { label_ = std::move(label); }
  void show(const sim::Progress& progress);

 private:
  Console& console_;
  bool wanted_;
  std::string label_;
  double next_s_ = 0.5;
  double began_s_;
  bool shown_ = false;
};

// One run; observers see it besides the recorder that makes the report.
sim::Report run_once(const sim::Scenario& scenario, std::uint64_t seed, ProgressLine& progress,
                     const std::vector<sim::Observer*>& observers = {});

// One report for each of the seeds first, first + 1, …
std::vector<sim::Report> run_seeds(const sim::Scenario& scenario, std::uint64_t first,
                                   std::uint64_t count, ProgressLine& progress);

// What is compared between runs and policies: a name, its key in JSON, how it is got and shown.
struct Figure {
  std::string name;
  std::string key;
  double (*of)(const sim::Report& report);
  std::string (*text)(double value);
};
const std::vector<Figure>& figures();

sim::Spread spread_of(const Figure& figure, const std::vector<sim::Report>& reports);

// {"wait_ms_mean": {"min": …}, …}
void write_spreads(sim::JsonWriter& json, const std::vector<sim::Report>& reports);

}  // namespace berth::cli
