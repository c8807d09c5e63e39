// See workload_reader.h. Explicit tasks, their CSV and their order are in explicit_tasks.cpp.
#include "sim/workload_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/dependencies.h"
#include "sim/scenario_sections.h"
#include "sim/task_reader.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostTasks = 100'000'000;
constexpr std::int64_t kMillion = 1'000'000;
constexpr NumberType kRate = millionths(1, kMillion * 1'000'000'000);

const std::vector<std::string> kKinds = {"tasks", "poisson", "fixed_gap", "bursts", "daily", "csv"};

// The keys that only some kinds of arrivals have. All kinds have those of a task.
struct KindKeys {
  std::string_view key;
  std::vector<ArrivalKind> kinds;
};

const std::vector<KindKeys>& keys_of_kinds() {
  using enum ArrivalKind;
  static const std::vector<KindKeys> kTable = {
      {"tasks", {tasks}},
      {"file", {csv}},
      {"steps", {poisson, fixed_gap, bursts, daily}},
      {"count", {poisson, fixed_gap, bursts, daily}},
      {"duration", {poisson, fixed_gap, bursts, daily}},
      {"rate_per_second", {poisson, fixed_gap, daily}},
      {"gap", {fixed_gap, bursts}},
      {"burst_size", {bursts}},
      {"burst_every", {bursts}},
      {"low_rate_per_second", {daily}},
      {"peak_at", {daily}},
      {"period", {daily}},
  };
  return kTable;
}

void report_foreign_keys(TableReader& table, ArrivalKind kind) {
  for (const KindKeys& row : keys_of_kinds()) {
    if (!table.has_number(row.key)) continue;
    if (std::ranges::find(row.kinds, kind) != row.kinds.end()) continue;
    table.error(row.key, table.path_of(row.key) + ": does not belong to kind = " +
                             quoted(kKinds[static_cast<std::size_t>(kind)]));
  }
}

// How many arrivals the rule makes, about; in double, because it may be absurd.
double expected_arrivals(const ArrivalRule& rule) {
  const double seconds = static_cast<double>(rule.duration.ns) / 1e9;
  double by_time = 1e30;
  if (rule.rate_micro > 0) by_time = seconds * static_cast<double>(rule.rate_micro) / 1e6;
  if (rule.gap.ns > 0)
    by_time = static_cast<double>(rule.duration.ns) / static_cast<double>(rule.gap.ns);
  if (rule.burst_every.ns > 0) {
    by_time = static_cast<double>(rule.duration.ns) / static_cast<double>(rule.burst_every.ns) *
              static_cast<double>(rule.burst_size);
  }
  return std::min(by_time, static_cast<double>(rule.count));
}

// How long it takes until the last of `count` arrivals, about; in double, as above.
double expected_span_ns(const ArrivalRule& rule) {
  const auto gaps = static_cast<double>(rule.count - 1);
  if (rule.kind == ArrivalKind::bursts) {
    return std::floor(gaps / static_cast<double>(rule.burst_size)) *
           static_cast<double>(rule.burst_every.ns);
  }
  if (rule.rate_micro == 0) return gaps * static_cast<double>(rule.gap.ns);
  const auto rates = static_cast<double>(rule.rate_micro + rule.low_rate_micro);
  const double mean_rate = rule.kind == ArrivalKind::daily ? rates / 2 : rates;
  return gaps / mean_rate * 1e15;
}

struct VerbKey {
  std::string_view key;
  Verb verb;
};

// In the order in which the keys of one [[at]] block are carried out.
constexpr std::array kVerbs = {
    VerbKey{"pause_queue", Verb::pause_queue},
    VerbKey{"resume_queue", Verb::resume_queue},
    VerbKey{"pause_tenant", Verb::pause_tenant},
    VerbKey{"resume_tenant", Verb::resume_tenant},
    VerbKey{"drain_gpu", Verb::drain_gpu},
    VerbKey{"undrain_gpu", Verb::undrain_gpu},
    VerbKey{"drain_queue", Verb::drain_queue},
    VerbKey{"undrain_queue", Verb::undrain_queue},
    VerbKey{"lose_gpu", Verb::lose_gpu},
    VerbKey{"return_gpu", Verb::return_gpu},
    VerbKey{"lose_node", Verb::lose_node},
    VerbKey{"return_node", Verb::return_node},
    VerbKey{"cancel_group", Verb::cancel_group},
    VerbKey{"cancel", Verb::cancel},
    VerbKey{"hold", Verb::hold},
    VerbKey{"release", Verb::release},
    VerbKey{"signal", Verb::signal},
    VerbKey{"flush", Verb::flush},
};

bool is_about_task(Verb verb) {
  return verb == Verb::cancel || verb == Verb::hold || verb == Verb::release;
}

// The noun a verb is about, and the names it may take; null: tasks and signals.
std::pair<std::string, const std::vector<std::string>*> subjects_of(Verb verb,
                                                                    const Scenario& scenario) {
  switch (verb) {
    case Verb::flush:
    case Verb::flush_all:
    case Verb::pause_queue:
    case Verb::resume_queue:
    case Verb::drain_queue:
    case Verb::undrain_queue:
      return {"queue", &scenario.queues.names};
    case Verb::pause_tenant:
    case Verb::resume_tenant:
      return {"tenant", &scenario.tenants.names};
    case Verb::drain_gpu:
    case Verb::undrain_gpu:
    case Verb::lose_gpu:
    case Verb::return_gpu:
      return {"GPU", &scenario.gpus.names};
    case Verb::lose_node:
    case Verb::return_node:
      return {"node", &scenario.nodes.all()};
    case Verb::cancel_group:
      return {"group", &scenario.groups.all()};
    case Verb::signal:
    case Verb::cancel:
    case Verb::hold:
    case Verb::release:
      break;
  }
  return {"", nullptr};
}

}  // namespace

