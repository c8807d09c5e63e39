// Mix: what arrives, as counts by class of shape; and the typical shapes in it.
//
// Learned by one call per arrival. Counts fade by halving after a fixed number of arrivals, never
// by time. Bounded: at most kClassesMax classes; a new one takes the place of the least counted.
// All in integers, kept in the order of the classes, so equal content is equal bytes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/model/shape.h"

namespace berth::core {

// What tells shapes apart for packing.
struct ShapeClass {
  std::uint16_t gpus = 0;
  std::uint16_t share = 0;  // 0 without GPUs
  std::int64_t cpu = 0;     // thousandths of a core
  KindMask kinds = 0;

  auto operator<=>(const ShapeClass&) const = default;
};

ShapeClass class_of(const Shape& shape);

// One shape of the typical mix. The weights of a mix sum to kWeightTotal, but for rounding.
struct TypicalShape {
  ShapeClass shape;
  std::int64_t memory = 0;  // MiB, the mean
  std::uint32_t weight = 0;

  bool operator==(const TypicalShape&) const = default;
};
using TypicalMix = std::vector<TypicalShape>;

inline constexpr std::uint32_t kWeightTotal = 1U << 20;

class Mix {
 public:
  static constexpr std::size_t kClassesMax = 512;
  static constexpr std::uint32_t kArrivalsRemembered = 16384;  // counts halve when as many arrived

  struct Count {
    std::uint64_t arrivals = 0;  // in kOne-ths, so that halving keeps what is rare
    std::uint64_t memory = 0;    // MiB, summed with the same weight
    bool operator==(const Count&) const = default;
  };
  static constexpr std::uint64_t kOne = 256;

  void note_arrival(const Shape& shape);

  const std::map<ShapeClass, Count>& classes() const { return classes_; }
  std::uint32_t remembered() const { return remembered_; }

  // For snapshots: the content as it was read. REQUIRES at most kClassesMax classes, none empty.
  static Mix restored(std::map<ShapeClass, Count> classes, std::uint32_t remembered);

  bool operator==(const Mix&) const = default;

 private:
  void halve();
  void drop_least();

  std::map<ShapeClass, Count> classes_;
  std::uint32_t remembered_ = 0;
};

// The most frequent classes that together cover 95 % of the arrivals, those without GPUs included;
// at most kTypicalMax. The most frequent first, equal ones in the order of their classes.
inline constexpr std::size_t kTypicalMax = 256;
TypicalMix typical(const Mix& mix);

}  // namespace berth::core
