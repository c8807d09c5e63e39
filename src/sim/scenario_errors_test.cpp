// Bad input: each kind of error, with the exact text a user sees. Nothing is ever half accepted.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sim/scenario_reader.h"

namespace berth::sim::scenario_errors_test {
namespace {

using Texts = std::vector<std::string>;

// The smallest scenario, in nine lines; tests add lines from 10 on.
constexpr std::string_view kBase = R"([[cluster.gpus]]
kind = "A100"
vram = "40GB"
[[queues]]
name = "chat"
batch_base = "50ms"
[[workload]]
kind = "fixed_gap"
rate_per_second = 70
)";

const std::string kAnyDuration =
    "expected a duration such as \"120ms\", from 0s to 36500d";  // what most durations may be
const std::string kRunTime = "expected a duration such as \"120ms\", from 0s to 100d";

// Every error, as "place: message".
Texts errors_in(const std::string& text, const Texts& settings = {}, const std::string& csv = {}) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string& path,
                                 std::string& error) -> std::optional<std::string> {
    if (path == "s.toml") return text;
    if (path == "tasks.csv") return csv;
    error = "No such file or directory";
    return std::nullopt;
  };
  const auto scenario = load_scenario("s.toml", settings, diagnostics, read_file);
  EXPECT_EQ(scenario.has_value(), diagnostics.empty());
  Texts result;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    result.push_back(diagnostics.place(diagnostic.at) + ": " + diagnostic.message);
  }
  return result;
}

Texts errors_with(const std::string& lines, const Texts& settings = {}) {
  return errors_in(std::string(kBase) + "count = 3\n" + lines, settings);
}

TEST(ScenarioErrors, TheBaseHasNone) { EXPECT_EQ(errors_with(""), Texts{}); }

TEST(ScenarioErrors, ASyntaxErrorIsReportedAlone) {
  EXPECT_EQ(errors_in("unknown = 1\nseed = = 2\n"),
            (Texts{"s.toml:2:8: not valid TOML: in a value: could not determine value type"}));
  EXPECT_EQ(errors_in("seed = 1\n  [,queues]\n"),
            (Texts{"s.toml:2:3: not valid TOML: in a table header: expected a name"}));
  EXPECT_EQ(errors_in("seed = 1\nseed = 2\n").size(), 1U);
  EXPECT_EQ(errors_in("seed = 99999999999999999999\n"),
            (Texts{"s.toml:1:28: not valid TOML: in a decimal integer: '99999999999999999999' is "
                   "not representable in 64 bits"}));
}

TEST(ScenarioErrors, MissingSectionsAreNamed) {
  EXPECT_EQ(errors_in(""),
            (Texts{"s.toml: missing section [[queues]]: expected at least one",
                   "s.toml: missing section [[cluster.gpus]] or [[cluster.nodes]]: expected at "
                   "least one",
                   "s.toml: missing section [[workload]]: expected at least one"}));
}

TEST(ScenarioErrors, AFileThatIsNotThereIsOneError) {
  Diagnostics diagnostics;
  EXPECT_FALSE(load_scenario("absent/none.toml", {}, diagnostics));
  EXPECT_EQ(diagnostics.text(),
            "absent/none.toml: cannot read the scenario: No such file or directory\n");
}

TEST(ScenarioErrors, UnknownKeysComeWithTheNearestName) {
  EXPECT_EQ(errors_with("tenent = \"x\"\n[policy]\nodrer = \"fifo\"\nzzz = 1\n"),
            (Texts{"s.toml:11:1: unknown key \"tenent\" in workload; did you mean \"tenant\"?",
                   "s.toml:13:1: unknown key \"odrer\" in policy; did you mean \"order\"?",
                   "s.toml:14:1: unknown key \"zzz\" in policy"}));
  EXPECT_EQ(errors_in("sed = 1\n" + std::string(kBase) + "count = 1\n"),
            (Texts{"s.toml:1:1: unknown key \"sed\"; did you mean \"seed\"?"}));
}

