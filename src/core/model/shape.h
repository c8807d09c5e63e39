// Shapes: what a task asks of the hardware, as one plain value.
//
// A million pending tasks are a few thousand shapes; work of one shape fits where its like fits, so
// feasibility, scores and reasons are kept by shape, never by task.
#pragma once

#include <compare>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"

namespace berth::core {

// Domains of the hardware tree, the narrowest first. An island is a set of GPUs joined by NVLink:
// part of a node, or several whole nodes of one rack.
enum class Level : std::uint8_t { gpu, island, node, rack, cluster };

// GPU kinds that a task may use, a bit each. None set: any kind.
using KindMask = std::uint64_t;
inline constexpr std::uint32_t kMaxKinds = 64;

struct Shape {
  std::uint16_t gpus = 1;         // in all, the groups of a gang together; 0: CPUs and memory alone
  std::uint16_t groups = 1;       // a gang may be several groups of equal size
  Level within = Level::cluster;  // each group lies in one domain of this level
  bool required = false;          // false: preferred; a wider domain will do
  std::uint8_t profile = 0;       // a MIG profile (mig/profiles.h); 0: none
  std::uint16_t share = 1000;     // of each GPU
  std::uint32_t vram = 0;         // MiB on each GPU
  // Of the whole task. A node that carries m of its n GPUs gives m / n of it, rounded up.
  Milli cpu;
  Mib memory;
  KindMask kinds = 0;

  auto operator<=>(const Shape&) const = default;
};

// Whether it asks for nothing but a number of GPUs, a share and VRAM on each.
constexpr bool is_plain(const Shape& shape) {
  return shape == Shape{.gpus = shape.gpus, .share = shape.share, .vram = shape.vram} &&
         shape.gpus > 0;
}

constexpr bool allows(KindMask kinds, KindId kind) {
  return kinds == 0 || (kinds >> kind.value & 1) != 0;
}

}  // namespace berth::core
