// Four layers of names, the later over the earlier.
#include "agent/environment.h"

#include <map>

namespace berth::agent {
namespace {

// Of another user: the agent's own may name folders that are nobody else's.
constexpr const char* kPlainPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool may_pass(const std::string& name) {
  if (name.starts_with("LD_")) return false;
  for (const char* part : {"TOKEN", "SECRET", "PASSWORD"}) {
    if (name.find(part) != std::string::npos) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> task_environment(const berth::v1::Lease& lease,
                                          const berth::v1::LeasedTask& task,
                                          const EnvironmentRules& rules,
                                          const std::function<const char*(const char*)>& lookup) {
  std::map<std::string, std::string> values;
  for (const std::string& name : rules.passthrough) {
    const char* const value = may_pass(name) ? lookup(name.c_str()) : nullptr;
    if (value != nullptr) values[name] = value;
  }
  if (rules.user != nullptr) {
    values["HOME"] = rules.user->home;
    values["USER"] = values["LOGNAME"] = rules.user->name;
    values["SHELL"] = rules.user->shell;
    values["PATH"] = kPlainPath;
    values.erase("TMPDIR");
  }
  for (const auto& [name, value] : task.spec().env()) {
    values[name] = value;
  }
  values["CUDA_VISIBLE_DEVICES"] = rules.visible_devices;
  values["BERTH_TASK_ID"] = task.task_id();
  values["BERTH_ATTEMPT"] = std::to_string(task.attempt());
  values["BERTH_TENANT"] = task.tenant();
  values["BERTH_QUEUE"] = lease.queue();
  values["BERTH_LEASE"] = std::to_string(lease.id());
  if (task.spec().has_array()) {
    values["BERTH_ARRAY_ID"] = task.spec().group();
    values["BERTH_ARRAY_INDEX"] = task.spec().array().indices();
  }

  std::vector<std::string> environment;
  for (const auto& [name, value] : values) {
    environment.push_back(name);
    environment.back().append("=").append(value);
  }
  return environment;
}

}  // namespace berth::agent
