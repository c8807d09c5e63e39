// FlatMap64: an open-addressing table from a 64-bit key to a 32-bit value.
//
// Lookup only: it cannot be iterated, so its layout can never reach a decision. The key UINT64_MAX
// is reserved. Erase shifts back, so there are no tombstones to clean.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace berth {

class FlatMap64 {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  std::uint32_t find(std::uint64_t key) const {
    if (size_ == 0) return kAbsent;
    for (std::size_t i = home(key);; i = next(i)) {
      if (cells_[i].key == key) return cells_[i].value;
      if (cells_[i].key == kEmpty) return kAbsent;
    }
  }

  void insert(std::uint64_t key, std::uint32_t value) {
    ASSERT(key != kEmpty);
    if ((size_ + 1) * 4 > cells_.size() * 3) grow();
    std::size_t i = home(key);
    while (cells_[i].key != kEmpty) {
      ASSERT(cells_[i].key != key);
      i = next(i);
    }
    cells_[i] = {key, value};
    ++size_;
  }

  void erase(std::uint64_t key) {
    ASSERT(size_ > 0);
    std::size_t hole = home(key);
    while (cells_[hole].key != key) {
      ASSERT(cells_[hole].key != kEmpty);
      hole = next(hole);
    }
    for (std::size_t i = next(hole); cells_[i].key != kEmpty; i = next(i)) {
      // The entry may move into the hole if its home is not between the hole and itself.
      const std::size_t distance = (i - home(cells_[i].key)) & (cells_.size() - 1);
      if (distance >= ((i - hole) & (cells_.size() - 1))) {
        cells_[hole] = cells_[i];
        hole = i;
      }
    }
    cells_[hole] = {kEmpty, 0};
    --size_;
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return cells_.size() * sizeof(Cell); }
  void clear() {
    cells_.clear();
    size_ = 0;
  }

 private:
  static constexpr std::uint64_t kEmpty = UINT64_MAX;
  struct Cell {
    std::uint64_t key = kEmpty;
    std::uint32_t value = 0;
  };

  std::size_t home(std::uint64_t key) const {
    const std::uint64_t mixed = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(mixed >> 20) & (cells_.size() - 1);
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (cells_.size() - 1); }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? 16 : cells_.size() * 2);
    old.swap(cells_);
    size_ = 0;
    for (const Cell& cell : old) {
      if (cell.key != kEmpty) insert(cell.key, cell.value);
    }
  }

  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace berth
