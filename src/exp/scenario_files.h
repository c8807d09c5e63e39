// ScenarioFiles: a scenario as the files that `berth sim` would read: TOML and CSVs, kept as text.
//
// An experiment runs nothing but what these texts say, so what it writes for `berth sim` and what
// it runs itself cannot differ.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "sim/scenario.h"

namespace berth::exp {

struct ScenarioFiles {
  std::string scenario;                      // the name of the TOML file among the texts
  std::map<std::string, std::string> texts;  // by name
};

// The scenario, read as `berth sim` reads it.
Result<sim::Scenario> load(const ScenarioFiles& files);

// Writes every file into the folder, which is made if it is not there.
Status write(const ScenarioFiles& files, const std::string& folder);

}  // namespace berth::exp
