// See task_users.h.
#include "main/task_users.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "config/diagnostics.h"
#include "journal/running_hash.h"
#include "main/action_text.h"
#include "store/folder_access.h"

namespace berth::main {
namespace {

using agent::TaskUser;

std::string own_user() {
  const uid_t uid = ::geteuid();
  return "\"" + agent::user_name(uid) + "\" (uid " + std::to_string(uid) + ")";
}

// The user that a key names; none: the server's own. What it may not be depends on who may ask.
Result<std::optional<TaskUser>> user_for(const std::string& key, const std::string& name,
                                         bool authentication) {
  Result<TaskUser> user = agent::find_user(name);
  if (!user) {
    return Error{key + ": " + user.error().message +
                 " Name one that exists, or make it: useradd --system --no-create-home " + name};
  }
  const bool is_own = user->uid == ::geteuid();
  if (authentication && (is_own || user->uid == 0)) {
    return Error{key + ": with authentication, commands must not run as " + config::quoted(name) +
                 ", who " + (is_own ? "is the server's own user" : "may do everything") +
                 " and can make anyone an admin; name a user that owns nothing else"};
  }
  if (is_own) return std::optional<TaskUser>();
  if (const std::string missing = agent::missing_capabilities(); !missing.empty()) {
    return Error{key + ": " + config::quoted(name) +
                 " is another user than the server's, and only root can start commands as another "
                 "one; the server runs as " +
                 own_user() + " without " + missing + ". Start it as root, or leave out " + key};
  }
  return std::optional<TaskUser>(std::move(*user));
}

// Groups whose members read what is everybody's, or become root.
constexpr std::array<const char*, 7> kMightyGroups = {"shadow", "disk", "docker", "sudo",
                                                      "wheel",  "lxd",  "kmem"};

std::vector<std::string> mighty_groups_of(const TaskUser& user) {
  std::vector<std::string> names;
  const auto is_in = [&](gid_t group) {
    return group == user.gid || std::ranges::find(user.groups, group) != user.groups.end();
  };
  if (is_in(0)) names.emplace_back("root");
  for (const char* name : kMightyGroups) {
    std::vector<char> buffer(64UL * 1024);
    group entry{};
    group* found = nullptr;
    ::getgrnam_r(name, &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr && found->gr_gid != 0 && is_in(found->gr_gid)) names.emplace_back(name);
  }
  return names;
}

bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto inner = path.lexically_normal();
  const auto outer = (folder / "").lexically_normal().parent_path();
  const auto end = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end.first == outer.end();
}

// Of the nearest part of the path that is there.
dev_t device_of(std::filesystem::path path) {
  struct stat info {};
  while (::stat(path.c_str(), &info) != 0 && path.has_relative_path())
    path = path.parent_path();
  return info.st_dev;
}

// Says whose server it is, and on which data folder.
std::string tasks_name(const config::ServerConfig& config) {
  const std::string data =
      std::filesystem::weakly_canonical(std::filesystem::absolute(config.server.data)).string();
  const std::uint64_t hash = journal::hash_bytes(std::as_bytes(std::span(data)));
  return "berth-" + std::to_string(::geteuid()) + "-" + hex_text(hash);
}

// The first folder on the way that others may not pass; "": none.
std::string closed_part(const std::filesystem::path& path) {
  std::filesystem::path at = path.parent_path();
  for (; at.has_relative_path(); at = at.parent_path()) {
    struct stat info {};
    if (::stat(at.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) == 0) return at.string();
  }
  return "";
}

}  // namespace

Result<TaskUsers> TaskUsers::from(const config::ServerConfig& config) {
  TaskUsers users;
  users.authentication_ = config.server.authentication;
  if (!config.tasks.run_as.empty()) {
    auto user = user_for("tasks.run_as", config.tasks.run_as, users.authentication_);
    if (!user) return user.error();
    users.run_as_ = std::move(*user);
  }
  for (std::size_t i = 0; i < config.tenants.size(); ++i) {
    const std::string& name = config.tenants.specs[i].unix_user;
    if (name.empty()) continue;
    const std::string& tenant = config.tenants.names[i];
    auto user = user_for("tenants." + tenant + ".unix_user", name, users.authentication_);
    if (!user) return user.error();
    users.by_tenant_.emplace(tenant, std::move(*user));
  }
  return users;
}