TEST(ScenarioErrors, AllSemanticErrorsComeTogetherInTheOrderOfTheFile) {
  EXPECT_EQ(errors_with("[[queues]]\nname = 7\nmax_batch_size = 0\n[policy]\npatience = 3\n"),
            (Texts{"s.toml:7:1: missing workload.queue: expected the name of a queue, because "
                   "there are several",
                   "s.toml:12:8: queues.name: expected a string, found the integer 7",
                   "s.toml:13:18: queues.max_batch_size: expected an integer from 1 to 100000, "
                   "found the integer 0",
                   "s.toml:15:12: policy.patience: expected a duration such as \"120ms\", from 0s "
                   "to 36500d, found the integer 3; write the unit as in \"1ms\" or in the key as "
                   "in patience_ms"}));
}

TEST(ScenarioErrors, NegativeOverflowingAndAbsurdNumbers) {
  EXPECT_EQ(errors_with("[[tenants]]\nname = \"a\"\nweight = -1\nmax_gpus = 1e300\n"
                        "token_refill_rate = nan\nmax_queue_size = 1.5\n"),
            (Texts{"s.toml:13:10: tenants.weight: expected a number from 0.01 to 1000, found the "
                   "integer -1",
                   "s.toml:14:12: tenants.max_gpus: expected a number from 0 to 100000, found the "
                   "number 1e+300",
                   "s.toml:15:21: tenants.token_refill_rate: expected an integer from 0 to "
                   "9000000000, found the number nan",
                   "s.toml:16:18: tenants.max_queue_size: expected an integer from 0 to "
                   "1000000000, found the number 1.5"}));
  EXPECT_EQ(errors_with("vram = \"-2GB\"\nexpected_run = \"9999999999999d\"\ntolerated_wait = "
                        "\"5m\"\n"),
            (Texts{"s.toml:11:8: workload.vram: expected an amount of VRAM such as \"8GB\", from "
                   "0MB to 1048576GB, found the string \"-2GB\"",
                   "s.toml:12:16: workload.expected_run: expected a duration such as \"120ms\", "
                   "from 0s to 100d, found the string \"9999999999999d\"",
                   "s.toml:13:18: workload.tolerated_wait: expected a duration such as \"120ms\", "
                   "from 0s to 36500d, found the string \"5m\"; its unit must be ns, us, ms, s, "
                   "min, h or d"}));
}

TEST(ScenarioErrors, SpeedsByClassOfWork) {
  const std::string speed = ": expected a number from 0.001 to 1000, found ";
  EXPECT_EQ(errors_with("queue = \"chat\"\n[[cluster.gpus]]\nname = \"b\"\nvram = \"1GB\"\n"
                        "speed_by_class = { a = \"fast\", b = -1, c = nan, d = 1001, e = 2 }\n"
                        "[[queues]]\nname = \"q\"\nbatch_base = \"1s\"\nwork_class = \"\"\n"),
            (Texts{"s.toml:15:24: cluster.gpus.speed_by_class.a" + speed + "the string \"fast\"",
                   "s.toml:15:36: cluster.gpus.speed_by_class.b" + speed + "the integer -1",
                   "s.toml:15:44: cluster.gpus.speed_by_class.c" + speed + "the number nan",
                   "s.toml:15:53: cluster.gpus.speed_by_class.d" + speed + "the integer 1001",
                   "s.toml:19:14: queues.work_class: expected " + config::name_expectation() +
                       ", "
                       "found the string \"\""}));
  EXPECT_EQ(errors_with("[[cluster.nodes]]\nname = \"n\"\ncpu = 1\nspeed_by_class = 2\n"),
            (Texts{"s.toml:14:18: cluster.nodes.speed_by_class: expected speeds by the name of a "
                   "class of work, such as { decode = 1.4 }, found the integer 2",
                   "s.toml:14:18: cluster.nodes.speed_by_class: needs gpus"}));
}

TEST(ScenarioErrors, AUnitMayStandInTheKeyButOnlyOnce) {
  EXPECT_EQ(errors_with("expected_run_ms = 20\nvram_gb = 2.5\n"), Texts{});
  EXPECT_EQ(errors_with("vram = \"2GB\"\nvram_gb = 2\nvram_ms = 3\n"),
            (Texts{"s.toml:12:11: workload.vram_gb: already given as vram",
                   "s.toml:13:1: unknown key \"vram_ms\" in workload; did you mean \"vram\"?"}));
}

