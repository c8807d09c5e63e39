// Fuzz: any text as a scenario. It is read, or refused with diagnostics that name their places; a
// small one that was read runs for a bounded number of events with all invariants holding.
//
// What follows the line `#csv` is the content of any file that the scenario names.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "config/files.h"
#include "sim/scenario_reader.h"
#include "sim/simulation.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/diagnostics.h"

namespace berth::fuzz {
namespace {

// Ends a run by an exception: a simulation has no limit of its own.
struct EnoughEvents {};

class Limit : public sim::Observer {
 public:
  void on_event(const core::Event&) override {
    constexpr int kMostEvents = 500;
    if (++events_ > kMostEvents) throw EnoughEvents{};
  }
  void on_action(Time, const core::Action&) override {}

 private:
  int events_ = 0;
};

// A run's set-up and each of its steps cost as much as there are things to look at.
bool is_small(const sim::Scenario& scenario) {
  constexpr std::size_t kMany = 50;
  return scenario.gpus.size() + scenario.queues.size() + scenario.tenants.size() < kMany;
}

void run(const sim::Scenario& scenario) {
  sim::Simulation simulation(scenario, scenario.seed);
  Limit limit;
  simulation.add_observer(limit);
  simulation.check_invariants();
  try {
    simulation.run();
  } catch (const EnoughEvents&) {
  }
  const auto& broken = simulation.broken_invariants();
  check(broken.empty(), "invariants hold: " + (broken.empty() ? "" : broken[0]));
}

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  set_assert_handler(fuzz::print_assert);
  constexpr std::string_view kMark = "\n#csv\n";
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t mark = text.find(kMark);
  const config::ReadFile read_file = [&](const std::string& path,
                                         std::string& error) -> std::optional<std::string> {
    if (path == "fuzz.toml") return text.substr(0, mark);
    if (mark != std::string::npos) return text.substr(mark + kMark.size());
    error = "no such file";
    return std::nullopt;
  };
  config::Diagnostics diagnostics;
  const auto scenario = sim::load_scenario("fuzz.toml", {}, diagnostics, read_file);
  if (!scenario) {
    fuzz::check_diagnostics(diagnostics, text);
  } else if (fuzz::is_small(*scenario)) {
    fuzz::run(*scenario);
  }
  return 0;
}
