// ShapeTable: the shapes that live tasks ask for, each kept once.
//
// A shape lives as long as someone counts on it. Numbers are slots that are reused; they never
// leave the core and no decision depends on them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/assert.h"
#include "core/model/shape.h"

namespace berth::core {

class ShapeTable {
 public:
  // The shape's number, counted once more.
  std::uint32_t take(const Shape& shape) {
    const auto [entry, fresh] = numbers_.try_emplace(shape, 0);
    if (fresh) {
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(rows_.size()));
        rows_.emplace_back();
      }
      entry->second = free_.back();
      free_.pop_back();
      rows_[entry->second] = {shape, 0};
    }
    ++rows_[entry->second].users;
    return entry->second;
  }
  // One user less; the last one takes the shape with it. True: it is gone.
  bool drop(std::uint32_t number) {
    Row& row = rows_[number];
    ASSERT(row.users > 0);
    if (--row.users > 0) return false;
    numbers_.erase(row.shape);
    free_.push_back(number);
    return true;
  }

  const Shape& shape(std::uint32_t number) const { return rows_[number].shape; }
  std::uint32_t users(std::uint32_t number) const { return rows_[number].users; }
  std::size_t size() const { return rows_.size(); }
  std::size_t live() const { return numbers_.size(); }

 private:
  struct Row {
    Shape shape;
    std::uint32_t users = 0;
  };
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
  std::map<Shape, std::uint32_t> numbers_;
};

}  // namespace berth::core
