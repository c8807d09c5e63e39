// The containers against the standard library's, by seeded random operations.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/chunk_fifo.h"
#include "base/flat_map.h"
#include "base/indexed_heap.h"
#include "base/ordered_set.h"
#include "base/paged_vector.h"

namespace berth::containers_test {
namespace {

// Enough randomness for a test, the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t below(std::uint64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % n;
  }

 private:
  std::uint64_t state_;
};

TEST(OrderedSet, AgreesWithStdSet) {
  Dice dice(1);
  OrderedSet ours;
  std::set<std::uint64_t> theirs;
  for (int round = 0; round < 50'000; ++round) {
    const std::uint64_t key = dice.below(2'000);
    if (dice.below(2) == 0) {
      ASSERT_EQ(ours.insert(key), theirs.insert(key).second);
    } else {
      ASSERT_EQ(ours.erase(key), theirs.erase(key) == 1);
    }
    ASSERT_EQ(ours.size(), theirs.size());
    const std::uint64_t probe = dice.below(2'100);
    const auto it = theirs.lower_bound(probe);
    ASSERT_EQ(ours.lower_bound(probe), it == theirs.end() ? std::nullopt : std::optional(*it));
    ASSERT_EQ(ours.contains(probe), theirs.contains(probe));
    if (round % 100 != 0) continue;
    ASSERT_EQ(ours.count_from(probe), static_cast<std::size_t>(std::distance(it, theirs.end())));
    ASSERT_EQ(ours.last(), theirs.empty() ? std::nullopt : std::optional(*theirs.rbegin()));
    const std::size_t n = 1 + dice.below(theirs.size() + 2);
    if (n <= theirs.size()) {
      ASSERT_EQ(ours.nth_from_last(n), *std::prev(theirs.end(), static_cast<long>(n)));
    } else {
      ASSERT_EQ(ours.nth_from_last(n), std::nullopt);
    }
  }
}

TEST(OrderedSet, VisitsInOrderAndStopsWhenTold) {
  OrderedSet set;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    set.insert(i * 7 % 1'000);
  std::vector<std::uint64_t> up;
  set.visit_from(500, [&](std::uint64_t key) {
    up.push_back(key);
    return up.size() < 3;
  });
  EXPECT_EQ(up, (std::vector<std::uint64_t>{500, 501, 502}));
  std::vector<std::uint64_t> down;
  set.visit_back([&](std::uint64_t key) {
    down.push_back(key);
    return down.size() < 2;
  });
  EXPECT_EQ(down, (std::vector<std::uint64_t>{999, 998}));
}

TEST(IndexedHeap, PopsInOrderWhateverItsHistory) {
  Dice dice(2);
  HeapPositions positions;
  IndexedHeap<std::uint64_t> heap;
  std::map<std::uint32_t, std::uint64_t> keys;
  for (int round = 0; round < 20'000; ++round) {
    const auto handle = static_cast<std::uint32_t>(dice.below(300));
    if (dice.below(3) == 0) {
      heap.erase(positions, handle);
      keys.erase(handle);
    } else {
      const std::uint64_t key = dice.below(1'000'000) * 1'000 + handle;
      heap.put(positions, handle, key);
      keys[handle] = key;
    }
    ASSERT_EQ(heap.size(), keys.size());
    if (keys.empty()) continue;
    const auto least = std::min_element(keys.begin(), keys.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; });
    ASSERT_EQ(heap.top().handle, least->first);
    ASSERT_EQ(heap.key_of(positions, least->first), least->second);
  }
  while (!heap.empty())
    heap.erase(positions, heap.top().handle);
  EXPECT_EQ(positions.get(5), HeapPositions::kAbsent);
}

TEST(FlatMap64, AgreesWithStdMap) {
  Dice dice(3);
  FlatMap64 ours;
  std::map<std::uint64_t, std::uint32_t> theirs;
  EXPECT_EQ(ours.find(1), FlatMap64::kAbsent);
  for (int round = 0; round < 50'000; ++round) {
    const std::uint64_t key = dice.below(500) << 34 | dice.below(4);
    const auto it = theirs.find(key);
    ASSERT_EQ(ours.find(key), it == theirs.end() ? FlatMap64::kAbsent : it->second);
    if (it == theirs.end()) {
      const auto value = static_cast<std::uint32_t>(dice.below(1'000));
      ours.insert(key, value);
      theirs[key] = value;
    } else if (dice.below(2) == 0) {
      ours.erase(key);
      theirs.erase(it);
    }
    ASSERT_EQ(ours.size(), theirs.size());
  }
  ours.clear();
  EXPECT_EQ(ours.size(), 0U);
}

TEST(ChunkPool, KeepsManyQueuesApartAndInOrder) {
  Dice dice(4);
  ChunkPool pool;
  std::vector<Fifo> ours(20);
  std::vector<std::vector<std::uint32_t>> theirs(20);
  std::uint32_t next = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t queue = dice.below(20);
    if (dice.below(5) < 3) {
      pool.push_back(ours[queue], {next, next + 1});
      theirs[queue].push_back(next++);
    } else if (!theirs[queue].empty()) {
      ASSERT_EQ(pool.front(ours[queue]).slot, theirs[queue].front());
      pool.pop_front(ours[queue]);
      theirs[queue].erase(theirs[queue].begin());
    }
    ASSERT_EQ(ours[queue].size, theirs[queue].size());
  }
  for (std::size_t queue = 0; queue < 20; ++queue) {
    std::vector<std::uint32_t> walked;
    for (ChunkPool::Cursor at(pool, ours[queue]); !at.done(); at.advance()) {
      walked.push_back((*at).slot);
    }
    EXPECT_EQ(walked, theirs[queue]);
    const std::size_t bytes = pool.bytes();
    pool.clear(ours[queue]);
    EXPECT_EQ(ours[queue].size, 0U);
    EXPECT_EQ(pool.bytes(), bytes);  // the memory is kept for others
  }
}

TEST(PagedVector, GrowsWithoutMoving) {
  PagedVector<int, 4> vector;
  vector.push_back(7);
  const int* first = &vector[0];
  for (int i = 0; i < 100; ++i)
    vector.push_back(i);
  EXPECT_EQ(first, &vector[0]);
  EXPECT_EQ(vector.size(), 101U);
  EXPECT_EQ(vector.at(100), 99);
  vector.clear();
  EXPECT_EQ(vector.size(), 0U);
}

TEST(PagedVectorDeathTest, RefusesAnIndexBeyondItsEnd) {
  PagedVector<int, 4> vector;
  EXPECT_DEATH(vector.at(0), "");
}

}  // namespace
}  // namespace berth::containers_test
