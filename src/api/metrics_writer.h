// MetricsWriter: families of samples in Prometheus' text format, with HELP and TYPE before each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::api {

class MetricsWriter {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  // All samples of a family follow it directly.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const Labels& labels, double value) { line("", labels, value); }
  // One sample without labels, as a family of its own.
  void single(std::string_view name, std::string_view type, std::string_view help, double value);
  // `counts` are per bucket, the last one beyond the highest bound.
  void histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                 std::span<const std::uint64_t> counts, double sum);

  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view suffix, const Labels& labels, double value);

  std::string text_;
  std::string name_;
};

}  // namespace berth::api