TEST(ScenarioErrors, DuplicateNamesSayWhereTheFirstIs) {
  EXPECT_EQ(errors_with("queue = \"chat\"\n[[queues]]\nname = \"chat\"\nbatch_base_ms = 5\n"),
            (Texts{"s.toml:13:8: queues.name: \"chat\" is already the name of a queue, at "
                   "s.toml:5:8"}));
  EXPECT_EQ(errors_with("[[cluster.gpus]]\nkind = \"a100\"\nvram = \"40GB\"\n"),
            (Texts{"s.toml:11:1: cluster.gpus.name: \"a100\" is already the name of a GPU, at "
                   "s.toml:1:1"}));
}

TEST(ScenarioErrors, UnknownReferencesComeWithTheNearestName) {
  EXPECT_EQ(errors_with("queue = \"chta\"\ntenant = \"bob\"\n[[queues]]\nname = \"draw\"\n"
                        "model = \"sdxl\"\n"),
            (Texts{"s.toml:11:9: workload.queue: no queue is named \"chta\"; did you mean "
                   "\"chat\"?",
                   "s.toml:12:10: workload.tenant: no tenant is named \"bob\"; known: \"default\"",
                   "s.toml:15:9: queues.model: no model is named \"sdxl\""}));
}

TEST(ScenarioErrors, ChoicesListWhatIsPossible) {
  EXPECT_EQ(errors_with("[policy]\norder = \"fare\"\npacking = 3\n"),
            (Texts{"s.toml:12:9: policy.order: expected one of \"fair\", \"fifo\", "
                   "\"round_robin\", \"cost_aware\", \"sticky\", \"slowdown\", found the string "
                   "\"fare\"; did you mean \"fair\"?",
                   "s.toml:13:11: policy.packing: expected one of \"best_fit\", \"first_fit\", "
                   "\"spread\", \"frag\", found the integer 3"}));
}

TEST(ScenarioErrors, ResidentModelsMustFit) {
  EXPECT_EQ(errors_with("[[models]]\nname = \"big\"\nweights = \"39GB\"\n[[cluster.gpus]]\n"
                        "name = \"x\"\nvram = \"40GB\"\nresident = [\"big\"]\n"),
            (Texts{"s.toml:17:12: cluster.gpus.resident: these models need 39GB, the GPU has 36GB "
                   "usable of 40GB"}));
}

TEST(ScenarioErrors, ATaskNeedsARunTime) {
  EXPECT_EQ(errors_with("queue = \"raw\"\n[[queues]]\nname = \"raw\"\n"),
            (Texts{"s.toml:7:1: missing workload.expected_run: expected a duration, because queue "
                   "\"raw\" gives no batch_base or batch_per_task"}));
}

TEST(ScenarioErrors, KeysOfAnotherKindOfArrivalAreRefused) {
  EXPECT_EQ(errors_with("burst_size = 3\ngap_ms = 5\n"),
            (Texts{"s.toml:7:1: workload.gap: already given as rate_per_second",
                   "s.toml:11:14: workload.burst_size: does not belong to kind = \"fixed_gap\""}));
  EXPECT_EQ(errors_in(std::string(kBase)),
            (Texts{"s.toml:7:1: missing workload.count: expected a number of arrivals, or a "
                   "duration"}));
  EXPECT_EQ(errors_in(std::string(kBase) + "duration = \"100d\"\n[[workload]]\nkind = \"daily\"\n"
                                           "rate_per_second = 1e6\nduration = \"1d\"\n"),
            (Texts{"s.toml:7:1: workload: expected at most 100000000 tasks from one block; give a "
                   "smaller count, duration or rate",
                   "s.toml:11:1: workload: expected at most 100000000 tasks from one block; give a "
                   "smaller count, duration or rate"}));
}

TEST(ScenarioErrors, ADependencyCycleIsNamed) {
  EXPECT_EQ(errors_with("[[workload]]\nkind = \"tasks\"\n[[workload.tasks]]\nid = \"a\"\n"
                        "depends_on = \"c\"\n[[workload.tasks]]\nid = \"b\"\ndepends_on = [\"a\"]\n"
                        "[[workload.tasks]]\nid = \"c\"\ndepends_on = [\"b\", \"d\"]\n"),
            (Texts{"s.toml:15:14: depends_on: the tasks form a cycle: a -> c -> b -> a",
                   "s.toml:21:20: depends_on: no task has the id \"d\"; known: \"a\", \"b\", "
                   "\"c\""}));
  EXPECT_EQ(errors_with("[[workload.steps]]\nid = \"x\"\ndepends_on = \"y\"\n[[workload.steps]]\n"
                        "id = \"y\"\ndepends_on = \"x\"\n"),
            (Texts{"s.toml:13:14: workload.steps.depends_on: the steps form a cycle: x -> y -> "
                   "x"}));
}

