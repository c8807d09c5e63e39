// The layers of a server's configuration, laid over one another into one document: what is built
// in, the file, the environment, the flags. Every value keeps the place it came from.
//
// It knows no key but those of what is built in; which keys exist it is told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/document.h"
#include "config/load_config.h"

namespace berth::config {

// The keys of a configuration, with dots between.
struct KeyBook {
  std::vector<std::string> all;
  std::vector<std::string> single;  // those outside of blocks: the environment reaches them
};

class ConfigLayers {
 public:
  ConfigLayers(const KeyBook& keys, Diagnostics& diagnostics)
      : keys_(keys), diagnostics_(diagnostics) {}

  // None: the file cannot be read or is no TOML, which was reported.
  std::optional<Node> lay(const ConfigSources& sources, const ReadFile& read_file);

  // "default", "file berth.toml:12", "environment BERTH_X", "flag --set".
  std::string origin(const std::optional<Origin>& at) const;

 private:
  std::optional<Node> read(const std::string& path, const ReadFile& read_file);
  void lay_built_in(Node& document, bool with_queues);
  void lay_environment(Node& document, const std::map<std::string, std::string>& environment);
  void lay_settings(Node& document, const std::vector<Setting>& settings);
  bool keeps_built_in_queues(Node file, const ConfigSources& sources) const;

  const KeyBook& keys_;
  Diagnostics& diagnostics_;
  std::map<std::uint32_t, std::string> origins_;  // of each source
  std::optional<std::uint32_t> file_;
};

}  // namespace berth::config
