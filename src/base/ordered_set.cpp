// See ordered_set.h.
#include "base/ordered_set.h"

namespace berth {

std::size_t OrderedSet::chunk_of(std::uint64_t key) const {
  const auto it = std::partition_point(chunks_.begin(), chunks_.end(),
                                       [key](const auto& chunk) { return chunk.back() < key; });
  return static_cast<std::size_t>(it - chunks_.begin());
}

bool OrderedSet::insert(std::uint64_t key) {
  if (chunks_.empty()) {
    spare_.push_back(key);
    chunks_.push_back(std::move(spare_));
    spare_.clear();
    size_ = 1;
    return true;
  }
  std::size_t c = chunk_of(key);
  if (c == chunks_.size()) --c;
  auto& keys = chunks_[c];
  const auto it = std::lower_bound(keys.begin(), keys.end(), key);
  if (it != keys.end() && *it == key) return false;
  keys.insert(it, key);
  ++size_;
  if (keys.size() > kChunkMax) {
    std::vector<std::uint64_t> upper(keys.begin() + kChunkMax / 2, keys.end());
    keys.resize(kChunkMax / 2);
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(c) + 1, std::move(upper));
  }
  return true;
}

bool OrderedSet::erase(std::uint64_t key) {
  const std::size_t c = chunk_of(key);
  if (c == chunks_.size()) return false;
  auto& keys = chunks_[c];
  const auto it = std::lower_bound(keys.begin(), keys.end(), key);
  if (it == keys.end() || *it != key) return false;
  keys.erase(it);
  --size_;
  if (keys.empty()) {
    // Kept for the next insert: sets that empty and fill again all the time allocate nothing.
    spare_ = std::move(keys);
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return true;
}

bool OrderedSet::contains(std::uint64_t key) const {
  const auto found = lower_bound(key);
  return found && *found == key;
}

std::optional<std::uint64_t> OrderedSet::lower_bound(std::uint64_t key) const {
  const std::size_t c = chunk_of(key);
  if (c == chunks_.size()) return std::nullopt;
  return *std::lower_bound(chunks_[c].begin(), chunks_[c].end(), key);
}

std::optional<std::uint64_t> OrderedSet::last() const {
  if (size_ == 0) return std::nullopt;
  return chunks_.back().back();
}

std::optional<std::uint64_t> OrderedSet::nth_from_last(std::size_t n) const {
  if (n == 0 || n > size_) return std::nullopt;
  for (std::size_t c = chunks_.size(); c-- > 0;) {
    if (n <= chunks_[c].size()) return chunks_[c][chunks_[c].size() - n];
    n -= chunks_[c].size();
  }
  return std::nullopt;
}

std::size_t OrderedSet::count_from(std::uint64_t key) const {
  std::size_t count = 0;
  for (std::size_t c = chunk_of(key); c < chunks_.size(); ++c) {
    const auto& keys = chunks_[c];
    count += static_cast<std::size_t>(keys.end() - std::lower_bound(keys.begin(), keys.end(), key));
  }
  return count;
}

}  // namespace berth