Result<std::optional<TaskUser>> TaskUsers::user_of(const std::string& tenant) const {
  const auto own = by_tenant_.find(tenant);
  if (own != by_tenant_.end()) return own->second;
  if (run_as_ || !authentication_) return run_as_;
  return Error{"commands of tenant " + config::quoted(tenant) +
               " are refused: with authentication on they would run as the server's own user, "
               "who can read every tenant's data and make anyone an admin; ask the operator to "
               "set tasks.run_as, or unix_user of the tenant, to a user of the machine"};
}

std::string TaskUsers::sentence() const {
  std::string text = run_as_ ? "as user " + run_as_->name
                     : authentication_
                         ? "refused, except of tenants that have a unix_user"
                         : "as " + agent::user_name(::geteuid()) + ", the server's own user";
  if (!run_as_ && authentication_ && by_tenant_.empty()) {
    text = "refused: set tasks.run_as, or unix_user of tenants";
  }
  for (const auto& [tenant, user] : by_tenant_) {
    text += "; those of tenant " + config::quoted(tenant) + " as user " +
            (user ? user->name : agent::user_name(::geteuid()));
  }
  return text;
}

std::vector<std::string> TaskUsers::remarks() const {
  std::vector<std::string> remarks;
  if (!authentication_ && !run_as_ && ::geteuid() == 0) {
    remarks.emplace_back(
        "authentication is off and commands run as root: any local user is root here; set "
        "server.authentication = true and tasks.run_as, or start the server as another user");
  }
  std::map<uid_t, TaskUser> users;
  std::map<uid_t, std::vector<std::string>> tenants;
  if (run_as_) users.emplace(run_as_->uid, *run_as_);
  for (const auto& [tenant, user] : by_tenant_) {
    if (!user) continue;
    users.emplace(user->uid, *user);
    tenants[user->uid].push_back(config::quoted(tenant));
  }
  for (const auto& [uid, names] : tenants) {
    const std::string& user = users.at(uid).name;
    if (run_as_ && run_as_->uid == uid) {
      remarks.push_back("tenant " + names.front() + " has the user of tasks.run_as, " + user +
                        ", and shares it with every tenant that has no unix_user; while they run, "
                        "their commands can read and end each other's; give it another");
    }
    for (std::size_t i = 1; i < names.size(); ++i) {
      remarks.push_back("tenants " + names[i - 1] + " and " + names[i] + " have one user, " + user +
                        "; while they run, their commands can read and end each other's; give "
                        "each a unix_user of its own");
    }
  }
  for (const auto& [uid, user] : users) {
    for (const std::string& group : mighty_groups_of(user)) {
      remarks.push_back("user " + user.name + " is in the group " + group +
                        ", whose members can read what is others' or become root; name a user "
                        "that is not");
    }
  }
  return remarks;
}

Result<TaskGroups> task_groups(const config::ServerConfig& config, GroupUse use) {
  const std::string& wanted = config.tasks.cgroup;
  if (wanted == "off") return TaskGroups{};
  const bool by_name = wanted != "auto";
  TaskGroups groups{by_name ? wanted : "/sys/fs/cgroup/" + tasks_name(config), ""};
  const Status prepared = use == GroupUse::make ? agent::prepare_group_root(groups.root)
                                                : agent::try_group_root(groups.root);
  if (prepared) return groups;
  if (by_name) return Error{"tasks.cgroup: " + prepared.error().message};
  return TaskGroups{"", prepared.error().message};
}

std::filesystem::path tasks_folder(const config::ServerConfig& config) {
  if (!config.tasks.folder.empty()) return std::filesystem::absolute(config.tasks.folder);
  return "/var/tmp/" + tasks_name(config);
}

std::string flaw_in_tasks_folder(const config::ServerConfig& config, bool for_others) {
  const std::filesystem::path folder = tasks_folder(config);
  const std::filesystem::path data = std::filesystem::absolute(config.server.data);
  if (is_below(folder, data)) {
    return "tasks.folder: " + folder.string() + " stands in the data folder " + data.string() +
           ", which commands must not reach; name a folder outside of it";
  }
  if (!for_others) return "";
  if (const std::string flaw = store::flaw_in_path(folder); !flaw.empty()) {
    return "tasks.folder: others could put their own in the place of " + folder.string() + ": " +
           flaw + "; name a folder that only root and the server's user can move";
  }
  if (const std::string closed = closed_part(folder); !closed.empty()) {
    return "tasks.folder: other users cannot reach " + folder.string() + ": " + closed +
           " lets nobody pass; chmod o+x it, or name another folder";
  }
  return "";
}

bool shares_file_system(const config::ServerConfig& config) {
  return device_of(tasks_folder(config)) ==
         device_of(std::filesystem::absolute(config.server.data));
}

}  // namespace berth::main
