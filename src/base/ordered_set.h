// OrderedSet: a sorted set of 64-bit keys in chunks of at most 128.
//
// Made for the GPU indexes: some thousand keys that change all the time and are asked for "the
// first one not below x". A change moves at most one chunk (1 KiB); a query is two binary searches.
// Iteration is in key order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace berth {

class OrderedSet {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Returns false if the key was there already.
  bool insert(std::uint64_t key);
  // Returns false if the key was absent.
  bool erase(std::uint64_t key);
  bool contains(std::uint64_t key) const;

  std::optional<std::uint64_t> lower_bound(std::uint64_t key) const;
  std::optional<std::uint64_t> last() const;
  // The n-th largest, n counted from 1.
  std::optional<std::uint64_t> nth_from_last(std::size_t n) const;
  std::size_t count_from(std::uint64_t key) const;

  // Calls visit(key) in ascending order from the first key >= from, until it returns false.
  template <class Visit>
  void visit_from(std::uint64_t from, Visit visit) const {
    for (std::size_t c = chunk_of(from); c < chunks_.size(); ++c) {
      const auto& keys = chunks_[c];
      for (auto it = std::lower_bound(keys.begin(), keys.end(), from); it != keys.end(); ++it) {
        if (!visit(*it)) return;
      }
    }
  }
  // The same in descending order from the largest key.
  template <class Visit>
  void visit_back(Visit visit) const {
    for (std::size_t c = chunks_.size(); c-- > 0;) {
      for (std::size_t i = chunks_[c].size(); i-- > 0;) {
        if (!visit(chunks_[c][i])) return;
      }
    }
  }

 private:
  static constexpr std::size_t kChunkMax = 128;

  // The first chunk whose last key is >= key; chunks_.size() if none.
  std::size_t chunk_of(std::uint64_t key) const;

  std::vector<std::vector<std::uint64_t>> chunks_;  // none empty
  std::vector<std::uint64_t> spare_;                // storage of the chunk emptied last
  std::size_t size_ = 0;
};

}  // namespace berth
