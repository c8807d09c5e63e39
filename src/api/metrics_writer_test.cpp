// The text format of metrics.
#include "api/metrics_writer.h"

#include <array>

#include <gtest/gtest.h>

namespace berth::api::metrics_writer_test {
namespace {

TEST(MetricsWriter, WritesFamiliesWithTheirSamples) {
  MetricsWriter out;
  out.family("berth_x_total", "counter", "Things.");
  out.sample({{"queue", "a\"b\\c\nd"}}, 3);
  out.single("berth_y", "gauge", "One.", 0.25);
  EXPECT_EQ(out.take(),
            "# HELP berth_x_total Things.\n# TYPE berth_x_total counter\n"
            "berth_x_total{queue=\"a\\\"b\\\\c d\"} 3\n"
            "# HELP berth_y One.\n# TYPE berth_y gauge\nberth_y 0.25\n");
}

TEST(MetricsWriter, HistogramsAreCumulative) {
  MetricsWriter out;
  const std::array<double, 2> bounds{0.5, 1};
  const std::array<std::uint64_t, 3> counts{2, 1, 4};
  out.histogram("h", "Help.", bounds, counts, 9);
  EXPECT_EQ(out.take(),
            "# HELP h Help.\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 2\nh_bucket{le=\"1\"} 3\n"
            "h_bucket{le=\"+Inf\"} 7\nh_sum 9\nh_count 7\n");
}

}  // namespace
}  // namespace berth::api::metrics_writer_test
