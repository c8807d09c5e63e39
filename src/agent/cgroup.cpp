// See cgroup.h.
#include "agent/cgroup.h"

#include <array>
#include <cerrno>
#include <sstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::agent {
namespace {

using std::filesystem::path;

constexpr std::array<std::string_view, 3> kControllers{"cpu", "memory", "pids"};
constexpr std::int64_t kPeriodUs = 100'000;

Status put(const path& file, const std::string& text) {
  const Fd opened(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!opened) return file_error("open", file, errno);
  return write_all(opened.get(), text, file);
}

void put_if_there(const path& file, const std::string& text) {
  const Status ignored = put(file, text);
  static_cast<void>(ignored);
}

bool has_word(const std::string& text, std::string_view wanted) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

// All three, or which one cannot be had.
Status offer_controllers(const path& group) {
  const Result<std::string> offered = read_file(group / "cgroup.controllers");
  if (!offered) return offered.error();
  const path control = group / "cgroup.subtree_control";
  const Result<std::string> given = read_file(control);
  std::string wanted;
  for (const std::string_view controller : kControllers) {
    if (!has_word(*offered, controller)) {
      return Error{"The group " + group.string() + " has no controller \"" +
                   std::string(controller) +
                   "\" of control groups version 2; it may be in use as version 1."};
    }
    if (given.ok() && has_word(*given, controller)) continue;
    wanted += (wanted.empty() ? "+" : " +") + std::string(controller);
  }
  return wanted.empty() ? Status(Done{}) : put(control, wanted);
}

}  // namespace

Status prepare_group_root(const path& root) {
  if (Status offered = offer_controllers(root.parent_path()); !offered) return offered;
  if (::mkdir(root.c_str(), 0755) != 0 && errno != EEXIST) return file_error("create", root, errno);
  if (Status offered = offer_controllers(root); !offered) return offered;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    if (entry.is_directory(error)) ::rmdir(entry.path().c_str());
  }
  return Done{};
}

Status try_group_root(const path& root) {
  std::error_code error;
  if (std::filesystem::exists(root, error)) return offer_controllers(root);
  Status prepared = prepare_group_root(root);
  ::rmdir(root.c_str());
  return prepared;
}

bool end_group(const path& group) {
  std::error_code error;
  if (group.empty() || !std::filesystem::exists(group, error)) return true;
  put_if_there(group / "cgroup.kill", "1");
  const Result<std::string> members = read_file(group / "cgroup.procs");
  if (members.ok() && !members->empty()) return false;
  ::rmdir(group.c_str());
  return true;
}

Result<TaskGroup> TaskGroup::make(const std::string& path, const GroupLimits& limits) {
  TaskGroup group;
  if (path.empty()) return group;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return file_error("create", path, errno);
  group.path_ = path;
  const std::filesystem::path at(path);
  if (limits.cpu_milli > 0) {
    const std::string quota = std::to_string(limits.cpu_milli * kPeriodUs / 1000);
    const Status set = put(at / "cpu.max", quota + " " + std::to_string(kPeriodUs));
    if (!set) return set.error();
  }
  if (limits.memory_mb > 0) {
    const std::string bytes = std::to_string(limits.memory_mb << 20);
    if (const Status set = put(at / "memory.max", bytes); !set) return set.error();
    // Not there on a kernel without swap. A task dies as a whole.
    put_if_there(at / "memory.swap.max", "0");
    put_if_there(at / "memory.oom.group", "1");
  }
  if (limits.processes > 0) {
    const Status set = put(at / "pids.max", std::to_string(limits.processes));
    if (!set) return set.error();
  }
  group.entrance_ = Fd(::open((at / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!group.entrance_) return file_error("open", at / "cgroup.procs", errno);
  return group;
}

TaskGroup& TaskGroup::operator=(TaskGroup&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, "");
  entrance_ = std::move(other.entrance_);
  return *this;
}

TaskGroup::~TaskGroup() { remove(); }

void TaskGroup::remove() {
  entrance_.reset();
  if (!path_.empty()) ::rmdir(path_.c_str());
}

void TaskGroup::kill_all() const {
  if (!path_.empty()) put_if_there(std::filesystem::path(path_) / "cgroup.kill", "1");
}

bool TaskGroup::ran_out_of_memory() const {
  if (path_.empty()) return false;
  const Result<std::string> events = read_file(std::filesystem::path(path_) / "memory.events");
  std::istringstream words(events.ok() ? *events : "");
  std::int64_t count = 0;
  for (std::string word; words >> word >> count;) {
    if (word == "oom_kill") return count > 0;
  }
  return false;
}

}  // namespace berth::agent
