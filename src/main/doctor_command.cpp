// berth doctor: looks at what a server needs here, and says what is missing or slow.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/work_folders.h"
#include "cli/values.h"
#include "main/commands.h"
#include "main/config_sources.h"
#include "main/document.h"
#include "main/hardware.h"
#include "main/task_users.h"
#include "main/trust.h"
#include "store/file.h"
#include "store/folder_access.h"
#include "store/folder_lock.h"
#include "store/fsck.h"

namespace berth::main {
namespace {

constexpr cli::Flag kDoctorFlags[] = {kConfigFlag, kDataFlag, kSetFlag, kFormatFlag};

// A note is no fault: it says what is so, where somebody could expect something else.
enum class Grade : std::uint8_t { good, note, bad };

struct Finding {
  Grade grade = Grade::good;
  std::string text;
};

Grade good_if(bool good) { return good ? Grade::good : Grade::bad; }

// The median of a few syncs of one page, in microseconds; below zero: it cannot be written.
std::int64_t sync_time_us(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "doctor.tmp";
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  std::vector<std::int64_t> times;
  const std::array<char, 4096> page{};
  for (int i = 0; i < 15; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (::pwrite(file, page.data(), page.size(), 0) < 0 || ::fdatasync(file) != 0) break;
    times.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::steady_clock::now() - begin)
                        .count());
  }
  ::close(file);
  ::unlink(path.c_str());
  if (times.empty()) return -1;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

Finding look_at_disk(const std::filesystem::path& data) {
  if (Status made = store::make_folder(data); !made) {
    return {Grade::bad, "data: " + made.error().message};
  }
  std::error_code error;
  const std::int64_t sync = sync_time_us(data);
  if (sync < 0) return {Grade::bad, "data: " + data.string() + " cannot be written"};
  const auto space = std::filesystem::space(data, error);
  const std::uint64_t free_mib = error ? 0 : space.available >> 20U;
  const bool good = sync < 10'000 && free_mib > 1024;
  return {good_if(good), "data: " + data.string() + ", a sync takes " + std::to_string(sync) +
                             " us, " + std::to_string(free_mib) + " MiB free"};
}

Finding look_at_gpus(const config::ServerConfig& config) {
  const Result<Hardware> hardware = hardware_for(config);
  if (!hardware) return {Grade::bad, "GPUs: " + hardware.error().message};
  std::string names;
  for (const agent::GpuDescription& gpu : hardware->gpus)
    names += (names.empty() ? "" : ", ") + gpu.name;
  std::string what = "GPUs: " + names;
  if (hardware->is_simulated()) what += ", all simulated";
  if (!hardware->why_simulated.empty()) {
    what += ": " + hardware->why_simulated +
            " To be refused instead, set gpus.source to \"nvidia-smi\"";
  }
  if (!hardware->remarks.empty()) return {Grade::bad, what + "; " + hardware->remarks.front()};
  return {hardware->why_simulated.empty() ? Grade::good : Grade::note, what};
}

// Whether other users, among them those of tasks, can look into what is the server's, or change it.
void look_at_access(const config::ServerConfig& config, const std::optional<std::string>& file,
                    bool for_others, std::vector<Finding>& findings) {
  const std::size_t before = findings.size();
  for (const TrustFlaw& flaw : flaws_in_trust(config, file, for_others)) {
    findings.push_back({flaw.prevents_start ? Grade::bad : Grade::note, "access: " + flaw.text});
  }
  const auto remarks = store::check_access(config.server.data);
  if (!remarks) {
    findings.push_back({Grade::bad, "access: " + remarks.error().message});
  } else if (!remarks->empty()) {
    findings.push_back({for_others ? Grade::bad : Grade::note, "access: " + remarks->front()});
  }
  if (findings.size() > before) return;
  findings.push_back({Grade::good, "access: " + config.server.data + " is closed to other users"});
}

void look_at_tasks(const config::ServerConfig& config, const std::optional<std::string>& file,
                   std::vector<Finding>& findings) {
  const Result<TaskUsers> users = TaskUsers::from(config);
  if (!users) {
    findings.push_back({Grade::bad, "commands: " + users.error().message});
    return;
  }
  look_at_access(config, file, users->has_others(), findings);
  const bool refused = config.server.authentication && !users->has_others();
  findings.push_back({refused ? Grade::note : Grade::good, "commands: run " + users->sentence()});
  if (users->has_others() && !config.server.authentication) {
    findings.push_back({Grade::note,
                        "commands: authentication is off, so that every command can ask the server "
                        "for anything, as an admin; set server.authentication = true"});
  }
  for (const std::string& remark : users->remarks())
    findings.push_back({Grade::note, "commands: " + remark});
  const std::string folder = tasks_folder(config).string();
  std::string flaw = flaw_in_tasks_folder(config, users->has_others());
  if (flaw.empty()) {
    const bool was_there = std::filesystem::exists(folder);
    const Status made = agent::WorkFolders(folder).prepare();
    if (!made) flaw = made.error().message;
    if (!was_there) ::rmdir(folder.c_str());
  }
  findings.push_back(flaw.empty() ? Finding{Grade::good, "tasks: work in " + folder}
                                  : Finding{Grade::bad, "tasks: " + flaw});
  if (flaw.empty() && shares_file_system(config)) {
    findings.push_back(
        {Grade::note, "tasks: " + folder +
                          " is on the disk of the data folder, and one that fills it stops both; "
                          "set tasks.folder to a folder on another file system"});
  }
  const Result<TaskGroups> groups = task_groups(config, GroupUse::look);
  if (!groups) {
    findings.push_back({Grade::bad, "limits: " + groups.error().message});
  } else if (groups->root.empty()) {
    findings.push_back(
        {Grade::note,
         "limits: the CPUs and memory that tasks ask for are counted, not enforced, "
         "nor is a limit of processes: " +
             (groups->why_not.empty() ? "tasks.cgroup is \"off\""
                                      : groups->why_not + " Run the server as root on control "
                                                          "groups version 2, or name a group that "
                                                          "it may write to as tasks.cgroup")});
  } else {
    findings.push_back(
        {Grade::good,
         "limits: CPUs, memory and processes of tasks are enforced by " + groups->root.string()});
  }
}

Finding look_at_folder(const std::filesystem::path& data) {
  const store::FsckReport report = store::fsck(data);
  if (report.server_pid != 0) {
    return {Grade::good, "journal: a server runs on it, pid " + std::to_string(report.server_pid)};
  }
  if (!report.healthy()) return {Grade::bad, "journal: " + report.damage()};
  return {Grade::good, "journal: " + std::to_string(report.journal.events) + " events, healthy"};
}

void print_findings(const cli::Call& call, const std::vector<Finding>& findings, bool good) {
  constexpr std::array<std::string_view, 3> kGrades = {"ok", "note", "bad"};
  JsonWriter json;
  json.begin_object().member("healthy", good).key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().member("grade", kGrades[static_cast<std::size_t>(finding.grade)]);
    json.member("text", finding.text).end_object();
  }
  json.end_array().end_object();
  print_document(call, json);
}

