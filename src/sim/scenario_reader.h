// Reads a scenario: TOML text and `--set` overrides in, a checked Scenario or diagnostics out.
//
// A syntax error is reported alone; otherwise every section is read to its end, so that all errors
// appear together. A scenario with any error is never returned. The keys and their meaning are in
// docs/guide/scenarios.md; a test compares that page with `known_keys`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/files.h"
#include "sim/reading.h"
#include "sim/scenario.h"

namespace berth::sim {

// `path` is read by `read_file`, and so is a CSV it names, relative to the scenario's folder.
std::optional<Scenario> load_scenario(const std::string& path,
                                      std::span<const std::string> settings,
                                      Diagnostics& diagnostics,
                                      const ReadFile& read_file = config::read_whole_file);

// Every key the reader asks for: "seed", "queues.max_batch_size", "workload.steps.id", …
std::vector<std::string> known_keys();

}  // namespace berth::sim
