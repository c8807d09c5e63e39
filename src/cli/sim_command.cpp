// berth sim: runs a scenario, or compares policies on it, and writes what was asked for.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/sim_runs.h"
#include "cli/sim_summary.h"
#include "config/diagnostics.h"
#include "config/sections.h"
#include "sim/event_log.h"
#include "sim/scenario_reader.h"
#include "sim/timeline.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kMostSeeds = 100'000;

constexpr Flag kSet{"--set", "PATH=VALUE", "change a key of the scenario; may be repeated"};
constexpr Flag kSeed{"--seed", "N", "use this seed instead of the scenario's"};
constexpr Flag kSeeds{"--seeds", "N",
                      "run N seeds, beginning with the seed, and show how results vary"};
constexpr Flag kMedians{"--seeds", "N",
                        "run N seeds, beginning with the seed, and show the medians"};
constexpr Flag kJson{"--json", "", "print JSON instead of tables"};
constexpr Flag kQuiet{"--quiet", "", "print no tables and no progress"};

constexpr std::array kSimFlags = {
    kJson,
    Flag{"--timeline", "FILE", "write a CSV with a row for each batch"},
    Flag{"--events", "FILE", "write a line of JSON for each event and action"},
    kSeed,
    kSeeds,
    Flag{"--policy", "NAME",
         "instead of the scenario's: fair, fifo, round_robin, cost_aware, sticky, slowdown"},
    kSet,
    kQuiet,
};
constexpr std::array kCompareFlags = {
    Flag{"--policy", "A,B,...",
         "some of fair, fifo, round_robin, cost_aware, sticky, slowdown (default: all)"},
    Flag{"--vary", "PATH=A,B,...", "a column for each of these values of a key"},
    kSeed,
    kMedians,
    kSet,
    kJson,
    kQuiet,
};

constexpr std::array kScenario = {Positional{"FILE", "a scenario in TOML"}};

constexpr std::array<std::string_view, 5> kSimExamples = {
    "berth sim examples/first-run.toml",
    "berth sim examples/first-run.toml --seeds 100",
    "berth sim examples/first-run.toml --set queues.max_batch_size=1",
    "berth sim examples/multi-tenant.toml --policy fifo --json",
    "berth sim examples/model-swap.toml --timeline batches.csv --events events.jsonl",
};
constexpr std::array<std::string_view, 3> kCompareExamples = {
    "berth sim compare examples/noisy-neighbour.toml",
    "berth sim compare examples/multi-tenant.toml --policy fifo,cost_aware,fair --seeds 10",
    "berth sim compare examples/multi-tenant.toml --policy cost_aware "
    "--vary policy.aging_factor=0,0.1",
};

// What both commands read from their arguments; none: the exit code is set.
struct Request {
  Arguments arguments;
  sim::Scenario scenario;
  std::uint64_t seed = 0;
  std::uint64_t seeds = 1;
};

// A position in order_names(), or an error that names the nearest.
std::optional<core::Order> parse_policy(const std::string& name, std::string& error) {
  const std::vector<std::string> names = config::order_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<core::Order>(found - names.begin());
  error = "no policy is named " + config::quoted(name) + config::suggestion(name, names);
  return std::nullopt;
}

// The scenario with these settings; none: it was said what is wrong with it.
std::optional<sim::Scenario> load(const Call& call, const std::vector<std::string>& settings) {
  config::Diagnostics diagnostics;
  auto scenario = sim::load_scenario(call.args.positional().front(), settings, diagnostics);
  if (scenario) return scenario;
  call.console.err << diagnostics.text() << diagnostics.count()
                   << (diagnostics.count() == 1 ? " error" : " errors") << "; nothing was run\n";
  return std::nullopt;
}

std::optional<Request> read_request(const Call& call, int& code) {
  const auto refuse = [&](const std::string& message) -> std::optional<Request> {
    code = bad_usage(call, message);
    return std::nullopt;
  };
  Request request{call.args, {}};
  if (const auto text = request.arguments.value("--seeds")) {
    const auto seeds = parse_integer(*text, 1, kMostSeeds);
    if (!seeds) {
      return refuse("--seeds: expected an integer from 1 to " + std::to_string(kMostSeeds) +
                    ", found " + config::quoted(*text));
    }
    request.seeds = static_cast<std::uint64_t>(*seeds);
  }
  std::optional<std::int64_t> seed;
  if (const auto text = request.arguments.value("--seed")) {
    seed = parse_integer(*text, 0, INT64_MAX - kMostSeeds);
    if (!seed)
      return refuse("--seed: expected an integer from 0 up, found " + config::quoted(*text));
  }

  auto scenario = load(call, request.arguments.values("--set"));
  if (!scenario) {
    code = kBadInput;
    return std::nullopt;
  }
  for (const std::string& remark : sim::remarks_on(*scenario))
    call.console.err << "berth sim: " << remark << "\n";
  request.scenario = std::move(*scenario);
  request.seed = seed ? static_cast<std::uint64_t>(*seed) : request.scenario.seed;
  return request;
}