int doctor(const cli::Call& call) {
  if (!has_good_format(call)) return cli::kBadInput;
  const config::ConfigSources sources = config_sources(call);
  const auto loaded = load_for(call, sources);
  if (!loaded) return cli::kBadInput;
  const std::filesystem::path data = loaded->config.server.data;
  std::vector<Finding> findings = {{Grade::good, "configuration: good"},
                                   look_at_disk(data),
                                   look_at_folder(data),
                                   look_at_gpus(loaded->config)};
  look_at_tasks(loaded->config, sources.path, findings);
  constexpr std::array<std::string_view, 3> kWords = {"ok    ", "note  ", "BAD   "};
  const bool good = std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.grade == Grade::bad; });
  if (wants_document(call)) {
    print_findings(call, findings, good);
    return good ? cli::kOk : cli::kFailed;
  }
  for (const Finding& finding : findings)
    call.console.out << kWords[static_cast<std::size_t>(finding.grade)] << finding.text << "\n";
  return good ? cli::kOk : cli::kFailed;
}

constexpr cli::Command kDoctorCommands[] = {
    {"doctor", cli::Group::local, "look at what a server needs on this machine", "[OPTIONS]",
     doctor, cli::Reach::local, kDoctorFlags},
};

}  // namespace

std::span<const cli::Command> doctor_commands() { return kDoctorCommands; }

}  // namespace berth::main