WorkloadReader::WorkloadReader(Scenario& scenario, Diagnostics& diagnostics,
                               const ReadFile& read_file, std::string folder)
    : scenario_(scenario),
      diagnostics_(diagnostics),
      read_file_(read_file),
      folder_(std::move(folder)) {}

void WorkloadReader::read_block(TableReader& table, std::uint32_t block) {
  std::string name;
  table.name("name", name);
  std::size_t kind = 0;
  const bool known = table.choice("kind", kKinds, kind);
  if (!table.has("kind")) {
    table.error("kind", "missing workload.kind: expected one of \"tasks\", \"poisson\", " +
                            std::string("\"fixed_gap\", \"bursts\", \"daily\", \"csv\""));
  }
  ArrivalRule rule;
  rule.kind = static_cast<ArrivalKind>(kind);
  rule.block = block;
  Duration start{0};
  table.number("start", start, durations());
  rule.start = Time{start.ns};

  TaskTemplate defaults;
  read_task_fields(table, scenario_, defaults);
  read_rule(table, rule);
  for (const KindKeys& row : keys_of_kinds())
    table.take(row.key);
  table.finish();
  if (!known) return;
  report_foreign_keys(table, rule.kind);

  if (rule.kind == ArrivalKind::tasks) return read_tasks(table, defaults, rule.start);
  if (rule.kind == ArrivalKind::csv) return read_csv(table, defaults, rule.start);
  read_steps(table, defaults, rule);
  check_size(table, rule);
  check_span(table, rule);
  scenario_.rules.push_back(std::move(rule));
}

