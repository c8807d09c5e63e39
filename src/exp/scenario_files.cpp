// See scenario_files.h.
#include "exp/scenario_files.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/scenario_reader.h"

namespace berth::exp {

Result<sim::Scenario> load(const ScenarioFiles& files) {
  const config::ReadFile read = [&](const std::string& path,
                                    std::string& error) -> std::optional<std::string> {
    const auto found = files.texts.find(path);
    if (found != files.texts.end()) return found->second;
    error = "there is no such file";
    return std::nullopt;
  };
  config::Diagnostics diagnostics;
  std::optional<sim::Scenario> scenario = sim::load_scenario(files.scenario, {}, diagnostics, read);
  if (!scenario) {
    return Error{"the trace does not make a scenario that can be run:\n" + diagnostics.text()};
  }
  return std::move(*scenario);
}

Status write(const ScenarioFiles& files, const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return Error{"cannot make the folder " + folder + ": " + problem.message()};
  for (const auto& [name, text] : files.texts) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) return Error{"cannot write " + path};
  }
  return Done{};
}

}  // namespace berth::exp
