// Fuzz: any text as a server's configuration. It is refused with diagnostics that name their
// places, or it loads; then what `config show` prints loads to the same, with nothing changed.
//
// What follows the line `#set` are values of the command line, one in each line; what follows the
// line `#xml` is what every other file holds.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "config/changes.h"
#include "config/load_config.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/diagnostics.h"

namespace berth::fuzz {
namespace {

struct Input {
  std::string text;
  config::ConfigSources settings;
  std::string xml;
};

std::optional<config::LoadedConfig> load(const Input& input, config::Diagnostics& diagnostics) {
  config::ConfigSources sources = input.settings;
  sources.path = "fuzz.toml";
  return load_config(sources, diagnostics, [&](const std::string& path, std::string&) {
    return std::optional<std::string>(path == "fuzz.toml" ? input.text : input.xml);
  });
}

config::ConfigSources settings_of(std::string_view lines) {
  config::ConfigSources sources;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    sources.settings.push_back({std::string(lines.substr(0, end))});
    lines = end == std::string_view::npos ? std::string_view{} : lines.substr(end + 1);
  }
  return sources;
}

// Takes what follows the mark off the text.
std::string cut_behind(std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const std::string behind = text.substr(at + mark.size());
  text.resize(at);
  return behind;
}

void check_shown(const config::LoadedConfig& loaded, const std::string& xml) {
  const std::string shown = config_toml(loaded.values);
  config::Diagnostics diagnostics;
  const auto again = load({shown, {}, xml}, diagnostics);
  check(again.has_value(), "what is shown loads: " + diagnostics.text() + "\n" + shown);
  check(again->config == loaded.config, "what is shown loads to the same:\n" + shown);
  const config::ConfigChanges changes = config::changes(loaded, *again);
  check(changes.empty(), "the same changes nothing, not even: " +
                             (changes.empty() ? "" : changes.sentences.front()));
}

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  set_assert_handler(fuzz::print_assert);
  fuzz::Input input;
  input.text.assign(reinterpret_cast<const char*>(data), size);
  input.xml = fuzz::cut_behind(input.text, "\n#xml\n");
  input.settings = fuzz::settings_of(fuzz::cut_behind(input.text, "\n#set\n"));
  config::Diagnostics diagnostics;
  const auto loaded = fuzz::load(input, diagnostics);
  if (loaded) {
    fuzz::check_shown(*loaded, input.xml);
  } else {
    fuzz::check_diagnostics(diagnostics, input.text);
  }
  return 0;
}
