// Every tests/scenarios/<stage>/<name>.test is a test: what is given above the dashes is played,
// and the log must be the text below them. README.md beside this file describes the language.
//
// Those in open/ say what should come out and does not yet; one that does has to move to its stage.
//
// BERTH_BLESS=1 writes the real log into the files instead; read the change before you commit it.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scenarios/compare.h"
#include "tests/scenarios/driver.h"
#include "tests/scenarios/script.h"

namespace berth::scenario::scenarios_test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(BERTH_SOURCE_DIR) / "tests" / "scenarios";

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    const std::string name = entry.path().lexically_relative(kFolder).string();
    if (entry.path().extension() == ".test") files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

void bless(const fs::path& path, const Script& script, const std::vector<std::string>& log) {
  std::ofstream out(path, std::ios::binary);
  out << script.given << kDivider << "\n";
  for (const std::string& line : log)
    out << line << "\n";
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, LeadsToTheLog) {
  const fs::path path = kFolder / GetParam();
  std::ifstream in(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const Script script = read_script("tests/scenarios/" + GetParam(), text);
  const Played played = play(script);
  for (const std::string& fault : played.faults)
    ADD_FAILURE() << GetParam() << ": " << fault;
  const std::string diff = difference(script.expected, played.log);
  if (GetParam().starts_with("open/")) {
    EXPECT_FALSE(diff.empty()) << GetParam() << " is right now: move it to its stage";
    return;
  }
  if (diff.empty()) return;
  if (std::getenv("BERTH_BLESS") != nullptr) return bless(path, script, played.log);
  ADD_FAILURE() << "tests/scenarios/" << GetParam() << " (- expected, + real)\n" << diff;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(scenario_files()),
                         [](const testing::TestParamInfo<std::string>& file) {
                           std::string name = file.param.substr(0, file.param.rfind('.'));
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace berth::scenario::scenarios_test
