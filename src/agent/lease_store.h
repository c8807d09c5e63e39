// LeaseStore: the leases with commands, as files: one record per task (task_record.h).
//
// A lease of several tasks is several records, each with the lease's message and its own task. To
// make a file costs ten times as much as to rename one, so records that are done with are renamed
// to spares, and become those of later tasks. One that was taken back is removed instead: a late
// shim may still write to it. Working folders are kept by WorkFolders, under the same names.
//
// A lease that was begun before the machine's last boot, and whose end stands nowhere, is
// forgotten: what its record says may be older than what its command did. So is one whose record is
// another's under its name. The server, which does not find it in the inventory, counts it as lost
// with the node.
//
// A record that cannot be read just now says nothing: it is neither reported nor removed.
//
// This is the one place where these files are moved and removed. Blocks on the disk. find_leases()
// comes first and alone; afterwards everything is the worker's, except files(), group() and
// end_leftovers().
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/leases.h"
#include "agent/task_record.h"
#include "agent/work_folders.h"
#include "base/result.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

struct KeptTask {
  berth::v1::Lease lease;  // with this task alone
  std::int64_t until_unix_ms = 0;
};

class LeaseStore {
 public:
  // `work_folder`: of the working folders; empty: `folder`/work. `group_root`: of the tasks'
  // control groups; empty: they have none.
  explicit LeaseStore(const std::filesystem::path& folder,
                      const std::filesystem::path& work_folder = {},
                      std::filesystem::path group_root = {});

  // Makes the folder, which only its owner may enter, and that of the working folders.
  Status prepare() const;

  // One agent at a time uses them.
  std::filesystem::path work_root() const { return work_folders_.root(); }

  // A server has welcomed an agent of this folder on this boot, and knows by now what was lost
  // before. So what is not found here since then has never begun.
  void note_welcome() const;
  bool was_welcomed() const;

  TaskFiles files(std::uint64_t lease, std::uint64_t task_no) const;
  // Of the task's control group; empty: it has none.
  std::filesystem::path group(std::uint64_t lease, std::uint64_t task_no) const;

  // Ends what is left of a task whose shim ended and did not write down how. False: some of it is
  // dying still. `launcher`: that forked the shim, if it still runs. An error: not all could be
  // looked at now.
  Result<bool> end_leftovers(std::uint64_t lease, std::uint64_t task_no,
                             const ProcessIdentity& shim, pid_t launcher) const;

  // Puts down that this task may be begun, with a working folder of this owner if it names none.
  Status write_intent(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task,
                      const std::optional<FolderOwner>& owner = {});

  // What earlier incarnations left and was not acknowledged. Takes back what nobody has started,
  // and ends what has lost its shim: after it each task runs, has ended, or never will start. One
  // that has lost its shim and whose processes are dying still counts as running. An error:
  // something could not be read, and nobody knows whether it runs.
  Result<std::vector<FoundLease>> find_leases();

  // The server has acknowledged the end of a task: only its output is wanted still, if it has any.
  // The working folder of one that was stopped on request goes now. False: it has none.
  bool keep(std::uint64_t lease, std::uint64_t task_no, std::int64_t until_unix_ms);
  std::vector<KeptTask> find_kept();
  void remove_kept(std::uint64_t lease, std::uint64_t task_no);
  // Where the disk of the working folders has less room: removes one of those that are kept, never
  // what its task wrote to its output. The newest goes first: who filled the disk ended last.
  void make_room(std::uint64_t wanted_bytes);

 private:
  struct Name {  // LEASE.TASK
    std::uint64_t lease;
    std::uint64_t task_no;
    auto operator<=>(const Name&) const = default;
  };
  std::set<Name> names_with(const std::vector<std::string>& endings) const;
  std::set<Name> live_names() const;
  static std::optional<berth::v1::Lease> lease_in(const std::optional<TaskRecord>& record,
                                                  Name name);
  Status find_task(Name name, std::vector<FoundLease>& found);
  static std::optional<Name> name_in(std::string_view text, std::string_view& ending);
  void find_spares();
  void remove_strays();

  std::string take_spare();
  void make_spare(const std::string& path);
  bool is_over(const TaskFiles& its) const;
  Status make_work(const std::string& name, std::uint64_t lease, std::uint64_t task_no,
                   const std::optional<FolderOwner>& owner);
  void forget_work(std::uint64_t lease, std::uint64_t task_no);
  void discard_work(const TaskFiles& files);

  std::string folder_;
  std::string welcome_;  // the file that says so: the boot's id
  std::string boot_id_;
  WorkFolders work_folders_;
  std::map<std::uint64_t, std::uint64_t> work_of_;  // by task: the lease whose folder it has
  std::filesystem::path group_root_;
  std::vector<std::string> spare_records_;  // paths
  std::uint64_t next_spare_ = 0;
};

// How a task whose shim has ended did, in the words of the protocol.
berth::v1::TaskResult result_of(const std::optional<TaskRecord>& record);
// When it did. Where nobody wrote it down: just now.
TaskTimes times_of(const std::optional<TaskRecord>& record);

}  // namespace berth::agent