// Whether both paths lead to one file, there or not.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code unknown;
  return a == b || std::filesystem::weakly_canonical(a, unknown) ==
                       std::filesystem::weakly_canonical(b, unknown);
}

// Why the files asked for cannot all be written; empty: they can.
std::string clash_of_files(const Arguments& arguments) {
  const auto timeline = arguments.value("--timeline");
  const auto events = arguments.value("--events");
  if (timeline && events && is_same_file(*timeline, *events)) {
    return "--timeline and --events name the same file, " + config::quoted(*timeline);
  }
  for (const std::string_view flag : {"--timeline", "--events"}) {
    const auto path = arguments.value(flag);
    if (!path || !is_same_file(*path, arguments.positional().front())) continue;
    return std::string(flag) + " would overwrite the scenario, " + config::quoted(*path);
  }
  return {};
}

// One run with its timeline and event log.
int run_one(Request& request, Console& console) {
  const Arguments& arguments = request.arguments;
  OutputFile timeline_file;
  OutputFile events_file;
  const auto timeline_path = arguments.value("--timeline");
  const auto events_path = arguments.value("--events");
  for (const auto& [path, file] :
       {std::pair(timeline_path, &timeline_file), std::pair(events_path, &events_file)}) {
    if (path && !file->open(*path)) {
      console.err << "berth sim: " << file->error() << "\n";
      return kFailed;
    }
  }

  sim::Timeline timeline(request.scenario);
  sim::EventLog events(request.scenario, [&](std::string_view line) { events_file.write(line); });
  std::vector<sim::Observer*> observers;
  if (timeline_path) observers.push_back(&timeline);
  if (events_path) observers.push_back(&events);

  sim::Report report;
  {
    ProgressLine progress(console, !arguments.has("--quiet"));
    report = run_once(request.scenario, request.seed, progress, observers);
  }
  if (timeline_path) timeline_file.write(timeline.csv());
  for (OutputFile* file : {&timeline_file, &events_file}) {
    if (file->close()) continue;
    console.err << "berth sim: " << file->error() << "\n";
    return kFailed;
  }
  if (arguments.has("--json")) {
    sim::JsonWriter json;
    sim::write_json(json, report);
    console.out << json.text() << "\n";
  } else if (!arguments.has("--quiet")) {
    print_summary(console.out, request.scenario, report);
  }
  return kOk;
}

