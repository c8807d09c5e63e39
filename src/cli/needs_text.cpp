// See needs_text.h.
#include "cli/needs_text.h"

#include "config/quantity.h"

namespace berth::cli {
namespace {

std::string gpus_text(const v1::TaskSpec& spec, std::uint32_t gpus) {
  if (gpus == 0) return "no GPU";
  if (!spec.mig_profile().empty()) return "a MIG instance " + spec.mig_profile();
  if (gpus > 1) return std::to_string(gpus) + " GPUs";
  const std::uint32_t share = spec.share_milli();
  if (share == 0 || share == 1000) return "1 GPU";
  return config::exact_decimal(share, 1000) + " of a GPU";
}

std::string kinds_text(const v1::TaskSpec& spec) {
  std::string text;
  for (const std::string& kind : spec.gpu_kinds())
    text += (text.empty() ? " of kind " : " or ") + kind;
  return text;
}

std::string level_text(const v1::TaskSpec& spec) {
  const bool in_groups = spec.groups() > 1;
  std::string text = in_groups ? " in " + std::to_string(spec.groups()) + " groups" : "";
  if (spec.within().empty() || spec.within() == "cluster") return text;
  if (in_groups) text += ", each";
  return text + (spec.required() ? "" : " preferably") + " within one " + spec.within();
}

}  // namespace

std::string needs_text(const v1::TaskSpec& spec) {
  const std::uint32_t gpus = spec.has_gpus() ? spec.gpus() : 1;
  std::string text = gpus_text(spec, gpus) + kinds_text(spec) + level_text(spec);
  if (spec.cpus_milli() > 0) {
    text += ", " + config::exact_decimal(spec.cpus_milli(), 1000) +
            (spec.cpus_milli() == 1000 ? " CPU" : " CPUs");
  }
  if (spec.memory_mb() > 0) text += ", " + config::vram_text(spec.memory_mb()) + " of memory";
  return text == "1 GPU" ? "" : text;
}

}  // namespace berth::cli
