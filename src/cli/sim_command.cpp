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

constexpr Flag kSet{"--set", "PATH=VALUE",
                    "change a key of the scenario; may be given several times"};
constexpr Flag kSeed{"--seed", "N", "use this seed instead of the scenario's"};
constexpr Flag kSeeds{"--seeds", "N", "run N seeds, from the seed on, and show how results vary"};
constexpr Flag kMedians{"--seeds", "N", "run N seeds, from the seed on, and show the medians"};
constexpr Flag kJson{"--json", "", "print JSON instead of tables"};
constexpr Flag kQuiet{"--quiet", "", "print no tables and no progress"};
constexpr Flag kHelp{"--help", "", "print this help"};

constexpr std::array kSimFlags = {
    kJson,
    Flag{"--timeline", "FILE", "write a CSV with a row for each batch"},
    Flag{"--events", "FILE", "write a line of JSON for each event and action"},
    kSeed,
    kSeeds,
    Flag{"--policy", "NAME",
         "fair, fifo, round_robin, cost_aware or sticky instead of the scenario's"},
    kSet,
    kQuiet,
    kHelp,
};
constexpr std::array kCompareFlags = {
    Flag{"--policy", "A,B,...",
         "some of fair, fifo, round_robin, cost_aware and sticky, each once (default: all)"},
    kSeed,
    kMedians,
    kSet,
    kJson,
    kQuiet,
    kHelp,
};

void print_sim_help(std::ostream& out) {
  out << "Runs a scenario in virtual time, with the engine that decides, and reports how it went.\n"
         "\n"
         "usage: berth sim FILE [OPTIONS]\n"
         "       berth sim compare FILE [OPTIONS]   several policies side by side\n"
         "\n"
      << flag_help(kSimFlags)
      << "\n"
         "A scenario is a TOML file; docs/guide/scenarios.md explains its keys.\n"
         "Exit codes: 0 done, 1 a file could not be written, 2 wrong usage or wrong scenario.\n"
         "\n"
         "examples:\n"
         "  berth sim examples/first-run.toml\n"
         "  berth sim examples/first-run.toml --seeds 100\n"
         "  berth sim examples/first-run.toml --set queues.max_batch_size=1\n"
         "  berth sim examples/multi-tenant.toml --policy fifo --json\n"
         "  berth sim examples/model-swap.toml --timeline batches.csv --events events.jsonl\n"
         "  berth sim compare examples/multi-tenant.toml --policy fifo,fair --seeds 10\n";
}

void print_compare_help(std::ostream& out) {
  out << "Runs one scenario under several policies and prints the results side by side. All meet\n"
         "the same arrivals and the same luck.\n"
         "\n"
         "usage: berth sim compare FILE [OPTIONS]\n"
         "\n"
      << flag_help(kCompareFlags)
      << "\n"
         "The columns stand in the order of --policy. The files that berth sim writes show one "
         "run:\n"
         "berth sim FILE --policy NAME --timeline FILE. Exit codes: as for berth sim.\n"
         "\n"
         "examples:\n"
         "  berth sim compare examples/noisy-neighbour.toml\n"
         "  berth sim compare examples/multi-tenant.toml --policy fifo,cost_aware,fair --seeds "
         "10\n";
}

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

std::optional<Request> read_request(const std::string& command, Args args,
                                    std::span<const Flag> flags, Console& console, int& code) {
  const auto refuse = [&](const std::string& message) -> std::optional<Request> {
    code = bad_usage(console, command, message);
    return std::nullopt;
  };
  std::string error;
  std::optional<Arguments> arguments = Arguments::parse(args, flags, error);
  if (!arguments) return refuse(error);
  const std::vector<std::string>& files = arguments->positional();
  if (files.empty()) return refuse("expected the FILE of a scenario");
  if (files.size() > 1) {
    const std::string subcommand =
        config::nearest_name(files[0], std::vector<std::string>{"compare"});
    return refuse(subcommand.empty()
                      ? "expected one FILE, found also " + config::quoted(files[1])
                      : "expected one FILE, found " + config::quoted(files[0]) +
                            " before it; did you mean " + config::quoted(subcommand) + "?");
  }

  Request request{std::move(*arguments), {}};
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

  config::Diagnostics diagnostics;
  const std::vector<std::string> settings = request.arguments.values("--set");
  auto scenario = sim::load_scenario(request.arguments.positional().front(), settings, diagnostics);
  if (!scenario) {
    console.err << diagnostics.text() << diagnostics.count()
                << (diagnostics.count() == 1 ? " error" : " errors") << "; nothing was run\n";
    code = kBadInput;
    return std::nullopt;
  }
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

int run_compare(Args args, Console& console) {
  constexpr std::string_view kCommand = "sim compare";
  if (asks_for_help(args)) {
    print_compare_help(console.out);
    return kOk;
  }
  int code = kOk;
  std::optional<Request> request =
      read_request(std::string(kCommand), args, kCompareFlags, console, code);
  if (!request) return code;

  std::vector<std::string> names = config::order_names();
  if (const auto given = request->arguments.value("--policy")) names = split_at_commas(*given);
  std::vector<PolicyRuns> policies;
  for (const std::string& name : names) {
    std::string error;
    if (!parse_policy(name, error)) return bad_usage(console, kCommand, "--policy: " + error);
    if (std::ranges::find(policies, name, &PolicyRuns::policy) != policies.end()) {
      return bad_usage(console, kCommand, "--policy: " + config::quoted(name) + " is named twice");
    }
    policies.push_back({name, {}});
  }
  {
    ProgressLine progress(console, !request->arguments.has("--quiet"));
    for (PolicyRuns& runs : policies) {
      std::string error;
      request->scenario.policy.order = *parse_policy(runs.policy, error);
      progress.set_label(runs.policy + ": ");
      runs.reports = run_seeds(request->scenario, request->seed, request->seeds, progress);
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

}  // namespace

int run_sim(Args args, Console& console) {
  if (!args.empty() && args.front() == "compare") return run_compare(args.subspan(1), console);
  if (asks_for_help(args)) {
    print_sim_help(console.out);
    return kOk;
  }
  int code = kOk;
  std::optional<Request> request = read_request("sim", args, kSimFlags, console, code);
  if (!request) return code;
  if (const auto name = request->arguments.value("--policy")) {
    std::string error;
    const std::optional<core::Order> order = parse_policy(*name, error);
    if (!order) return bad_usage(console, "sim", "--policy: " + error);
    request->scenario.policy.order = *order;
  }
  if (const std::string clash = clash_of_files(request->arguments); !clash.empty()) {
    return bad_usage(console, "sim", clash);
  }
  if (!request->arguments.has("--seeds")) return run_one(*request, console);
  for (const std::string_view flag : {"--timeline", "--events"}) {
    if (!request->arguments.has(flag)) continue;
    return bad_usage(console, "sim", std::string(flag) + " shows one run; leave out --seeds");
  }
  return run_distribution(*request, console);
}

}  // namespace berth::cli
