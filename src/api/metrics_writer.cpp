// See metrics_writer.h.
#include "api/metrics_writer.h"

#include <array>
#include <charconv>

namespace berth::api {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::string(text.data(), end) : "0";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

void MetricsWriter::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " +
           std::string(type) + "\n";
}

void MetricsWriter::single(std::string_view name, std::string_view type, std::string_view help,
                           double value) {
  family(name, type, help);
  sample({}, value);
}

void MetricsWriter::histogram(std::string_view name, std::string_view help,
                              std::span<const double> bounds, std::span<const std::uint64_t> counts,
                              double sum) {
  family(name, "histogram", help);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    if (i < bounds.size()) {
      line("_bucket", {{"le", number(bounds[i])}}, static_cast<double>(total));
    }
  }
  line("_bucket", {{"le", "+Inf"}}, static_cast<double>(total));
  line("_sum", {}, sum);
  line("_count", {}, static_cast<double>(total));
}

void MetricsWriter::line(std::string_view suffix, const Labels& labels, double value) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) {
    char separator = '{';
    for (const auto& [key, label] : labels) {
      text_ += separator;
      text_ += std::string(key) + "=\"" + escaped(label) + "\"";
      separator = ',';
    }
    text_ += '}';
  }
  text_ += " " + number(value) + "\n";
}

}  // namespace berth::api
