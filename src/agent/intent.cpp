// The intent as fields.
#include "agent/intent.h"

#include "agent/records.h"

namespace berth::agent {

std::string encode(const Intent& intent) {
  std::string text;
  put_field(text, "stem", intent.files.stem);
  for (const std::string& word : intent.argv) {
    put_field(text, "argv", word);
  }
  for (const std::string& entry : intent.environment) {
    put_field(text, "env", entry);
  }
  for (const RankIntent& rank : intent.ranks) {
    put_field(text, "rank", rank.number);
    for (const std::string& entry : rank.environment) {
      put_field(text, "rank_env", entry);
    }
  }
  put_field(text, "workdir", intent.workdir);
  put_field(text, "stop_signal", intent.stop_signal);
  put_field(text, "stop_grace_ns", intent.stop_grace.ns);
  put_field(text, "run_limit_ns", intent.run_limit.ns);
  put_field(text, "output_cap", static_cast<std::int64_t>(intent.output_cap));
  return text;
}

Result<Intent> decode_intent(std::string_view text) {
  const Result<Fields> fields = parse_fields(text);
  if (!fields) return fields.error();
  Intent intent;
  for (const auto& [name, value] : *fields) {
    if (name == "stem") intent.files.stem = value;
    if (name == "argv") intent.argv.push_back(value);
    if (name == "env") intent.environment.push_back(value);
    if (name == "rank") {
      intent.ranks.push_back({static_cast<std::uint32_t>(field_number(value)), {}});
    }
    if (name == "rank_env" && !intent.ranks.empty()) {
      intent.ranks.back().environment.push_back(value);
    }
    if (name == "workdir") intent.workdir = value;
    if (name == "stop_signal") intent.stop_signal = static_cast<int>(field_number(value));
    if (name == "stop_grace_ns") intent.stop_grace = {field_number(value)};
    if (name == "run_limit_ns") intent.run_limit = {field_number(value)};
    if (name == "output_cap") intent.output_cap = static_cast<std::uint64_t>(field_number(value));
  }
  return intent;
}

}  // namespace berth::agent
