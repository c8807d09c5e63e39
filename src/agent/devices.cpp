// Reading what nvidia-smi prints, and the GPUs of a node that has none.
#include "agent/devices.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "agent/places.h"
#include "agent/run_program.h"
#include "base/gpu_kind.h"

namespace berth::agent {
namespace {

constexpr Duration kSmiLimit = seconds(5);

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    std::string_view part = text.substr(0, end);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.front()))) {
      part.remove_prefix(1);
    }
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back()))) {
      part.remove_suffix(1);
    }
    parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The whole part of a number; "[N/A]" and "[Not Supported]" are none.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  if (end != text.data() + text.size() && *end != '.') return std::nullopt;
  return value;
}

std::int32_t small_number(std::string_view text) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(number(text).value_or(-1), -1, 1 << 30));
}

// Rough figures from data sheets, dense half precision; only what the queues learn is exact.
std::uint32_t speed_of(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 14> kSpeeds{{
      {"A100", 1000},
      {"A800", 1000},
      {"A10", 400},
      {"A30", 530},
      {"A40", 480},
      {"L4", 400},
      {"L40", 580},
      {"L40S", 1160},
      {"T4", 200},
      {"V100", 400},
      {"H100", 2500},
      {"H200", 3000},
      {"B200", 5000},
      {"RTX-4090", 530},
  }};
  for (const auto& [name, speed] : kSpeeds) {
    if (name == kind) return speed;
  }
  return 1000;
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// "00000000:07:00.0" -> "0000:07:00.0", as the kernel writes it.
std::string pci_address(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 4) return "";
  return lower_case(std::string(text.substr(colon - 4)));
}

Result<std::string> ask_smi(std::string_view columns, Duration limit) {
  return run_program(
      {"nvidia-smi", "--query-gpu=" + std::string(columns), "--format=csv,noheader,nounits"},
      limit);
}

}  // namespace

std::vector<GpuDescription> simulated_gpus() {
  return {
      {"SIM-a100-0", "a100-0", "A100", 40'960, 1000, true},
      {"SIM-a100-1", "a100-1", "A100", 40'960, 1000, true},
      {"SIM-l4-0", "l4-0", "L4", 24'576, 400, true},
  };
}

Result<std::vector<GpuDescription>> find_gpus() {
  const Result<std::string> text = ask_smi(smi_gpu_columns(), kSmiLimit);
  if (!text) return text.error();
  std::vector<GpuDescription> gpus = parse_smi_gpus(*text);
  if (gpus.empty()) return Error{"nvidia-smi lists no GPU."};
  find_slots(gpus, "/sys");
  const Result<std::string> matrix = run_program({"nvidia-smi", "topo", "-m"}, kSmiLimit);
  if (matrix) find_islands(gpus, *matrix);
  return gpus;
}

Result<std::vector<GpuReadings>> read_gpus(Duration limit) {
  const Result<std::string> text = ask_smi(smi_reading_columns(), limit);
  if (!text) return text.error();
  std::vector<GpuReadings> readings = parse_smi_readings(*text);
  if (readings.empty()) return Error{"nvidia-smi lists no GPU."};
  return readings;
}

std::string_view smi_gpu_columns() { return "index,uuid,name,memory.total,pci.bus_id"; }

std::vector<GpuDescription> parse_smi_gpus(std::string_view text) {
  std::vector<GpuDescription> gpus;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() != 5 || !fields[1].starts_with("GPU-")) continue;
    const std::optional<std::int64_t> index = number(fields[0]);
    const std::optional<std::int64_t> vram_mb = number(fields[3]);
    if (!index || !vram_mb || *vram_mb <= 0) continue;
    std::string kind = gpu_kind(fields[2]);
    std::string name = lower_case(kind) + "-" + std::to_string(*index);
    const std::uint32_t speed = speed_of(kind);
    gpus.push_back({std::string(fields[1]), std::move(name), std::move(kind), *vram_mb, speed});
    gpus.back().pci = pci_address(fields[4]);
    gpus.back().index = *index;
  }
  return gpus;
}

std::string_view smi_reading_columns() {
  return "uuid,memory.used,utilization.gpu,temperature.gpu,power.draw";
}

std::vector<GpuReadings> parse_smi_readings(std::string_view text) {
  std::vector<GpuReadings> readings;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() != 5 || !fields[0].starts_with("GPU-")) continue;
    readings.push_back({std::string(fields[0]), number(fields[1]).value_or(-1),
                        small_number(fields[2]), small_number(fields[3]), small_number(fields[4])});
  }
  return readings;
}

}  // namespace berth::agent