TEST(ScenarioErrors, DuplicateIdsAndDependenciesOnLaterTasks) {
  EXPECT_EQ(errors_with("[[workload]]\nkind = \"tasks\"\n[[workload.tasks]]\nid = \"a\"\n"
                        "[[workload.tasks]]\nid = \"a\"\n[[workload.tasks]]\nid = \"b\"\n"
                        "at = \"5s\"\n[[workload.tasks]]\ndepends_on = \"b\"\n"),
            (Texts{"s.toml:16:6: workload.tasks.id: \"a\" is already the id of a task, at "
                   "s.toml:14:6",
                   "s.toml:21:14: depends_on: \"b\" is submitted at 5s, after this task at 0s"}));
}

TEST(ScenarioErrors, CommandsNameWhatExists) {
  const std::string nothing =
      "at: expected something to do, such as flush = true or pause_queue = \"name\"";
  EXPECT_EQ(errors_with("[[at]]\ntime = \"1s\"\n[[at]]\npaus_queue = \"chat\"\n[[at]]\n"
                        "time = \"1s\"\nlose_gpu = \"a10\"\ncancel = \"t\"\n"),
            (Texts{"s.toml:12:8: " + nothing, "s.toml:13:1: missing at.time: " + kAnyDuration,
                   "s.toml:13:1: " + nothing,
                   "s.toml:14:1: unknown key \"paus_queue\" in at; did you mean \"pause_queue\"?",
                   "s.toml:17:12: at.lose_gpu: no GPU is named \"a10\"; did you mean \"a100\"?",
                   "s.toml:18:10: at.cancel: no task has the id \"t\""}));
}

TEST(ScenarioErrors, SettingsAreCheckedLikeTheFile) {
  EXPECT_EQ(errors_with("", {"queues.max_batch_size=0", "queue.max_batch_size=1"}),
            (Texts{"--set queues.max_batch_size=0: queues.max_batch_size: expected an integer from "
                   "1 to 100000, found the integer 0",
                   "--set queue.max_batch_size=1: unknown key \"queue\"; did you mean "
                   "\"queues\"?"}));
  EXPECT_EQ(errors_with("", {"nonsense", "workload[3].count=1"}),
            (Texts{"--set nonsense: expected path=value, such as policy.order=fifo",
                   "--set workload[3].count=1: \"workload\" has 1 element, counted from 0"}));
  EXPECT_EQ(errors_with("", {"seed.x=1", "a..b=1"}),
            (Texts{"--set seed.x=1: seed: expected an integer from 0 to 9223372036854775807, found "
                   "a table",
                   "--set a..b=1: not a path: \"a..b\"; expected keys with dots between, such as "
                   "policy.order"}));
}

TEST(ScenarioErrors, ASettingThatSelectsNothingIsAnsweredWithTheNearestName) {
  EXPECT_EQ(
      errors_with("", {"queues.chta.max_batch_size=1", "workload.rety.attempts=3",
                       "queues.xyz.max_batch_size=1", "queus[0].max_batch_size=1"}),
      (Texts{"--set queues.chta.max_batch_size=1: no block of queues is named \"chta\"; did "
             "you mean \"chat\"?",
             "--set workload.rety.attempts=3: no block of workload is named \"rety\"; did you "
             "mean \"retry\"?",
             "--set queues.xyz.max_batch_size=1: no block of queues is named \"xyz\"; known: "
             "\"chat\"",
             "--set queus[0].max_batch_size=1: there is no \"queus\"; did you mean "
             "\"queues\"?"}));
  EXPECT_EQ(errors_with("", {"workload.retry.attempts=3", "workload.vram_gb.min=1",
                             "workload.vram_gb.max=2"}),
            Texts{});
}

// What a block may hold is listed once each.
TEST(ScenarioErrors, AnUnknownKeyOfASmallBlockIsAnsweredWithAllItsKeys) {
  EXPECT_EQ(errors_with("[[models]]\nname = \"m\"\nweights = \"1GB\"\nqqqq = 1\n"),
            (Texts{"s.toml:14:1: unknown key \"qqqq\" in models; known: \"name\", \"weights\", "
                   "\"vram_per_task\", \"load_time\", \"keep_alive\", \"actual_load_time\""}));
}

