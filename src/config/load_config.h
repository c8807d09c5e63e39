// Loads a server's configuration: flag over environment over file over default, each value with the
// place it came from.
//
// The built-in tenant, queues and simulated GPUs are a document like any other, laid under the
// file's, so that all layers reach them alike. A syntax error is reported alone; otherwise every
// section is read to its end and all errors appear together. A configuration with any error is
// never returned. The keys and their meaning are in docs/guide/configuration.md; a test compares
// that page with `known_config_keys`.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/files.h"
#include "config/server_config.h"

namespace berth::config {

// A "path=value" of the command line, and the flag it came by: `--set`, or an option such as
// `--data` that stands for one key. The value is TOML, or else a string: an option whose value is
// always a string puts it in quotes with toml_string, lest "7" be a number.
struct Setting {
  std::string text;
  std::string flag = "--set";
};

struct ConfigSources {
  std::optional<std::string> path;                 // of the file; none: defaults only
  std::map<std::string, std::string> environment;  // others than BERTH_* are ignored
  std::vector<Setting> settings;                   // a later one holds against an earlier one
};

// One key, its value, and where that came from.
struct ConfigValue {
  std::string section;  // "policy", "gpus.simulated"; "" at the top
  std::string block;    // of [[section]]: its name, or its place as "[0]"; else ""
  std::string name;     // "patience"
  std::string value;    // as TOML; "": not set
  std::string origin;   // "default", "file berth.toml:12", "environment BERTH_X", "flag --set"

  // As `--set` takes it: "queues.llm.max_batch_size".
  std::string key() const;
  bool operator==(const ConfigValue&) const = default;
};

struct LoadedConfig {
  ServerConfig config;
  std::vector<ConfigValue> values;  // every key there is, by section
};

std::optional<LoadedConfig> load_config(const ConfigSources& sources, Diagnostics& diagnostics,
                                        const ReadFile& read_file = read_whole_file);

// Every key the reader asks for, without names of blocks: "server.data", "queues.max_batch_size".
std::vector<std::string> known_config_keys();

// The values as one TOML file, which loads to the same configuration. Keys that are not set stand
// there as comments.
std::string config_toml(std::span<const ConfigValue> values);

}  // namespace berth::config
