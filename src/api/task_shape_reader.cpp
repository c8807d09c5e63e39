// See task_shape_reader.h.
#include "api/task_shape_reader.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "api/task_spec_reader.h"
#include "config/diagnostics.h"
#include "core/mig/profiles.h"
#include "core/model/ranges.h"

namespace berth::api {
namespace {

constexpr std::int64_t kGangMax = std::numeric_limits<std::uint16_t>::max();
constexpr auto kNarrowest = static_cast<std::size_t>(core::Level::island);
const std::vector<std::string> kLevels = {"island", "node", "rack", "cluster"};

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (std::size_t id = 1; id < core::mig::kProfiles; ++id)
    names.emplace_back(core::mig::name_of(static_cast<core::mig::ProfileId>(id)));
  return names;
}

class ShapeReader {
 public:
  ShapeReader(const v1::TaskSpec& spec, core::TaskSpec& task) : spec_(spec), task_(task) {}

  std::vector<FieldFlaw> read() {
    read_amounts();
    read_level();
    read_profile();
    check_kinds();
    if (!gpus_are_known_) return std::move(flaws_);
    if (task_.gpus == 0) {
      check_without_gpu();
    } else {
      check_parts();
      check_groups();
    }
    return std::move(flaws_);
  }

 private:
  void wrong(std::string_view field, std::string flaw) {
    flaws_.push_back({std::string(field), std::move(flaw)});
  }
  bool in_range(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return true;
    wrong(field, "must be between " + std::to_string(low) + " and " + std::to_string(high) +
                     ", not " + std::to_string(value));
    return false;
  }

  void read_amounts() {
    const std::uint32_t gpus = spec_.has_gpus() ? spec_.gpus() : 1;
    gpus_are_known_ = in_range("gpus", gpus, 0, kGangMax);
    if (gpus_are_known_) task_.gpus = static_cast<std::uint16_t>(gpus);
    const std::uint32_t groups = spec_.groups() == 0 ? 1 : spec_.groups();
    if (in_range("groups", groups, 1, kGangMax)) task_.groups = static_cast<std::uint16_t>(groups);
    const std::uint32_t share = spec_.share_milli() == 0 ? 1000 : spec_.share_milli();
    if (in_range("share_milli", share, 1, 1000)) task_.share = {share};
    if (in_range("gpu_memory_mb", spec_.gpu_memory_mb(), 0, core::kMibMax)) {
      task_.vram = {spec_.gpu_memory_mb()};
    }
    if (in_range("memory_mb", spec_.memory_mb(), 0, core::kMibMax)) {
      task_.memory = {spec_.memory_mb()};
    }
    static_assert(core::kCpuMax > std::numeric_limits<std::uint32_t>::max());
    task_.cpu = {spec_.cpus_milli()};
  }

  void read_level() {
    task_.required = spec_.required();
    if (spec_.within().empty()) return;
    const auto found = std::ranges::find(kLevels, spec_.within());
    level_is_known_ = found != kLevels.end();
    if (level_is_known_) {
      const auto place = static_cast<std::size_t>(found - kLevels.begin());
      task_.within = static_cast<core::Level>(place + kNarrowest);
    } else {
      wrong("within", "no level is named " + config::quoted(spec_.within()) +
                          config::suggestion(spec_.within(), kLevels));
    }
  }

  void read_profile() {
    if (spec_.mig_profile().empty()) return;
    task_.profile = core::mig::profile_named(spec_.mig_profile());
    if (task_.profile != core::mig::kNoProfile) return;
    const std::string meant = config::suggestion(spec_.mig_profile(), profile_names());
    wrong("mig_profile", "no MIG profile is named " + config::quoted(spec_.mig_profile()) +
                             (meant.empty() ? "; they are named as in \"1g.10gb\"" : meant));
  }

  void check_kinds() {
    if (static_cast<std::uint32_t>(spec_.gpu_kinds_size()) > core::kMaxKinds) {
      return wrong("gpu_kinds", "names " + std::to_string(spec_.gpu_kinds_size()) +
                                    "; the limit is " + std::to_string(core::kMaxKinds));
    }
    std::set<std::string_view> seen;
    for (int i = 0; i < spec_.gpu_kinds_size(); ++i) {
      const std::string field = "gpu_kinds[" + std::to_string(i) + "]";
      if (std::string flaw = flaw_in_name(spec_.gpu_kinds(i)); !flaw.empty()) {
        wrong(field, std::move(flaw));
      } else if (!seen.insert(spec_.gpu_kinds(i)).second) {
        wrong(field, "is named twice");
      }
    }
  }

  void check_without_gpu() {
    if (spec_.cpus_milli() == 0 && spec_.memory_mb() == 0) {
      wrong("gpus", "a task with gpus = 0 needs cpus_milli or memory_mb");
    }
    const auto refuse = [&](bool is_given, std::string_view field) {
      if (is_given) wrong(field, "needs a GPU, and gpus is 0: leave it out, or ask for GPUs");
    };
    refuse(spec_.gpu_memory_mb() != 0, "gpu_memory_mb");
    refuse(spec_.share_milli() != 0, "share_milli");
    refuse(!spec_.gpu_kinds().empty(), "gpu_kinds");
    refuse(spec_.groups() > 1, "groups");
    refuse(level_is_known_ && !spec_.within().empty(), "within");
    refuse(spec_.required(), "required");
    refuse(task_.profile != core::mig::kNoProfile, "mig_profile");
  }

  void check_parts() {
    if (task_.gpus > 1 && task_.share != kWholeGpu) {
      wrong("share_milli",
            "a task of several GPUs takes them whole: leave it out, or set gpus to 1");
    }
    if (spec_.mig_profile().empty()) return;
    if (task_.gpus > 1) {
      wrong("mig_profile", "is a part of one GPU, not of " + std::to_string(task_.gpus) +
                               ": leave it out, or set gpus to 1");
    }
    if (task_.gpus == 1 && task_.share != kWholeGpu) {
      wrong("share_milli", "a MIG instance is taken whole: leave it out, or leave mig_profile out");
    }
  }

  void check_groups() {
    if (task_.gpus % task_.groups != 0) {
      wrong("groups", std::to_string(task_.gpus) + " GPUs cannot be parted into " +
                          std::to_string(task_.groups) + " groups of equal size");
    }
    if (!level_is_known_ || task_.within != core::Level::cluster) return;
    const std::string need = R"(needs within: "island", "node" or "rack")";
    if (task_.groups > 1) wrong("groups", need);
    if (task_.required) wrong("required", need);
  }

  const v1::TaskSpec& spec_;
  core::TaskSpec& task_;
  bool gpus_are_known_ = true;
  bool level_is_known_ = true;
  std::vector<FieldFlaw> flaws_;
};

}  // namespace

std::vector<FieldFlaw> read_task_shape(const v1::TaskSpec& spec, core::TaskSpec& task) {
  return ShapeReader(spec, task).read();
}

}  // namespace berth::api
