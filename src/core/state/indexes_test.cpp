// The indexes of the core against plain scans, by seeded random operations.
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "core/state/fit_index.h"
#include "core/state/need_index.h"

namespace berth::core::indexes_test {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

TEST(NeedIndex, FindsTheFirstInOrderThatFits) {
  Dice dice(1);
  NeedIndex index;
  HeapPositions positions;
  struct Waiting {
    std::int64_t need;
    OrderKey key;
  };
  std::map<std::uint32_t, Waiting> queues;
  for (int round = 0; round < 20'000; ++round) {
    const auto queue = static_cast<std::uint32_t>(dice.below(60));
    if (const auto it = queues.find(queue); it != queues.end()) {
      index.erase(positions, queue, it->second.need);
      queues.erase(it);
    } else {
      const Waiting waiting{dice.below(40) * 100, {0, dice.below(50), 0, queue}};
      index.insert(positions, queue, waiting.need, waiting.key);
      queues[queue] = waiting;
    }
    const std::int64_t available = dice.below(4'500) - 100;
    std::optional<OrderKey> best;
    for (const auto& [id, waiting] : queues) {
      if (waiting.need <= available && (!best || waiting.key < *best)) best = waiting.key;
    }
    const auto found = index.best(available);
    ASSERT_EQ(found.has_value(), best.has_value());
    if (found) {
      ASSERT_EQ(found->key, *best);
    }
    ASSERT_EQ(index.empty(), queues.empty());
  }
}

TEST(NeedIndex, ForgetsNeedsThatNobodyHasAnyMore) {
  NeedIndex index;
  HeapPositions positions;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    index.insert(positions, 0, i, {0, 0, 0, i});
    index.erase(positions, 0, i);
  }
  EXPECT_FALSE(index.best(100'000));
}

struct Shown {
  Mib free;
  bool idle;
  Milli load;
};

// The same preference, by scanning.
std::optional<GpuId> scan(const std::map<std::uint32_t, Shown>& gpus, Mib need, Milli share,
                          Milli threshold, Packing packing) {
  std::optional<GpuId> best;
  const auto better = [&](const Shown& a, std::uint32_t a_id, const Shown& b, std::uint32_t b_id) {
    if (packing == Packing::first_fit) return a_id < b_id;
    if (packing == Packing::spread) {
      if (a.idle != b.idle) return a.idle;
      if (!a.idle && a.load != b.load) return a.load < b.load;
      return a.free != b.free ? a.free > b.free : a_id > b_id;
    }
    if (a.idle != b.idle) return b.idle;
    if (!a.idle && a.load != b.load) return a.load > b.load;
    return a.free != b.free ? a.free < b.free : a_id < b_id;
  };
  for (const auto& [id, gpu] : gpus) {
    if (gpu.free < need || (!gpu.idle && gpu.load + share > threshold)) continue;
    if (!best || better(gpu, id, gpus.at(best->value), best->value)) best = GpuId{id};
  }
  return best;
}

TEST(FitIndex, ChoosesAsAScanWould) {
  Dice dice(2);
  FitIndex index;
  index.keep_numbers(true);
  std::map<std::uint32_t, Shown> gpus;
  const Milli threshold{850};
  for (int round = 0; round < 20'000; ++round) {
    const auto id = static_cast<std::uint32_t>(dice.below(40));
    if (const auto it = gpus.find(id); it != gpus.end()) {
      index.erase(GpuId{id}, {it->second.free, it->second.idle, it->second.load});
      gpus.erase(it);
    } else {
      const bool idle = dice.below(2) == 0;
      const Shown gpu{Mib{dice.below(40) * 1024}, idle,
                      idle ? Milli{0} : Milli{dice.below(17) * 50}};
      index.insert(GpuId{id}, {gpu.free, gpu.idle, gpu.load});
      gpus[id] = gpu;
    }
    const Mib need{dice.below(42) * 1000};
    const Milli share{dice.below(4) == 0 ? 1000 : 50 + dice.below(16) * 50};
    for (const Packing packing : {Packing::best_fit, Packing::first_fit, Packing::spread}) {
      ASSERT_EQ(index.find(need, share, threshold, packing),
                scan(gpus, need, share, threshold, packing));
    }
    // `most` is exactly the largest need that can be satisfied.
    const auto most = index.most(share, threshold);
    ASSERT_EQ(most.has_value(),
              scan(gpus, Mib{0}, share, threshold, Packing::best_fit).has_value());
    if (most) {
      ASSERT_TRUE(index.find(*most, share, threshold, Packing::best_fit));
      ASSERT_FALSE(index.find(*most + Mib{1}, share, threshold, Packing::best_fit));
    }
    ASSERT_EQ(index.empty(), gpus.empty());
  }
}

TEST(FitIndex, NamesCandidatesBusyOnesFirst) {
  FitIndex index;
  for (std::uint32_t i = 0; i < 6; ++i)
    index.insert(GpuId{i}, {Mib{1000 + i * 100}, true, {}});
  index.insert(GpuId{9}, {Mib{9000}, false, Milli{100}});
  EXPECT_EQ(index.idle_with(Mib{1250}), 3U);
  const auto candidates = index.candidates(Mib{1400}, Milli{200}, Milli{850}, 2);
  EXPECT_EQ(candidates, (std::vector<GpuId>{GpuId{9}, GpuId{4}}));
}

}  // namespace
}  // namespace berth::core::indexes_test
