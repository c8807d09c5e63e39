// TaskUsers: as whom commands run and where, by the configuration: users of this machine, looked up
// once, and what stands against it.
//
// Under authentication no command runs as the server's own user: it could read every tenant's data
// and write the file of tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/task_user.h"
#include "base/result.h"
#include "config/server_config.h"

namespace berth::main {

class TaskUsers {
 public:
  // An error: a user does not exist, is one that commands must not have, or this process may not
  // start anything as another.
  static Result<TaskUsers> from(const config::ServerConfig& config);

  // None: as the server's own user. An error: the commands of this tenant may not run; what to do.
  Result<std::optional<agent::TaskUser>> user_of(const std::string& tenant) const;

  // Whether some commands run as another user than the server.
  bool has_others() const { return run_as_ || !by_tenant_.empty(); }
  // For people: "as user ada; those of tenant \"red\" as user red".
  std::string sentence() const;
  // For people: what of these users gives commands more than one could expect.
  std::vector<std::string> remarks() const;

 private:
  bool authentication_ = false;
  std::optional<agent::TaskUser> run_as_;
  std::map<std::string, std::optional<agent::TaskUser>> by_tenant_;
};

// The control group whose groups limit the tasks.
struct TaskGroups {
  std::filesystem::path root;  // empty: nothing limits them
  std::string why_not;         // for people: why nothing does; "": it was asked for
};
// Makes it, or only looks whether it could. An error: it was asked for by name and cannot be had.
enum class GroupUse : std::uint8_t { make, look };
Result<TaskGroups> task_groups(const config::ServerConfig& config, GroupUse use);

// Where the working folders of tasks stand: as configured, or in /var/tmp under a name that says
// whose and of which data folder.
std::filesystem::path tasks_folder(const config::ServerConfig& config);

// Why tasks cannot work there; "": they can. `for_others`: as other users than the server's.
std::string flaw_in_tasks_folder(const config::ServerConfig& config, bool for_others);

// Whether a task that fills its folder also fills the data folder's disk.
bool shares_file_system(const config::ServerConfig& config);

}  // namespace berth::main
