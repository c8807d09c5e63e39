// berth exp: the shipped engine on public traces, beside published results.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/table.h"
#include "config/diagnostics.h"
#include "exp/lublin.h"
#include "exp/openb.h"
#include "exp/published.h"
#include "sim/json.h"

namespace berth::cli {
namespace {

constexpr std::uint64_t kFirstSeed = 42;

constexpr std::array kOpenbFlags = {
    Flag{"--traces", "DIR", "the folder of traces: DIR/openb holds the node list and pod lists"},
    Flag{"--workload", "NAME", "only this pod list; may be repeated"},
    Flag{"--policy", "NAME", "only this policy of ours: frag or frag-online"},
    Flag{"--seeds", "N", "how many orders of arrival to average (default 10)"},
    Flag{"--write", "DIR", "write the scenarios for berth sim, and run nothing"},
    Flag{"--json", "", "print JSON instead of tables"},
};
constexpr std::array<std::string_view, 2> kOpenbExamples = {
    "berth exp openb --traces traces",
    "berth exp openb --traces traces --workload default --seeds 3",
};

struct PolicyFigures {
  std::string policy;
  exp::OpenbFigures figures;
};
struct WorkloadFigures {
  std::string workload;
  std::vector<PolicyFigures> policies;
};

int refuse_traces(const Call& call, const config::Diagnostics& diagnostics) {
  call.console.err << diagnostics.text() << plural(diagnostics.count(), "error")
                   << "; nothing was run\n";
  return kBadInput;
}

void show_progress(Console& console, const std::string& what) {
  if (console.err_is_terminal) console.err << "\r\033[K" << what << std::flush;
}

void print_openb(const std::vector<WorkloadFigures>& all, Console& console) {
  for (const WorkloadFigures& one : all) {
    Table table;
    table.add({one.workload, "allocated %", "at 100 %", "CPU-only failed", "seconds", "p99 us"});
    for (const exp::PublishedPacking& row : exp::published_packing(one.workload)) {
      table.add({std::string(row.policy) + " (published)", fixed_text(row.allocated_percent, 2),
                 row.at_100 ? fixed_text(*row.at_100, 2) : "-", "-", "-", "-"});
    }
    for (const PolicyFigures& row : one.policies) {
      const exp::OpenbFigures& f = row.figures;
      table.add({row.policy, fixed_text(f.allocated_percent, 2), fixed_text(f.at_100, 2),
                 fixed_text(f.cpu_only_failed, 1), fixed_text(f.seconds, 3),
                 fixed_text(f.decision_us_p99, 1)});
    }
    table.print(console.out);
    console.out << "\n";
  }
}

void write_openb(const std::vector<WorkloadFigures>& all, Console& console) {
  sim::JsonWriter json;
  json.begin_object().key("workloads").begin_array();
  for (const WorkloadFigures& one : all) {
    json.begin_object().member("workload", one.workload).key("policies").begin_array();
    for (const PolicyFigures& row : one.policies) {
      const exp::OpenbFigures& f = row.figures;
      json.begin_object()
          .member("policy", row.policy)
          .member("ours", true)
          .member("allocated_percent", f.allocated_percent)
          .member("at_100", f.at_100)
          .member("cpu_only_failed", f.cpu_only_failed)
          .member("seconds", f.seconds)
          .member("decision_us_p99", f.decision_us_p99)
          .end_object();
    }
    for (const exp::PublishedPacking& row : exp::published_packing(one.workload)) {
      json.begin_object().member("policy", row.policy).member("ours", false);
      json.member("allocated_percent", row.allocated_percent);
      if (row.at_100) json.member("at_100", *row.at_100);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  console.out << json.text() << "\n";
}

int write_scenarios(const Call& call, const exp::OpenbTrace& trace, const std::string& folder,
                    const std::vector<exp::OpenbPolicy>& policies, std::uint64_t seeds) {
  for (const exp::OpenbWorkload& workload : trace.workloads) {
    for (const exp::OpenbPolicy& policy : policies) {
      for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + seeds; ++seed) {
        const Status done = exp::write(exp::openb_scenario(trace, workload, policy, seed), folder);
        if (!done) return complain(call.console, done.error().message);
      }
    }
  }
  return kOk;
}

int run_openb(const Call& call) {
  const auto traces = call.args.value("--traces");
  if (!traces) return bad_usage(call, "expected --traces DIR");
  const auto seeds = parse_integer(call.args.value("--seeds").value_or("10"), 1, 1000);
  if (!seeds) return bad_usage(call, "--seeds: expected an integer from 1 to 1000");
  const auto count = static_cast<std::uint64_t>(*seeds);
  std::vector<exp::OpenbPolicy> policies;
  for (const exp::OpenbPolicy& policy : exp::openb_policies()) {
    if (call.args.value("--policy").value_or(policy.name) == policy.name)
      policies.push_back(policy);
  }
  if (policies.empty()) return bad_usage(call, "--policy: expected frag or frag-online");

  config::Diagnostics diagnostics;
  const auto trace = exp::read_openb(*traces, call.args.values("--workload"), diagnostics);
  if (!trace) return refuse_traces(call, diagnostics);
  for (const std::string& note : trace->notes)
    call.console.err << "berth exp openb: " << note << "\n";
  if (const auto folder = call.args.value("--write"))
    return write_scenarios(call, *trace, *folder, policies, count);

  std::vector<WorkloadFigures> all;
  for (const exp::OpenbWorkload& workload : trace->workloads) {
    WorkloadFigures& one = all.emplace_back(WorkloadFigures{workload.name, {}});
    exp::OpenbRunner runner(*trace, workload);
    for (const exp::OpenbPolicy& policy : policies) {
      std::vector<exp::OpenbFigures> runs;
      for (std::uint64_t i = 0; i < count; ++i) {
        show_progress(call.console, workload.name + ", " + policy.name + ": seed " +
                                        std::to_string(i + 1) + " of " + std::to_string(count));
        const Result<exp::OpenbFigures> run = runner.run(policy, kFirstSeed + i);
        if (!run) return complain(call.console, run.error().message);
        runs.push_back(*run);
      }
      one.policies.push_back({policy.name, exp::mean_of(runs)});
    }
  }
  show_progress(call.console, "");
  call.args.has("--json") ? write_openb(all, call.console) : print_openb(all, call.console);
  return kOk;
}

constexpr std::array kLublinFlags = {
    Flag{"--traces", "DIR", "the folder of traces: DIR/rlscheduler holds the jobs"},
    Flag{"--write", "DIR", "write the scenarios for berth sim, and run nothing"},
    Flag{"--json", "", "print JSON instead of tables"},
};
constexpr std::array<std::string_view, 1> kLublinExamples = {"berth exp lublin --traces traces"};

struct BackfillRow {
  std::string policy;
  exp::LublinFigures mean;
  std::vector<double> windows;  // bounded slowdown of each
};

Result<BackfillRow> run_windows(const Call& call, const exp::LublinTrace& trace,
                                const exp::LublinPolicy& policy) {
  BackfillRow row{policy.name, {}, {}};
  const std::vector<exp::LublinWindow> windows = exp::lublin_windows(trace);
  const auto count = static_cast<double>(windows.size());
  for (const exp::LublinWindow& window : windows) {
    show_progress(call.console, trace.name + ", " + policy.name + ": window from job " +
                                    std::to_string(window.first));
    const Result<exp::LublinFigures> run = exp::run_lublin(trace, window, policy);
    if (!run) return run.error();
    row.windows.push_back(run->bounded_slowdown);
    row.mean.bounded_slowdown += run->bounded_slowdown / count;
    row.mean.mean_wait_s += run->mean_wait_s / count;
    row.mean.makespan_s += run->makespan_s / count;
  }
  return row;
}

void write_backfill(sim::JsonWriter& json, const std::string& trace,
                    const std::vector<BackfillRow>& rows) {
  json.begin_object().member("trace", trace).key("policies").begin_array();
  for (const BackfillRow& row : rows) {
    json.begin_object()
        .member("policy", row.policy)
        .member("ours", true)
        .member("bounded_slowdown", row.mean.bounded_slowdown)
        .member("mean_wait_s", row.mean.mean_wait_s)
        .member("makespan_s", row.mean.makespan_s)
        .key("windows")
        .begin_array();
    for (const double window : row.windows)
      json.value(window);
    json.end_array().end_object();
  }
  for (const exp::PublishedBackfill& row : exp::published_backfill(trace)) {
    json.begin_object().member("policy", row.policy).member("ours", false);
    json.member("bounded_slowdown", row.bounded_slowdown).end_object();
  }
  json.end_array().end_object();
}

void print_backfill(Console& console, const std::string& trace,
                    const std::vector<BackfillRow>& rows) {
  Table table;
  table.add({trace, "bounded slowdown", "mean wait, s", "makespan, s"});
  for (const exp::PublishedBackfill& row : exp::published_backfill(trace))
    table.add(
        {std::string(row.policy) + " (published)", fixed_text(row.bounded_slowdown, 2), "-", "-"});
  for (const BackfillRow& row : rows)
    table.add({row.policy, fixed_text(row.mean.bounded_slowdown, 2),
               fixed_text(row.mean.mean_wait_s, 0), fixed_text(row.mean.makespan_s, 0)});
  table.print(console.out);
  console.out << "\n";
}

int run_lublin_command(const Call& call) {
  const auto folder = call.args.value("--traces");
  if (!folder) return bad_usage(call, "expected --traces DIR");
  config::Diagnostics diagnostics;
  const auto traces = exp::read_lublin(*folder, diagnostics);
  if (!traces) return refuse_traces(call, diagnostics);
  for (const std::string& note : traces->notes)
    call.console.err << "berth exp lublin: " << note << "\n";

  sim::JsonWriter json;
  json.begin_object().key("traces").begin_array();
  for (const exp::LublinTrace& trace : traces->traces) {
    std::vector<BackfillRow> rows;
    for (const exp::LublinPolicy& policy : exp::lublin_policies()) {
      if (const auto target = call.args.value("--write")) {
        for (const exp::LublinWindow& window : exp::lublin_windows(trace)) {
          const Status done = exp::write(exp::lublin_scenario(trace, window, policy), *target);
          if (!done) return complain(call.console, done.error().message);
        }
        continue;
      }
      Result<BackfillRow> row = run_windows(call, trace, policy);
      if (!row) return complain(call.console, row.error().message);
      rows.push_back(std::move(*row));
    }
    show_progress(call.console, "");
    if (rows.empty()) continue;
    write_backfill(json, trace.name, rows);
    if (!call.args.has("--json")) print_backfill(call.console, trace.name, rows);
  }
  json.end_array().end_object();
  if (call.args.has("--json") && !call.args.has("--write")) call.console.out << json.text() << "\n";
  return kOk;
}

constexpr std::array kExpCommands = {
    Command{.name = "exp openb",
            .group = Group::local,
            .summary = "packing on the openb trace, beside published schedulers",
            .usage = "--traces DIR [OPTIONS]",
            .run = run_openb,
            .flags = kOpenbFlags,
            .description =
                "Runs the engine through the simulator on every pod list in the folder.\n"
                "docs/guide/experiments.md says how, and what the figures mean.",
            .examples = kOpenbExamples},
    Command{.name = "exp lublin",
            .group = Group::local,
            .summary = "backfill on the windows of RLScheduler, beside published schedulers",
            .usage = "--traces DIR [OPTIONS]",
            .run = run_lublin_command,
            .flags = kLublinFlags,
            .description = "Runs the engine through the simulator on every trace in the folder.\n"
                           "docs/guide/experiments.md says how, and what the figures mean.",
            .examples = kLublinExamples},
};

}  // namespace

std::span<const Command> exp_commands() { return kExpCommands; }

}  // namespace berth::cli
