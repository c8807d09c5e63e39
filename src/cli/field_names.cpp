// See field_names.h.
#include "cli/field_names.h"

#include <algorithm>
#include <array>

#include "config/quantity.h"

namespace berth::cli {
namespace {

struct FieldName {
  std::string_view field;  // of the API
  std::string_view flag;
  std::string_view key;  // of a workflow's file; "": it has none
};

constexpr std::array kFieldNames = {
    FieldName{"task_id", "--id", "id"},
    FieldName{"user_id", "--tenant", "tenant"},
    FieldName{"task_type", "--queue", "queue"},
    FieldName{"gpu_memory_mb", "--vram", "vram"},
    FieldName{"payload", "--payload", "payload"},
    FieldName{"command", "COMMAND", "command"},
    FieldName{"command.argv", "COMMAND", "command"},
    FieldName{"env", "--env", "env"},
    FieldName{"workdir", "--workdir", "workdir"},
    FieldName{"tier", "--tier", "tier"},
    FieldName{"priority", "--priority", "priority"},
    FieldName{"gpus", "--gpus", "gpus"},
    FieldName{"share_milli", "--share", "share"},
    FieldName{"expected_run_ms", "--expected-run", "expected_run"},
    FieldName{"not_before_unix_ms", "--not-before", "not_before"},
    FieldName{"tolerated_wait_ms", "--tolerated-wait", "tolerated_wait"},
    FieldName{"run_limit_ms", "--run-limit", "run_limit"},
    FieldName{"deadline_unix_ms", "--deadline", "deadline"},
    FieldName{"retry", "--attempts", "retry"},
    FieldName{"retry.attempts", "--attempts", "retry.attempts"},
    FieldName{"retry.backoff_ms", "--backoff", "retry.backoff"},
    FieldName{"retry.on", "--retry-on", "retry.on"},
    FieldName{"start", "--at-most-once", "start"},
    FieldName{"depends_on", "--depends-on", "depends_on"},
    FieldName{"run_after_failure", "--run-after-failure", "run_after_failure"},
    FieldName{"group", "--group", "group"},
    FieldName{"array", "--array", ""},
    FieldName{"array.indices", "--array", ""},
    FieldName{"array.at_once", "--array", ""},
    FieldName{"labels", "--label", "labels"},
    FieldName{"result_ttl_ms", "--result-ttl", "result_ttl"},
    FieldName{"stop_signal", "--stop-signal", "stop_signal"},
    FieldName{"stop_grace_ms", "--stop-grace", "stop_grace"},
    FieldName{"tokens", "--tokens", "tokens"},
    FieldName{"held", "--held", "held"},
    FieldName{"cpus_milli", "--cpus", "cpus"},
    FieldName{"memory_mb", "--memory", "memory"},
    FieldName{"gpu_kinds", "--gpu-kind", "gpu_kinds"},
    FieldName{"groups", "--groups", "groups"},
    FieldName{"within", "--within", "within"},
    FieldName{"required", "--required", "required"},
    FieldName{"mig_profile", "--mig-profile", "mig_profile"},
    FieldName{"checkpoint_interval_ms", "--checkpoint-interval", "checkpoint_interval"},
    FieldName{"restart_cost_ms", "--restart-cost", "restart_cost"},
    FieldName{"request_id", "--request-id", ""},
    FieldName{"states", "--state", ""},
    FieldName{"task_ids", "--task", ""},
    FieldName{"page_size", "--limit", ""},
    FieldName{"days", "--days", ""},
    FieldName{"stderr_only", "--stderr", ""},
    FieldName{"stdout_only", "--stdout", ""},
};

const FieldName* row_of(std::string_view field) {
  const auto found = std::ranges::find(kFieldNames, field, &FieldName::field);
  return found == kFieldNames.end() ? nullptr : &*found;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "depends_on[2]" -> "depends_on" and 2.
std::string_view without_index(std::string_view field, std::string& place) {
  const std::size_t bracket = field.find('[');
  if (bracket == field.npos || !field.ends_with(']')) return field;
  place = field.substr(bracket + 1, field.size() - bracket - 2);
  return field.substr(0, bracket);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

bool FieldNames::has_flag(std::string_view flag) const {
  if (flag == "COMMAND") return !command_.positional.empty();
  return std::ranges::find(command_.flags, flag, &Flag::name) != command_.flags.end();
}

std::string FieldNames::flag_of(std::string_view field) const {
  if (take_prefix(field, "config.")) {
    std::string flag = "--" + std::string(config::without_unit_suffix(field));
    std::ranges::replace(flag, '_', '-');
    return has_flag(flag) ? flag : "";
  }
  const FieldName* row = row_of(field);
  return row != nullptr && has_flag(row->flag) ? std::string(row->flag) : "";
}

std::string FieldNames::of(std::string_view field) const {
  if (field.starts_with("tasks[")) {
    const std::size_t end = std::min(field.find("].") + 2, field.size());
    std::string place;
    const FieldName* row = row_of(without_index(field.substr(end), place));
    if (row == nullptr || row->key.empty()) return std::string(field);
    return std::string(field.substr(0, end)).append(row->key) +
           (place.empty() ? "" : "[" + place + "]");
  }
  std::string_view name = field;
  if (!take_prefix(name, "task.")) take_prefix(name, "filter.");
  std::string place;
  name = without_index(name, place);
  for (const std::string_view map : {"env.", "labels."}) {  // "env.HOME" -> "--env HOME"
    if (!name.starts_with(map)) continue;
    const std::string flag = flag_of(map.substr(0, map.size() - 1));
    if (!flag.empty()) return flag + " " + std::string(name.substr(map.size()));
  }
  std::string flag = flag_of(name);
  if (flag.empty()) return std::string(field);
  if (place.empty()) return flag;
  return flag + " (number " + std::to_string(std::atoi(place.c_str()) + 1) + ")";
}

std::string FieldNames::known_name(std::string_view field) const {
  if (field.find('_') == field.npos) return {};
  if (std::string flag = flag_of(field); !flag.empty()) return flag;
  const FieldName* row = row_of(field);
  const bool is_file = command_.name == "workflow";
  return is_file && row != nullptr ? std::string(row->key) : "";
}

std::string FieldNames::in_sentence(std::string_view text) const {
  std::string result;
  bool in_quotes = false;
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, is_name_character);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    if (word.empty()) {
      in_quotes = in_quotes != (text.front() == '"');
      result += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::string name = in_quotes ? "" : known_name(word);
    result.append(name.empty() ? word : std::string_view(name));
    text.remove_prefix(word.size());
  }
  return result;
}

}  // namespace berth::cli
