// Bad arrivals: for each kind, what is negative, absurd, missing, doubled or circular is refused,
// with the place and what was expected. See scenario_errors_test.cpp for the other sections.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/scenario_reader.h"

namespace berth::sim::workload_errors_test {
namespace {

using Texts = std::vector<std::string>;

// Five lines; the workload begins at line 6, and its keys at line 7.
constexpr std::string_view kCluster = R"([[cluster.gpus]]
vram = "40GB"
[[queues]]
name = "q"
batch_base = "1s"
[[workload]]
)";

// Every error, as "line:column: message", or "file:line:column: message" in a CSV.
Texts errors_in(const std::string& text, const std::string& csv = {}) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string& path, std::string&) {
    return std::optional<std::string>(path == "s.toml" ? text : csv);
  };
  const auto scenario = load_scenario("s.toml", {}, diagnostics, read_file);
  EXPECT_EQ(scenario.has_value(), diagnostics.empty());
  Texts result;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    std::string place = diagnostics.place(diagnostic.at);
    if (place.starts_with("s.toml:")) place.erase(0, 7);
    result.push_back(place + ": " + diagnostic.message);
  }
  return result;
}

Texts errors_of(const std::string& workload) {
  return errors_in(std::string(kCluster) + workload + "\n");
}

Texts csv_errors(const std::string& csv) {
  return errors_in(std::string(kCluster) + "kind = \"csv\"\nfile = \"t.csv\"\n", csv);
}

const std::string kRate = "workload.rate_per_second: expected a number from 1e-06 to 1000000000";
const std::string kCount = "workload.count: expected an integer from 1 to 100000000";
const std::string kTooLong = "workload.count: so many would take longer than 36500d to arrive";

TEST(WorkloadErrors, Poisson) {
  EXPECT_EQ(errors_of("kind = \"poisson\"\nrate_per_second = 5\ncount = 3"), Texts{});
  EXPECT_EQ(errors_of("kind = \"poisson\""),
            (Texts{"6:1: missing workload.count: expected a number of arrivals, or a duration",
                   "6:1: missing workload.rate_per_second: expected a number from 1e-06 to "
                   "1000000000"}));
  EXPECT_EQ(errors_of("kind = \"poisson\"\nrate_per_second = -1\ncount = -3"),
            (Texts{"8:19: " + kRate + ", found the integer -1",
                   "9:9: " + kCount + ", found the integer -3"}));
  EXPECT_EQ(errors_of("kind = \"poisson\"\nrate_per_second = 0\ncount = 1.5"),
            (Texts{"8:19: " + kRate + ", found the integer 0",
                   "9:9: " + kCount + ", found the number 1.5"}));
  EXPECT_EQ(errors_of("kind = \"poisson\"\nrate_per_second = inf\ncount = 100000001"),
            (Texts{"8:19: " + kRate + ", found the number inf",
                   "9:9: " + kCount + ", found the integer 100000001"}));
  EXPECT_EQ(errors_of("kind = \"poisson\"\nrate_per_second = 1e-6\ncount = 100000"),
            (Texts{"9:9: " + kTooLong}));
  EXPECT_EQ(errors_of("kind = \"poisson\"\nrate_per_second = 1e-6\ncount = 1000"), Texts{});
}

TEST(WorkloadErrors, FixedGap) {
  EXPECT_EQ(errors_of("kind = \"fixed_gap\"\ngap = \"0s\"\ncount = 3"), Texts{});
  EXPECT_EQ(errors_of("kind = \"fixed_gap\"\ncount = 3"),
            (Texts{"6:1: missing workload.gap: expected a duration, or rate_per_second"}));
  EXPECT_EQ(errors_of("kind = \"fixed_gap\"\ngap = \"-1s\"\ncount = 0"),
            (Texts{"8:7: workload.gap: expected a duration such as \"120ms\", from 0s to 36500d, "
                   "found the string \"-1s\"",
                   "9:9: " + kCount + ", found the integer 0"}));
  EXPECT_EQ(errors_of("kind = \"fixed_gap\"\ngap = \"1d\"\ncount = 36502"),
            (Texts{"9:9: " + kTooLong}));
  EXPECT_EQ(errors_of("kind = \"fixed_gap\"\ngap = \"1d\"\ncount = 36501"), Texts{});
  EXPECT_EQ(errors_of("kind = \"fixed_gap\"\nrate_per_second = 1e-6\ncount = 4000"),
            (Texts{"9:9: " + kTooLong}));
  EXPECT_EQ(errors_of("kind = \"fixed_gap\"\ngap = \"0s\"\nduration = \"1s\""),
            (Texts{"6:1: workload: expected at most 100000000 tasks from one block; give a smaller "
                   "count, duration or rate"}));
}

