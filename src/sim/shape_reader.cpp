// See shape_reader.h.
#include "sim/shape_reader.h"

#include <algorithm>

#include "core/mig/profiles.h"

namespace berth::sim {
namespace {

const std::vector<std::string> kLevels = {"island", "node", "rack", "cluster"};
constexpr auto kNarrowest = static_cast<std::size_t>(core::Level::island);

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (std::size_t id = 1; id < core::mig::kProfiles; ++id)
    names.emplace_back(core::mig::name_of(static_cast<core::mig::ProfileId>(id)));
  return names;
}

const Draw* draw_of(const TaskTemplate& task, Field field) {
  const auto found = std::ranges::find(task.drawn, field, &DrawnField::field);
  return found == task.drawn.end() ? nullptr : &found->draw;
}

std::int64_t least(const TaskTemplate& task, Field field, std::int64_t fixed) {
  const Draw* draw = draw_of(task, field);
  if (draw == nullptr) return fixed;
  return draw->kind == Draw::Kind::one_of ? std::ranges::min(draw->values) : draw->low;
}

// Every number of GPUs that the task may have.
std::vector<std::int64_t> gpu_counts(const TaskTemplate& task) {
  const Draw* draw = draw_of(task, Field::gpus);
  if (draw == nullptr) return {task.spec.gpus};
  if (draw->kind == Draw::Kind::one_of) return draw->values;
  std::vector<std::int64_t> counts;
  for (std::int64_t n = draw->low; n <= draw->high; n += draw->step)
    counts.push_back(n);
  return counts;
}

void check_without_gpu(TableReader& table, const TaskTemplate& task) {
  const core::TaskSpec& spec = task.spec;
  const bool asks = least(task, Field::cpu, spec.cpu.value) > 0 ||
                    least(task, Field::memory, spec.memory.value) > 0;
  if (!asks) {
    table.error("gpus", table.path_of("gpus") + ": a task with gpus = 0 needs cpu or memory");
  }
  const auto refuse = [&](bool is_given, const char* key) {
    if (!is_given) return;
    table.error(key, table.path_of(key) + ": a task with gpus = 0 takes no " + key);
  };
  refuse(spec.groups > 1, "groups");
  refuse(spec.profile != core::mig::kNoProfile, "profile");
  refuse(spec.kinds != 0, "kinds");
}

void check_on_several(TableReader& table, const TaskTemplate& task, std::int64_t most) {
  if (least(task, Field::share, task.spec.share.value) < kWholeGpu.value) {
    table.error("share", table.path_of("share") + ": a task on several GPUs takes them whole");
  }
  if (task.spec.profile != core::mig::kNoProfile) {
    table.error("profile", table.path_of("profile") + ": a MIG profile is a part of one GPU, not " +
                               "of " + std::to_string(most));
  }
}

void check_groups(TableReader& table, const core::TaskSpec& spec,
                  const std::vector<std::int64_t>& counts) {
  const auto uneven =
      std::ranges::find_if(counts, [&](std::int64_t n) { return n % spec.groups != 0; });
  if (uneven != counts.end()) {
    table.error("groups", table.path_of("groups") + ": " + std::to_string(*uneven) +
                              " GPUs cannot be parted into " + std::to_string(spec.groups) +
                              " groups of equal size");
  }
  if (spec.within != core::Level::cluster) return;
  const std::string levels = "within = \"island\", \"node\" or \"rack\"";
  if (spec.groups > 1) table.error("groups", table.path_of("groups") + ": needs " + levels);
  if (spec.required) table.error("required", table.path_of("required") + ": needs " + levels);
}

}  // namespace

void read_shape_fields(TableReader& table, const Scenario& scenario, core::TaskSpec& task) {
  table.number("groups", task.groups, integers(1, 10'000));
  std::size_t level = static_cast<std::size_t>(task.within) - kNarrowest;
  if (table.choice("within", kLevels, level)) {
    task.within = static_cast<core::Level>(level + kNarrowest);
  }
  table.boolean("required", task.required);
  std::size_t profile = 0;
  if (table.reference("profile", "MIG profile", profile_names(), profile)) {
    task.profile = static_cast<core::mig::ProfileId>(profile + 1);
  }
  std::vector<std::size_t> kinds;
  if (table.references("kinds", "kind of GPU", scenario.kinds.all(), kinds)) {
    task.kinds = 0;
    for (const std::size_t kind : kinds)
      task.kinds |= core::KindMask{1} << kind;
  }
}

void check_shape(TableReader& table, const TaskTemplate& task) {
  const std::vector<std::int64_t> counts = gpu_counts(task);
  const std::int64_t most = std::ranges::max(counts);
  if (std::ranges::min(counts) == 0) check_without_gpu(table, task);
  if (most > 1) check_on_several(table, task, most);
  if (task.spec.profile != core::mig::kNoProfile &&
      least(task, Field::share, task.spec.share.value) < kWholeGpu.value) {
    table.error("share", table.path_of("share") + ": a MIG profile says how much of the GPU it is");
  }
  check_groups(table, task.spec, counts);
}

}  // namespace berth::sim
