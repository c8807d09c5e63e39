// Fuzz: any text as a server's configuration. It is refused with diagnostics that name their
// places, or it loads; then what `config show` prints loads to the same, with nothing changed.
//
// What follows the line `#set` are values of the command line, one in each line.
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

std::optional<config::LoadedConfig> load(const std::string& text, config::ConfigSources sources,
                                         config::Diagnostics& diagnostics) {
  sources.path = "fuzz.toml";
  return load_config(sources, diagnostics, [&](const std::string&, std::string&) {
    return std::optional<std::string>(text);
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

void check_shown(const config::LoadedConfig& loaded) {
  const std::string shown = config_toml(loaded.values);
  config::Diagnostics diagnostics;
  const auto again = load(shown, {}, diagnostics);
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
  constexpr std::string_view kMark = "\n#set\n";
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t mark = text.find(kMark);
  const config::ConfigSources settings =
      mark == std::string::npos
          ? config::ConfigSources{}
          : fuzz::settings_of(std::string_view(text).substr(mark + kMark.size()));
  config::Diagnostics diagnostics;
  const auto loaded = fuzz::load(text.substr(0, mark), settings, diagnostics);
  if (loaded) {
    fuzz::check_shown(*loaded);
  } else {
    fuzz::check_diagnostics(diagnostics, text);
  }
  return 0;
}
