// What `berth sim` prints for people. Reads a report; computes nothing that JSON does not have.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sim/report.h"
#include "sim/scenario.h"

namespace berth::cli {

// One run.
void print_summary(std::ostream& out, const sim::Scenario& scenario, const sim::Report& report);

// Several seeds of one scenario.
void print_distribution(std::ostream& out, const sim::Scenario& scenario,
                        const std::vector<sim::Report>& reports);

struct PolicyRuns {
  std::string policy;
  std::string setting;  // "PATH=VALUE" of --vary, or empty
  std::vector<sim::Report> reports;
};

// Policies, or values of a key, side by side; with several seeds the medians.
void print_comparison(std::ostream& out, const sim::Scenario& scenario,
                      const std::vector<PolicyRuns>& policies);

}  // namespace berth::cli
