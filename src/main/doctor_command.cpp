// berth doctor: looks at what a server needs here, and says what is missing or slow.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "cli/values.h"
#include "main/commands.h"
#include "main/config_sources.h"
#include "main/hardware.h"
#include "store/folder_lock.h"
#include "store/fsck.h"

namespace berth::main {
namespace {

constexpr cli::Flag kDoctorFlags[] = {kConfigFlag, kDataFlag, kSetFlag};

struct Finding {
  bool good = true;
  std::string text;
};

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
  std::error_code error;
  std::filesystem::create_directories(data, error);
  const std::int64_t sync = sync_time_us(data);
  if (sync < 0) return {false, "data: " + data.string() + " cannot be written"};
  const auto space = std::filesystem::space(data, error);
  const std::uint64_t free_mib = error ? 0 : space.available >> 20U;
  const bool good = sync < 10'000 && free_mib > 1024;
  return {good, "data: " + data.string() + ", a sync takes " + std::to_string(sync) + " us, " +
                    std::to_string(free_mib) + " MiB free"};
}

Finding look_at_gpus(const config::ServerConfig& config) {
  const Hardware hardware = hardware_for(config);
  std::string names;
  for (const agent::GpuDescription& gpu : hardware.gpus)
    names += (names.empty() ? "" : ", ") + gpu.name;
  const char* const what = !hardware.is_simulated() ? "GPUs: "
                           : !config.nodes.empty()
                               ? "GPUs: simulated, on the nodes of the configuration: "
                               : "GPUs: nvidia-smi lists none; simulated ones are used: ";
  return {hardware.remarks.empty(),
          what + names + (hardware.remarks.empty() ? "" : "; " + hardware.remarks.front())};
}

Finding look_at_folder(const std::filesystem::path& data) {
  const store::FsckReport report = store::fsck(data);
  if (report.server_pid != 0) {
    return {true, "journal: a server runs on it, pid " + std::to_string(report.server_pid)};
  }
  if (!report.healthy()) return {false, "journal: " + report.damage()};
  return {true, "journal: " + std::to_string(report.journal.events) + " events, healthy"};
}

int doctor(const cli::Call& call) {
  const auto loaded = load_for(call, config_sources(call));
  if (!loaded) return cli::kBadInput;
  const std::filesystem::path data = loaded->config.server.data;
  const std::vector<Finding> findings = {{true, "configuration: good"},
                                         look_at_disk(data),
                                         look_at_folder(data),
                                         look_at_gpus(loaded->config)};
  bool good = true;
  for (const Finding& finding : findings) {
    call.console.out << (finding.good ? "ok    " : "BAD   ") << finding.text << "\n";
    good = good && finding.good;
  }
  return good ? cli::kOk : cli::kFailed;
}

constexpr cli::Command kDoctorCommands[] = {
    {"doctor", cli::Group::local, "look at what a server needs on this machine", "[OPTIONS]",
     doctor, cli::Reach::local, kDoctorFlags},
};

}  // namespace

std::span<const cli::Command> doctor_commands() { return kDoctorCommands; }

}  // namespace berth::main
