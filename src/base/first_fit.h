// FirstFit: amounts by number; finds the lowest number that has at least so much.
//
// Numbers stand in blocks of 64, each with its largest amount, so a query looks at one figure per
// block and then at one block.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "base/assert.h"

namespace berth {

class FirstFit {
 public:
  void insert(std::uint32_t number, std::int64_t amount) {
    Block& block = blocks_[number / kBlock];
    block.amounts[number % kBlock] = amount;
    block.largest = std::max(block.largest, amount);
    ++block.count;
  }

  void erase(std::uint32_t number) {
    const auto it = blocks_.find(number / kBlock);
    ASSERT(it != blocks_.end() && it->second.amounts[number % kBlock] >= 0);
    Block& block = it->second;
    if (--block.count == 0) {
      blocks_.erase(it);
      return;
    }
    block.amounts[number % kBlock] = kAbsent;
    block.largest = *std::max_element(block.amounts.begin(), block.amounts.end());
  }

  std::optional<std::uint32_t> find(std::int64_t need) const {
    for (const auto& [number, block] : blocks_) {
      if (block.largest < need) continue;
      const auto it = std::find_if(block.amounts.begin(), block.amounts.end(),
                                   [need](std::int64_t amount) { return amount >= need; });
      return number * kBlock + static_cast<std::uint32_t>(it - block.amounts.begin());
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kBlock = 64;
  static constexpr std::int64_t kAbsent = -1;

  struct Block {
    std::array<std::int64_t, kBlock> amounts;
    std::int64_t largest = kAbsent;
    std::uint32_t count = 0;
    Block() { amounts.fill(kAbsent); }
  };

  std::map<std::uint32_t, Block> blocks_;
};

}  // namespace berth
