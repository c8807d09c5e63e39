// See machine.h.
#include "agent/machine.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/files.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

using std::filesystem::path;

constexpr std::int64_t kMiB = 1024 * 1024;

std::string text_of(const path& file) {
  const Result<std::optional<std::string>> text = read_file_if_there(file.string());
  return text.ok() && *text ? **text : "";
}

// The first numbers of a file; none where it says "max" or -1, which is no limit.
std::optional<std::int64_t> limit_in(const path& file) {
  std::istringstream words(text_of(file));
  std::string word;
  words >> word;
  const std::optional<std::int64_t> number = parse_number(word);
  return number && *number > 0 ? number : std::nullopt;
}

// A group and all those above it, of which each may limit it.
std::vector<path> with_parents(const path& root, const std::string& group) {
  std::vector<path> groups;
  path below = path(group).relative_path();
  while (!below.empty()) {
    groups.push_back(root / below);
    below = below.parent_path();
  }
  groups.push_back(root);
  return groups;
}

void lower(std::int64_t& amount, std::optional<std::int64_t> limit) {
  if (limit) amount = std::min(amount, *limit);
}

// "200000 100000": two cores.
std::optional<std::int64_t> cpu_max(const path& group) {
  std::istringstream words(text_of(group / "cpu.max"));
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota * 1000 / period;
}

std::optional<std::int64_t> cpu_quota(const path& group) {
  const auto quota = limit_in(group / "cpu.cfs_quota_us");
  const auto period = limit_in(group / "cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return *quota * 1000 / *period;
}

std::optional<std::int64_t> mebibytes(std::optional<std::int64_t> bytes) {
  if (!bytes) return std::nullopt;
  return *bytes / kMiB;
}

}  // namespace

std::int64_t total_memory_mb(const path& proc) {
  std::istringstream lines(text_of(proc / "meminfo"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    if (words >> name >> kib && name == "MemTotal:") return kib / 1024;
  }
  return 0;
}

// Lines such as "0::/user.slice" (version 2) and "4:cpu,cpuacct:/docker/1" (version 1).
Machine within_limits(Machine whole, const path& proc, const path& sys) {
  std::istringstream lines(text_of(proc / "self" / "cgroup"));
  const path root = sys / "fs" / "cgroup";
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    for (const path& group : with_parents(root / controllers, line.substr(second + 1))) {
      if (controllers.empty()) {
        lower(whole.cpu_milli, cpu_max(group));
        lower(whole.memory_mb, mebibytes(limit_in(group / "memory.max")));
      } else {
        lower(whole.cpu_milli, cpu_quota(group));
        lower(whole.memory_mb, mebibytes(limit_in(group / "memory.limit_in_bytes")));
      }
    }
  }
  return whole;
}

Machine read_machine() {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());  // by affinity
  return within_limits({cores * 1000, total_memory_mb("/proc")}, "/proc", "/sys");
}

}  // namespace berth::agent
