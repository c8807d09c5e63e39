// PagedVector: an indexable array that grows by pages.
//
// Growth never copies, so the cost of an append is flat and addresses stay valid; memory follows
// the size within one page. Elements are value-initialised when their page is made.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/assert.h"

namespace berth {

template <class T, std::size_t kPageSize = 4096>
class PagedVector {
  static_assert((kPageSize & (kPageSize - 1)) == 0, "page size is a power of two");

 public:
  std::size_t size() const { return size_; }

  T& operator[](std::size_t i) { return pages_[i / kPageSize][i % kPageSize]; }
  const T& operator[](std::size_t i) const { return pages_[i / kPageSize][i % kPageSize]; }

  T& at(std::size_t i) {
    ASSERT(i < size_);
    return (*this)[i];
  }
  const T& at(std::size_t i) const {
    ASSERT(i < size_);
    return (*this)[i];
  }

  std::size_t push_back(T value) {
    grow_to(size_ + 1);
    (*this)[size_ - 1] = std::move(value);
    return size_ - 1;
  }

  // Makes indexes below n usable.
  void grow_to(std::size_t n) {
    while (pages_.size() * kPageSize < n)
      pages_.push_back(std::make_unique<T[]>(kPageSize));
    if (n > size_) size_ = n;
  }

  void clear() {
    pages_.clear();
    size_ = 0;
  }

  std::size_t bytes() const { return pages_.size() * kPageSize * sizeof(T); }

 private:
  std::vector<std::unique_ptr<T[]>> pages_;
  std::size_t size_ = 0;
};

}  // namespace berth