void WorkloadReader::read_rule(TableReader& table, ArrivalRule& rule) {
  table.number("count", rule.count, integers(1, kMostTasks));
  table.number("duration", rule.duration, durations(1));
  table.number("rate_per_second", rule.rate_micro, kRate);
  table.number("gap", rule.gap, durations());
  table.number("burst_size", rule.burst_size, integers(1, kMostTasks));
  table.number("burst_every", rule.burst_every, durations(1));
  table.number("low_rate_per_second", rule.low_rate_micro, millionths(0, kRate.high));
  rule.period = minutes(24 * 60);
  table.number("period", rule.period, durations(1'000'000'000));
  rule.peak_at = Duration{rule.period.ns / 2};
  table.number("peak_at", rule.peak_at, durations(0, rule.period.ns));

  const auto missing = [&](std::string_view key, const std::string& expected) {
    table.error(key, "missing workload." + std::string(key) + ": expected " + expected);
  };
  const bool generated = rule.kind != ArrivalKind::tasks && rule.kind != ArrivalKind::csv;
  if (!generated || !table.has("kind")) return;
  if (!table.has("count") && !table.has_number("duration")) {
    missing("count", "a number of arrivals, or a duration");
  }
  const bool has_rate = table.has("rate_per_second");
  switch (rule.kind) {
    case ArrivalKind::poisson:
    case ArrivalKind::daily:
      if (!has_rate) missing("rate_per_second", expectation(kRate));
      break;
    case ArrivalKind::fixed_gap:
      if (!has_rate && !table.has_number("gap")) missing("gap", "a duration, or rate_per_second");
      if (has_rate && table.has_number("gap")) {
        table.error("gap", "workload.gap: already given as rate_per_second");
      }
      break;
    case ArrivalKind::bursts:
      if (!table.has("burst_size")) missing("burst_size", "an integer from 1 to 100000000");
      if (!table.has_number("burst_every")) missing("burst_every", "a duration such as \"10s\"");
      if (static_cast<double>(rule.gap.ns) * static_cast<double>(rule.burst_size - 1) >
          static_cast<double>(rule.burst_every.ns)) {
        table.error("gap", "workload.gap: a burst of this size would be longer than burst_every");
      }
      break;
    case ArrivalKind::tasks:
    case ArrivalKind::csv:
      break;
  }
  if (rule.low_rate_micro > rule.rate_micro && has_rate) {
    table.error("low_rate_per_second",
                "workload.low_rate_per_second: expected at most rate_per_second, the peak");
  }
}

void WorkloadReader::check_size(TableReader& table, const ArrivalRule& rule) {
  const double tasks = expected_arrivals(rule) * static_cast<double>(rule.steps.size());
  const bool unbounded = rule.count == INT64_MAX && rule.duration == Duration::forever();
  const bool paced =
      rule.rate_micro > 0 || rule.burst_every.ns > 0 || rule.kind == ArrivalKind::fixed_gap;
  // Without these there is another error already.
  if (unbounded || !paced || tasks <= static_cast<double>(kMostTasks)) return;
  table.error("count",
              "workload: expected at most 100000000 tasks from one block; give a smaller "
              "count, duration or rate");
}

void WorkloadReader::check_span(TableReader& table, const ArrivalRule& rule) {
  const bool by_count = rule.count != INT64_MAX && rule.duration == Duration::forever();
  if (!by_count || expected_span_ns(rule) <= static_cast<double>(kLongestTime)) return;
  table.error("count", "workload.count: so many would take longer than " +
                           duration_text(kLongestTime) + " to arrive");
}

void WorkloadReader::read_steps(TableReader& table, const TaskTemplate& defaults,
                                ArrivalRule& rule) {
  if (!table.has("steps")) {
    Step step{"", defaults, {}};
    complete_task(table, scenario_, step.task);
    rule.steps.push_back(std::move(step));
    return;
  }
  std::vector<TableReader> tables = table.blocks("steps");
  if (tables.empty()) return;
  NameBook names("step");
  std::vector<std::string> ids;
  for (TableReader& inner : tables) {
    Step step{"", defaults, {}};
    if (inner.required_name("id", step.id)) {
      names.claim(step.id, inner.origin_of("id"), "workload.steps.id", diagnostics_);
    }
    read_task_fields(inner, scenario_, step.task);
    complete_task(inner, scenario_, step.task);
    ids.push_back(step.id);
    rule.steps.push_back(std::move(step));
  }
  DependencyLists lists(rule.steps.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::vector<std::size_t> positions;
    tables[i].references("depends_on", "step", ids, positions);
    tables[i].finish();
    for (const std::size_t position : positions) {
      lists[i].push_back(static_cast<std::uint32_t>(position));
    }
  }
  const std::vector<std::uint32_t> cycle = find_cycle(lists);
  if (!cycle.empty()) {
    std::string names_text;
    for (const std::uint32_t member : cycle)
      names_text += ids[member] + " -> ";
    tables[cycle.front()].error(
        "depends_on",
        "workload.steps.depends_on: the steps form a cycle: " + names_text + ids[cycle.front()]);
    return;
  }

  // Each step after all it depends on; else as written.
  const std::vector<std::uint32_t> depths = dependency_depths(lists);
  std::vector<std::uint32_t> order(rule.steps.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return depths[i]; });
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  std::vector<Step> sorted;
  for (const std::uint32_t i : order) {
    Step& step = sorted.emplace_back(std::move(rule.steps[i]));
    for (const std::uint32_t below : lists[i])
      step.depends_on.push_back(place[below]);
  }
  rule.steps = std::move(sorted);
}

void WorkloadReader::read_command(TableReader& table) {
  Duration at{0};
  table.required_number("time", at, durations());
  bool any = false;
  for (const VerbKey& row : kVerbs) {
    const Node* node = table.take(row.key);
    if (node == nullptr) continue;
    any = true;
    Command command{Time{at.ns}, row.verb, 0};
    if (row.verb == Verb::flush && node->is(Node::Kind::boolean) && node->boolean) {
      command.verb = Verb::flush_all;
      scenario_.commands.push_back(command);
      continue;
    }
    const auto [noun, names] = subjects_of(row.verb, scenario_);
    if (names != nullptr) {
      std::vector<std::size_t> targets;
      table.references(row.key, noun, *names, targets);
      for (const std::size_t target : targets) {
        command.target = static_cast<std::uint32_t>(target);
        scenario_.commands.push_back(command);
      }
      continue;
    }
    std::vector<Node> targets;
    table.texts(row.key, targets);
    for (const Node& target : targets) {
      if (is_about_task(row.verb)) {
        pending_commands_.push_back({scenario_.commands.size(), target, table.path_of(row.key)});
      } else {
        command.target = scenario_.signals.intern(target.text);
      }
      scenario_.commands.push_back(command);
    }
  }
  table.finish();
  if (!any) {
    table.error("time",
                "at: expected something to do, such as flush = true or pause_queue = "
                "\"name\"");
  }
}

}  // namespace berth::sim