TEST(WorkloadErrors, Bursts) {
  EXPECT_EQ(errors_of("kind = \"bursts\"\nburst_size = 9\nburst_every = \"1s\"\ncount = 3"),
            Texts{});
  EXPECT_EQ(errors_of("kind = \"bursts\"\ncount = 3"),
            (Texts{"6:1: missing workload.burst_size: expected an integer from 1 to 100000000",
                   "6:1: missing workload.burst_every: expected a duration such as \"10s\""}));
  EXPECT_EQ(errors_of("kind = \"bursts\"\nburst_size = -9\nburst_every = \"0s\"\ncount = 3"),
            (Texts{"8:14: workload.burst_size: expected an integer from 1 to 100000000, found the "
                   "integer -9",
                   "9:15: workload.burst_every: expected a duration such as \"120ms\", from 1ns to "
                   "36500d, found the string \"0s\""}));
  EXPECT_EQ(errors_of("kind = \"bursts\"\nburst_size = 9\nburst_every = \"1s\"\ngap = \"126ms\"\n"
                      "count = 3"),
            (Texts{"10:7: workload.gap: a burst of this size would be longer than burst_every"}));
  EXPECT_EQ(errors_of("kind = \"bursts\"\nburst_size = 9\nburst_every = \"1s\"\ngap = \"125ms\"\n"
                      "count = 3"),
            Texts{});
  EXPECT_EQ(errors_of("kind = \"bursts\"\nburst_size = 2\nburst_every = \"36500d\"\ncount = 5"),
            (Texts{"10:9: " + kTooLong}));
  EXPECT_EQ(errors_of("kind = \"bursts\"\nburst_size = 2\nburst_every = \"36500d\"\ncount = 4"),
            Texts{});
}

TEST(WorkloadErrors, Daily) {
  const std::string daily = "kind = \"daily\"\nrate_per_second = 5\n";
  EXPECT_EQ(errors_of(daily + "count = 3\nlow_rate_per_second = 1\nperiod = \"1h\""), Texts{});
  EXPECT_EQ(errors_of("kind = \"daily\"\ncount = 3"),
            (Texts{"6:1: missing workload.rate_per_second: expected a number from 1e-06 to "
                   "1000000000"}));
  EXPECT_EQ(errors_of(daily + "count = 3\nlow_rate_per_second = 6"),
            (Texts{"10:23: workload.low_rate_per_second: expected at most rate_per_second, the "
                   "peak"}));
  EXPECT_EQ(errors_of(daily + "count = 3\nlow_rate_per_second = -1\npeak_at = \"25h\""),
            (Texts{"10:23: workload.low_rate_per_second: expected a number from 0 to 1000000000, "
                   "found the integer -1",
                   "11:11: workload.peak_at: expected a duration such as \"120ms\", from 0s to 1d, "
                   "found the string \"25h\""}));
  EXPECT_EQ(errors_of(daily + "count = 3\nperiod = \"0s\""),
            (Texts{"10:10: workload.period: expected a duration such as \"120ms\", from 1s to "
                   "36500d, found the string \"0s\""}));
  EXPECT_EQ(errors_of("kind = \"daily\"\nrate_per_second = 1e-6\ncount = 2000"),
            (Texts{"9:9: " + kTooLong}));
}

TEST(WorkloadErrors, ABatchOfAbsurdLengthIsRefused) {
  const std::string queue =
      "kind = \"fixed_gap\"\ngap = \"1s\"\ncount = 1\nqueue = \"q\"\n"
      "[[queues]]\nname = \"long\"\nmax_batch_size = 1000\n";
  EXPECT_EQ(errors_of(queue + "batch_per_task = \"2.4h\""), Texts{});
  EXPECT_EQ(errors_of(queue + "batch_per_task = \"2.5h\""),
            (Texts{"14:18: queues.batch_per_task: a batch of 1000 tasks would take more than "
                   "100d"}));
  EXPECT_EQ(errors_of(queue + "batch_per_task = \"1s\"\nactual_batch_per_task = \"100d\""),
            (Texts{"15:25: queues.actual_batch_per_task: a batch of 1000 tasks would take more "
                   "than 100d"}));
}

TEST(WorkloadErrors, Csv) {
  const std::string at = "csv.at: expected a duration such as \"120ms\", from 0s to 36500d";
  EXPECT_EQ(csv_errors("id,at_s\na,1\nb,2\n"), Texts{});
  EXPECT_EQ(csv_errors("id,at_s\na,-1\nb,99999999999999999999\nc,nan\n"),
            (Texts{"t.csv:2:3: " + at + ", found the integer -1",
                   "t.csv:3:3: " + at + ", found the number 1e+20",
                   "t.csv:4:3: " + at + ", found the number nan"}));
  EXPECT_EQ(csv_errors("id,at_s,id\na,1,b\n"),
            (Texts{"t.csv:1:9: the column \"id\" is already there, at t.csv:1:1"}));
  EXPECT_EQ(csv_errors("id,vram_gb,vram\na,1,2GB\n"),
            (Texts{"t.csv:2:3: csv.vram_gb: already given as vram"}));
  EXPECT_EQ(csv_errors("id\na\nb\na\n"),
            (Texts{"t.csv:4:1: csv.id: \"a\" is already the id of a task, at t.csv:2:1"}));
  EXPECT_EQ(csv_errors("id,depends_on\na,b\nb,c\nc,a\n"),
            (Texts{"t.csv:2:3: depends_on: the tasks form a cycle: a -> b -> c -> a"}));
  EXPECT_EQ(csv_errors("id,depends_on\na,a\n"),
            (Texts{"t.csv:2:3: depends_on: the tasks form a cycle: a -> a"}));
  EXPECT_EQ(csv_errors("id,queue,tenant\na,qq,bob\n"),
            (Texts{"t.csv:2:3: csv.queue: no queue is named \"qq\"; known: \"q\"",
                   "t.csv:2:6: csv.tenant: no tenant is named \"bob\"; known: \"default\""}));
  EXPECT_EQ(csv_errors("id,at_s\n\"a\"b,1\n"),
            (Texts{"t.csv: expected a header and at least one row of a task",
                   "t.csv:2:1: this cell goes on after its closing quote"}));
  EXPECT_EQ(csv_errors(""), (Texts{"t.csv: expected a header and at least one row of a task"}));
}

}  // namespace
}  // namespace berth::sim::workload_errors_test
