// berth bench cluster: the engine on thousands of nodes, beside published figures.
#include "cli/bench_cluster.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/table.h"
#include "config/diagnostics.h"
#include "sim/cluster_bench.h"
#include "sim/json.h"

namespace berth::cli {
namespace {

std::string amount_text(double value) {
  if (value >= 1000) return count_text(static_cast<std::uint64_t>(value));
  return fixed_text(value, value < 1 ? 4 : 1);
}

std::string unit_text(const std::string& unit) {
  if (unit == "tasks_per_s") return "tasks/s";
  return unit == "gangs_per_s" ? "gangs/s" : unit;
}

void print_table(const std::vector<sim::ClusterBenchCase>& cases, Console& console) {
  Table table;
  table.add({"case", "result", "goal", "published", "what"});
  for (const sim::ClusterBenchCase& c : cases) {
    const std::string unit = " " + unit_text(c.unit);
    table.add({c.name, amount_text(c.value) + unit, c.goal ? amount_text(*c.goal) + unit : "",
               c.published_by.empty() ? "" : c.published_by + " " + amount_text(c.published) + unit,
               c.what});
  }
  table.print(console.out);
  for (const sim::ClusterBenchCase& c : cases) {
    if (c.more.empty()) continue;
    console.out << "\n" << c.name << ":";
    for (const sim::ClusterBenchFigure& figure : c.more)
      console.out << " " << figure.name << " " << amount_text(figure.value);
  }
  console.out << "\n";
}

void print_json(const std::vector<sim::ClusterBenchCase>& cases, Console& console) {
  sim::JsonWriter json;
  json.begin_object();
  json.key("cases");
  json.begin_array();
  for (const sim::ClusterBenchCase& c : cases) {
    json.begin_object();
    json.member("case", c.name);
    json.member("what", c.what);
    json.member(c.unit, c.value);
    if (c.goal) json.member("goal", *c.goal);
    if (!c.published_by.empty()) {
      json.member("published_by", c.published_by);
      json.member("published", c.published);
    }
    for (const sim::ClusterBenchFigure& figure : c.more)
      json.member(figure.name, figure.value);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  console.out << json.text() << "\n";
}

}  // namespace

int run_bench_cluster(const Call& call) {
  sim::ClusterBenchOptions options;
  if (!read_number(call, "--nodes", options.nodes, 3, 12'500)) return kBadInput;
  if (!read_number(call, "--pending", options.pending, 1, 5'000'000)) return kBadInput;
  if (!read_number(call, "--seed", options.seed, 0, INT64_MAX)) return kBadInput;
  const auto only = call.args.value("--only");
  const auto names = sim::cluster_bench_cases();
  if (only && std::find(names.begin(), names.end(), *only) == names.end()) {
    std::string all;
    for (const std::string_view name : names)
      all += (all.empty() ? "" : ", ") + std::string(name);
    return bad_usage(call, "--only: expected one of " + all + ", found " + config::quoted(*only));
  }
  std::vector<sim::ClusterBenchCase> cases;
  for (const std::string_view name : names) {
    if (!only || *only == name) cases.push_back(sim::run_cluster_bench(name, options));
  }
  if (call.args.has("--json")) {
    print_json(cases, call.console);
  } else {
    print_table(cases, call.console);
  }
  return kOk;
}

}  // namespace berth::cli
