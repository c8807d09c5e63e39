// See mix.h.
#include "core/packing/mix.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/units.h"

namespace berth::core {
namespace {

constexpr std::uint64_t kCoveredPercent = 95;
constexpr std::int64_t kMemoryMost = std::int64_t{1} << 40;  // 2^40 MiB: keeps the sums in range

}  // namespace

ShapeClass class_of(const Shape& shape) {
  if (shape.gpus == 0) return {0, 0, shape.cpu.value, 0};
  return {shape.gpus, shape.share, shape.cpu.value, shape.kinds};
}

void Mix::note_arrival(const Shape& shape) {
  const ShapeClass key = class_of(shape);
  if (classes_.size() == kClassesMax && !classes_.contains(key)) drop_least();
  Count& count = classes_[key];
  count.arrivals += kOne;
  count.memory += kOne * static_cast<std::uint64_t>(
                             std::clamp<std::int64_t>(shape.memory.value, 0, kMemoryMost));
  if (++remembered_ == kArrivalsRemembered) halve();
}

Mix Mix::restored(std::map<ShapeClass, Count> classes, std::uint32_t remembered) {
  ASSERT(classes.size() <= kClassesMax);
  Mix mix;
  mix.classes_ = std::move(classes);
  mix.remembered_ = remembered;
  return mix;
}

void Mix::halve() {
  for (auto it = classes_.begin(); it != classes_.end();) {
    it->second.arrivals /= 2;
    it->second.memory /= 2;
    it = it->second.arrivals == 0 ? classes_.erase(it) : std::next(it);
  }
  remembered_ = kArrivalsRemembered / 2;
}

void Mix::drop_least() {
  classes_.erase(std::min_element(classes_.begin(), classes_.end(), [](auto& a, auto& b) {
    return a.second.arrivals < b.second.arrivals;
  }));
}

TypicalMix typical(const Mix& mix) {
  std::vector<std::pair<ShapeClass, Mix::Count>> ranked(mix.classes().begin(), mix.classes().end());
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.second.arrivals > b.second.arrivals;
  });
  std::uint64_t all = 0;
  for (const auto& [shape, count] : ranked)
    all += count.arrivals;
  std::size_t taken = 0;
  std::uint64_t covered = 0;
  while (taken < ranked.size() && taken < kTypicalMax && covered * 100 < all * kCoveredPercent)
    covered += ranked[taken++].second.arrivals;
  TypicalMix result;
  for (std::size_t i = 0; i < taken; ++i) {
    const auto& [shape, count] = ranked[i];
    const std::int64_t weight = scale(static_cast<std::int64_t>(count.arrivals), kWeightTotal,
                                      static_cast<std::int64_t>(covered));
    result.push_back({shape, static_cast<std::int64_t>(count.memory / count.arrivals),
                      static_cast<std::uint32_t>(weight)});
  }
  return result;
}

}  // namespace berth::core
