// The intent as fields.
#include "agent/intent.h"

#include "agent/records.h"

namespace berth::agent {
namespace {

void put_user(std::string& text, const IntentUser& user) {
  put_field(text, "user", user.name);
  put_field(text, "uid", user.uid);
  put_field(text, "gid", user.gid);
  for (const std::uint32_t group : user.groups) {
    put_field(text, "group", group);
  }
  put_field(text, "no_new_privs", user.no_new_privs ? 1 : 0);
}

void take_user(IntentUser& user, const std::string& name, const std::string& value) {
  const auto number = [&] { return static_cast<std::uint32_t>(field_number(value)); };
  if (name == "uid") user.uid = number();
  if (name == "gid") user.gid = number();
  if (name == "group") user.groups.push_back(number());
  if (name == "no_new_privs") user.no_new_privs = number() != 0;
}

}  // namespace

std::string encode(const Intent& intent) {
  std::string text;
  put_field(text, "stem", intent.files.stem);
  put_field(text, "work_stem", intent.files.work_stem);
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
  if (intent.user) put_user(text, *intent.user);
  put_field(text, "cgroup", intent.group);
  put_field(text, "cpu_milli", intent.limits.cpu_milli);
  put_field(text, "memory_mb", intent.limits.memory_mb);
  put_field(text, "processes", intent.limits.processes);
  put_field(text, "stop_signal", intent.stop_signal);
  put_field(text, "stop_grace_ns", intent.stop_grace.ns);
  put_field(text, "run_limit_ns", intent.run_limit.ns);
  put_field(text, "limit_is_deadline", intent.limit_is_deadline ? 1 : 0);
  put_field(text, "output_cap", static_cast<std::int64_t>(intent.output_cap));
  return text;
}

Result<Intent> decode_intent(std::string_view text) {
  const Result<Fields> fields = parse_fields(text);
  if (!fields) return fields.error();
  Intent intent;
  for (const auto& [name, value] : *fields) {
    if (name == "stem") intent.files.stem = value;
    if (name == "work_stem") intent.files.work_stem = value;
    if (name == "user") intent.user = IntentUser{.name = value};
    if (intent.user) take_user(*intent.user, name, value);
    if (name == "cgroup") intent.group = value;
    if (name == "cpu_milli") intent.limits.cpu_milli = field_number(value);
    if (name == "memory_mb") intent.limits.memory_mb = field_number(value);
    if (name == "processes") intent.limits.processes = field_number(value);
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
    if (name == "limit_is_deadline") intent.limit_is_deadline = field_number(value) != 0;
    if (name == "output_cap") intent.output_cap = static_cast<std::uint64_t>(field_number(value));
  }
  return intent;
}

}  // namespace berth::agent
