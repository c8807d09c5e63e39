// WorkFolders: the folders in which commands work, each that of one task: ROOT/LEASE.TASK.work.
//
// They stand outside the data folder, and each belongs to the user as whom its command runs and is
// closed to all others. The root belongs to the agent's user; others may pass through it, not list
// or change it. So nobody but the agent can put anything in the place of a folder. What stands
// inside is the command's: it is removed without following links, to any depth, by a thread of its
// own, so that nobody waits for a task that left a million files.
//
// A folder that is still as new is used again, if it was the agent's own user's: to make one costs
// ten times as much as to rename one. One of another user never is, who may still hold it open.
//
// One thread, the worker's; prepare() and find() come first.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/worker.h"
#include "base/result.h"

namespace berth::agent {

// Who owns a folder.
struct FolderOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};

class WorkFolders {
 public:
  explicit WorkFolders(const std::filesystem::path& root) : root_(root.string()) {}
  WorkFolders(WorkFolders&&) = default;
  WorkFolders& operator=(WorkFolders&&) = delete;
  // What is left to remove, the next one finds.
  ~WorkFolders();

  // Makes the root. Refuses one that is another user's, or that holds anything else.
  Status prepare() const;

  // The names that are there of tasks' folders; goes on with what was to be removed.
  std::vector<std::string> find();

  // `name` has no ending; what stands under it already goes. No owner: the agent's user.
  Status make(const std::string& name, const std::optional<FolderOwner>& owner);
  // The folder of an attempt that has ended becomes the next attempt's. False: it is not there, or
  // not this owner's.
  bool pass_on(const std::string& from, const std::string& to,
               const std::optional<FolderOwner>& owner) const;
  // Its task has ended: a folder with nothing in it goes.
  void tidy(const std::string& name);
  void discard(const std::string& name) { discard_path(path_of(name)); }
  bool has(const std::string& name) const;
  // Something that was discarded is still being removed.
  bool is_sweeping() const { return *sweeping_ > 0; }
  // That the disk has for others than root; the most there is if it does not tell.
  std::uint64_t free_bytes() const;

  std::string stem_of(const std::string& name) const { return root_ + "/" + name; }
  std::string path_of(const std::string& name) const { return stem_of(name) + ".work"; }
  const std::string& root() const { return root_; }

 private:
  void discard_path(const std::string& path);
  void sweep(std::string path);

  std::string root_;
  std::vector<std::string> spares_;  // paths
  std::uint64_t next_number_ = 0;    // of spares, and of what is to be removed
  std::shared_ptr<std::atomic<bool>> stop_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<int>> sweeping_ = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<Worker> sweeper_;
};

// Removes a folder and all in it, and follows no link. False: something is left, as when `stop`
// became true.
bool remove_tree(const std::string& path, const std::atomic<bool>& stop);

}  // namespace berth::agent
