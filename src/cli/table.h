// Table: rows of text in aligned columns, and numbers as people like to read them.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace berth::cli {

// The first column is set left, the others right. The first row is the heading.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::size_t size() const { return rows_.size(); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string count_text(std::uint64_t count);        // 12,345
std::string fixed_text(double number, int places);  // 12.30
std::string percent_text(double ratio);             // 0.553 -> 55 %
std::string milliseconds_text(double ms);           // 63.4 ms, 2.35 s, 3.1 min, 4.5 h
std::string plural(std::uint64_t count, const std::string& noun);  // 1 batch, 2 batches

// How wide the text stands on a terminal: its code points.
std::size_t width_of(const std::string& text);

}  // namespace berth::cli
