// See table.h.
#include "cli/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace berth::cli {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width_of(row[i]), ' ');
      line += i == 0 ? "  " + row[i] + space : "  " + space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

std::string count_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

std::string fixed_text(double number, int places) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.*f", places, number);
  return buffer;
}

std::string percent_text(double ratio) {
  const double percent = 100.0 * ratio;
  const bool small = percent > 0.0 && percent < 9.95;
  return fixed_text(percent, small ? 1 : 0) + " %";
}

std::string milliseconds_text(double ms) {
  if (ms < 999.95) return fixed_text(ms, 1) + " ms";
  const double seconds = ms / 1000.0;
  if (seconds < 119.95) return fixed_text(seconds, 2) + " s";
  if (seconds < 2.0 * 3600.0) return fixed_text(seconds / 60.0, 1) + " min";
  return fixed_text(seconds / 3600.0, 1) + " h";
}

std::string plural(std::uint64_t count, const std::string& noun) {
  std::string words = count_text(count) + " " + noun;
  if (count == 1) return words;
  const bool hisses = noun.ends_with("ch") || noun.ends_with("s");
  return words + (hisses ? "es" : "s");
}

}  // namespace berth::cli
