// See surroundings.h.
#include "cli/surroundings.h"

#include <filesystem>

#include "config/diagnostics.h"

namespace berth::cli {
namespace {

void read_environment(const Call& call, v1::TaskSpec& spec, Values& values) {
  for (const std::string& given : call.args.values("--env")) {
    if (given.find('=') != given.npos) {
      const auto pair = read_pair(given);
      if (pair)
        (*spec.mutable_env())[pair->first] = pair->second;
      else
        values.note("--env: " + pair.error().message);
      continue;
    }
    const auto here = call.console.env ? call.console.env(given) : std::nullopt;
    if (here)
      (*spec.mutable_env())[given] = *here;
    else
      values.note("--env: " + config::quoted(given) + " is not set here; give --env " + given +
                  "=VALUE");
  }
}

void read_folder(const Call& call, v1::TaskSpec& spec, Values& values) {
  if (values.has("--no-workdir")) {
    if (values.has("--workdir")) values.note("give --workdir or --no-workdir, not both");
    return;
  }
  const std::string folder = call.console.folder ? call.console.folder() : "";
  const std::string given = values.has("--workdir") ? values.text("--workdir") : ".";
  spec.set_workdir(absolute_path(given, folder));
  if (spec.workdir().empty())
    values.note(
        "the current folder is not known; give --workdir with a whole path, or --no-workdir");
}

}  // namespace

void carry_variables(const Console& console, v1::TaskSpec& spec) {
  if (!console.env) return;
  for (const std::string_view variable : kCarriedVariables) {
    const std::string name(variable);
    const auto value = console.env(name);
    if (value && !value->empty()) spec.mutable_env()->insert({name, *value});
  }
}

std::string absolute_path(const std::string& path, const std::string& folder) {
  if (folder.empty() && !path.starts_with('/')) return {};
  std::string whole = (std::filesystem::path(folder) / path).lexically_normal().string();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

void read_surroundings(const Call& call, v1::TaskSpec& spec, Values& values) {
  read_environment(call, spec, values);
  read_folder(call, spec, values);
  if (!values.has("--no-env")) carry_variables(call.console, spec);
}

}  // namespace berth::cli