int run_distribution(Request& request, Console& console) {
  const Arguments& arguments = request.arguments;
  std::vector<sim::Report> reports;
  {
    ProgressLine progress(console, !arguments.has("--quiet"));
    reports = run_seeds(request.scenario, request.seed, request.seeds, progress);
  }
  if (arguments.has("--json")) {
    sim::JsonWriter json;
    json.begin_object()
        .member("scenario", request.scenario.name)
        .member("policy", reports.front().policy)
        .member("seeds", request.seeds);
    write_spreads(json.key("summary"), reports);
    json.key("runs").begin_array();
    for (const sim::Report& report : reports)
      sim::write_json(json, report);
    json.end_array().end_object();
    console.out << json.text() << "\n";
  } else if (!arguments.has("--quiet")) {
    print_distribution(console.out, request.scenario, reports);
  }
  return kOk;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The policies to compare; empty: `error` says why.
std::vector<std::string> policies_of(const Request& request, std::string& error) {
  const std::vector<std::string> all = config::order_names();
  const auto given = request.arguments.value("--policy");
  if (!given && !request.arguments.has("--vary")) return all;
  if (!given) return {all[static_cast<std::size_t>(request.scenario.policy.order)]};
  std::vector<std::string> names;
  for (const std::string& name : split_at_commas(*given)) {
    if (!parse_policy(name, error)) return {};
    if (std::ranges::find(names, name) != names.end()) {
      error = config::quoted(name) + " is named twice";
      return {};
    }
    names.push_back(name);
  }
  return names;
}

// "PATH=A,B" as the settings PATH=A and PATH=B; without --vary one that changes nothing, "".
std::vector<std::string> settings_of(const Request& request, std::string& error) {
  const auto given = request.arguments.value("--vary");
  if (!given) return {""};
  const std::size_t equals = given->find('=');
  if (equals == 0 || equals == std::string::npos) {
    error = "expected PATH=A,B,..., found " + config::quoted(*given);
    return {};
  }
  std::vector<std::string> settings;
  for (const std::string& value : split_at_commas(given->substr(equals + 1)))
    settings.push_back(given->substr(0, equals + 1) + value);
  return settings;
}

int run_compare(const Call& call) {
  Console& console = call.console;
  int code = kOk;
  std::optional<Request> request = read_request(call, code);
  if (!request) return code;

  std::string error;
  const std::vector<std::string> names = policies_of(*request, error);
  if (!error.empty()) return bad_usage(call, "--policy: " + error);
  const std::vector<std::string> varied = settings_of(*request, error);
  if (!error.empty()) return bad_usage(call, "--vary: " + error);
  std::vector<sim::Scenario> scenarios;
  for (const std::string& setting : varied) {
    std::vector<std::string> settings = request->arguments.values("--set");
    if (!setting.empty()) settings.push_back(setting);
    auto scenario = load(call, settings);
    if (!scenario) return kBadInput;
    scenarios.push_back(std::move(*scenario));
  }
  const bool seed_given = request->arguments.has("--seed");
  std::vector<PolicyRuns> policies;
  {
    ProgressLine progress(console, !request->arguments.has("--quiet"));
    for (const std::string& name : names) {
      for (std::size_t i = 0; i < scenarios.size(); ++i) {
        scenarios[i].policy.order = *parse_policy(name, error);
        progress.set_label(name + (varied[i].empty() ? "" : " " + varied[i]) + ": ");
        policies.push_back({name, varied[i], {}});
        policies.back().reports = run_seeds(
            scenarios[i], seed_given ? request->seed : scenarios[i].seed, request->seeds, progress);
      }
    }
  }
  if (request->arguments.has("--json")) {
    sim::JsonWriter json;
    json.begin_object()
        .member("scenario", request->scenario.name)
        .member("seeds", request->seeds)
        .key("policies")
        .begin_array();
    for (const PolicyRuns& runs : policies) {
      json.begin_object().member("policy", runs.policy);
      if (!runs.setting.empty()) json.member("set", runs.setting);
      write_spreads(json.key("summary"), runs.reports);
      json.key("runs").begin_array();
      for (const sim::Report& report : runs.reports)
        sim::write_json(json, report);
      json.end_array().end_object();
    }
    json.end_array().end_object();
    console.out << json.text() << "\n";
  } else if (!request->arguments.has("--quiet")) {
    print_comparison(console.out, request->scenario, policies);
  }
  return kOk;
}

int run_sim(const Call& call) {
  Console& console = call.console;
  int code = kOk;
  std::optional<Request> request = read_request(call, code);
  if (!request) return code;
  if (const auto name = request->arguments.value("--policy")) {
    std::string error;
    const std::optional<core::Order> order = parse_policy(*name, error);
    if (!order) return bad_usage(call, "--policy: " + error);
    request->scenario.policy.order = *order;
  }
  if (const std::string clash = clash_of_files(request->arguments); !clash.empty()) {
    return bad_usage(call, clash);
  }
  if (!request->arguments.has("--seeds")) return run_one(*request, console);
  for (const std::string_view flag : {"--timeline", "--events"}) {
    if (!request->arguments.has(flag)) continue;
    return bad_usage(call, std::string(flag) + " shows one run; leave out --seeds");
  }
  return run_distribution(*request, console);
}

constexpr std::array kSimCommands = {
    Command{.name = "sim",
            .group = Group::local,
            .summary = "run a scenario in virtual time and report how it went",
            .usage = "FILE [OPTIONS]\ncompare FILE [OPTIONS]",
            .run = run_sim,
            .flags = kSimFlags,
            .positional = kScenario,
            .description = "The engine decides as it would live. docs/guide/scenarios.md explains "
                           "the keys of a scenario.",
            .examples = kSimExamples},
    Command{
        .name = "sim compare",
        .group = Group::local,
        .summary = "run a scenario under several policies, side by side",
        .usage = "FILE [OPTIONS]",
        .run = run_compare,
        .flags = kCompareFlags,
        .positional = kScenario,
        .description =
            "All policies meet the same arrivals and the same luck. The columns stand in the\n"
            "order of --policy. --vary compares values of one key instead, under those of\n"
            "--policy (without it: under the scenario's own policy). For the files of one run:\n"
            "berth sim FILE --policy NAME.",
        .examples = kCompareExamples},
};

}  // namespace

std::span<const Command> sim_commands() { return kSimCommands; }

}  // namespace berth::cli