TEST(ScenarioErrors, CsvErrorsNameTheirLineAndColumn) {
  const std::string scenario = R"([[cluster.gpus]]
vram = "40GB"
[[queues]]
name = "chat"
[[workload]]
kind = "csv"
file = "tasks.csv"
)";
  EXPECT_EQ(errors_in(scenario, {}, "id,at,expected_run_ms\na,0s,5\nb,1s,6\n"), Texts{});
  EXPECT_EQ(errors_in(scenario, {}, "id,at,queu,expected_run_ms\na,soon,chat,5\na,1s,,-6\nx\n"),
            (Texts{"tasks.csv:1:7: unknown key \"queu\" in csv; did you mean \"queue\"?",
                   "tasks.csv:2:3: csv.at: " + kAnyDuration + ", found the string \"soon\"",
                   "tasks.csv:3:1: csv.id: \"a\" is already the id of a task, at tasks.csv:2:1",
                   "tasks.csv:3:7: csv.expected_run: " + kRunTime + ", found the integer -6",
                   "tasks.csv:4:1: expected 4 cells, as in the header, found 1"}));
  EXPECT_EQ(errors_in(scenario, {}, "id,\"at\n"),
            (Texts{"tasks.csv: expected a header and at least one row of a task",
                   "tasks.csv:1:4: a quote is opened here and never closed"}));
  EXPECT_EQ(errors_in(scenario, {"workload.file=none.csv"}),
            (Texts{"--set workload.file=none.csv: workload.file: cannot read \"none.csv\": No such "
                   "file or directory"}));
}

TEST(ScenarioErrors, TheTextShowsTheLineAndPointsAtTheValue) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) {
    return std::optional<std::string>(std::string(kBase) + "count = 0\n");
  };
  EXPECT_FALSE(load_scenario("dir/s.toml", {}, diagnostics, read_file));
  EXPECT_EQ(diagnostics.text(),
            "dir/s.toml:10:9: workload.count: expected an integer from 1 to 100000000, found the "
            "integer 0\n"
            "    10 | count = 0\n"
            "       |         ^\n");
}

TEST(ScenarioErrors, EndlessErrorsAreCountedNotKept) {
  std::string lines;
  for (int i = 0; i < 500; ++i)
    lines += "zz" + std::to_string(i) + " = 1\n";
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) {
    return std::optional<std::string>(std::string(kBase) + lines);
  };
  EXPECT_FALSE(load_scenario("s.toml", {}, diagnostics, read_file));
  EXPECT_EQ(diagnostics.count(), 501U);
  EXPECT_TRUE(diagnostics.text().ends_with("and 401 more\n"));
}

// Damaged texts: whatever bytes change, the reader answers with a scenario or with errors.
TEST(ScenarioErrors, NoDamagedTextCrashesTheReader) {
  const std::string whole = std::string(kBase) +
                            "count = 3\nvram = { min = \"2GB\", max = \"8GB\" }\n"
                            "[[workload]]\nkind = \"tasks\"\n[[workload.tasks]]\nid = \"a\"\n"
                            "[[workload.tasks]]\nid = \"b\"\ndepends_on = [\"a\"]\n"
                            "[[at]]\ntime = \"1s\"\nflush = true\n[policy]\norder = \"fifo\"\n";
  Rng rng(1);
  const auto size = static_cast<std::int64_t>(whole.size());
  constexpr std::string_view kBytes = "\"'[]{}=.,-#\n 0123456789aeinx\\\t\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (std::int64_t change = rng.between(1, 4); change > 0; --change) {
      const auto at = static_cast<std::size_t>(rng.between(0, size - 1));
      const auto byte =
          static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(kBytes.size()) - 1));
      text[at] = kBytes[byte];
    }
    if (rng.chance(0.2)) text.resize(static_cast<std::size_t>(rng.between(0, size)));
    errors_in(text);
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += "a.";
  errors_in(deep + "a = 1\n");
  errors_in("a = " + std::string(100'000, '[') + "\n");
  errors_in("", {deep + "a=1", "a=" + deep});
}

}  // namespace
}  // namespace berth::sim::scenario_errors_test
