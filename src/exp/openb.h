// openb: packing under growing demand, the set-up of FGD (ATC'23).
//
// The pods arrive in a shuffled order, then copies of random ones, until 130 % of the GPUs are
// asked for. None ends; one that does not fit at once is given up. What decides is the shipped
// engine, by a scenario that `berth sim` runs as well; here are the set-up and the figures.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "exp/openb_trace.h"
#include "exp/scenario_files.h"
#include "sim/packing_lessons.h"

namespace berth::exp {

struct OpenbPolicy {
  std::string name;
  std::string table;  // [packing] table of its scenario
};
const std::vector<OpenbPolicy>& openb_policies();

// Positions of pods, in the order of arrival.
std::vector<std::uint32_t> openb_arrivals(const OpenbTrace& trace, const OpenbWorkload& workload,
                                          std::uint64_t seed);

// Pods that name only models no node has are not in it: they cannot start anywhere.
ScenarioFiles openb_scenario(const OpenbTrace& trace, const OpenbWorkload& workload,
                             const OpenbPolicy& policy, std::uint64_t seed);

struct OpenbFigures {
  double allocated_percent = 0;  // of the GPUs, while the demand rounds to 130 %
  double at_100 = 0;
  double cpu_only_failed = 0;  // pods
  double seconds = 0;          // thread CPU of the run, without lessons
  double decision_us_p99 = 0;  // of the engine's work on an arrival
};

// Lessons that were given before, so that seeds with the same mix share a table.
class OpenbRunner {
 public:
  OpenbRunner(const OpenbTrace& trace, const OpenbWorkload& workload)
      : trace_(trace), workload_(workload) {}

  Result<OpenbFigures> run(const OpenbPolicy& policy, std::uint64_t seed);

 private:
  const OpenbTrace& trace_;
  const OpenbWorkload& workload_;
  core::TypicalMix last_mix_;
  std::optional<core::ValueTable> last_table_;
};

OpenbFigures mean_of(const std::vector<OpenbFigures>& runs);

}  // namespace berth::exp
