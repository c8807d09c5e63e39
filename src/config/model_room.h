// Whether a GPU has room for a model: its weights, and one task beside them.
#pragma once

#include <string>
#include <string_view>

#include "base/units.h"
#include "core/model/specs.h"

namespace berth::config {

// The GPU that can promise most; name "": there is none that could hold a model.
struct LargestGpu {
  std::string name;
  Mib usable{0};

  void consider(std::string_view gpu, Mib vram, Milli vram_usable);
};

// A sentence with the numbers when the model fits on no GPU; "": it fits.
std::string flaw_in_size(std::string_view model, const core::ModelSpec& spec,
                         const LargestGpu& largest);

// What it takes on one GPU.
Mib room_of(const core::ModelSpec& spec);

}  // namespace berth::config
