// See sim_summary.h.
#include "cli/sim_summary.h"

#include <algorithm>
#include <cstdio>

#include "cli/sim_runs.h"
#include "cli/table.h"

namespace berth::cli {
namespace {

// Longer lists are cut; --json has them all.
constexpr std::size_t kMostRows = 24;

void print_title(std::ostream& out, const sim::Scenario& scenario, const std::string& rest) {
  out << scenario.name << ", " << rest << "\n";
  if (!scenario.description.empty()) out << scenario.description << "\n";
  out << "\n";
}

std::string ends_text(const sim::TaskCounts& tasks) {
  std::string text = count_text(tasks.completed) + " completed";
  const auto add = [&](std::uint64_t count, const std::string& word) {
    if (count > 0) text += ", " + count_text(count) + " " + word;
  };
  add(tasks.refused, "refused");
  add(tasks.failed, "failed");
  add(tasks.cancelled, "cancelled");
  add(tasks.expired, "expired");
  add(tasks.unfinished, "not finished");
  return text;
}

void print_totals(std::ostream& out, const sim::Report& report) {
  const auto line = [&](const std::string& name, const std::string& text) {
    out << "  " << name << std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') << text
        << "\n";
  };
  line("tasks", count_text(report.tasks.submitted) + " submitted: " + ends_text(report.tasks));
  std::string batches =
      count_text(report.batches) + ", " + fixed_text(report.mean_batch_size, 2) + " tasks each";
  if (report.retries > 0) batches += ", " + plural(report.retries, "restart") + " of tasks";
  line("batches", batches);
  line("wait", milliseconds_text(report.waits.mean) + " mean, " +
                   milliseconds_text(report.waits.p50) + " p50, " +
                   milliseconds_text(report.waits.p99) + " p99, " +
                   milliseconds_text(report.waits.max) + " max");
  line("throughput", fixed_text(report.throughput_per_s, 2) + " tasks/s over " +
                         milliseconds_text(report.makespan_s * 1000.0));
  if (report.cpu_only.submitted > 0) {
    line("no GPU",
         count_text(report.cpu_only.submitted) + " submitted: " + ends_text(report.cpu_only));
  }
  if (report.nodes.nodes > 0) {
    line("nodes", count_text(report.nodes.nodes) + ", " + percent_text(report.nodes.cpu_ratio) +
                      " of CPUs, " + percent_text(report.nodes.memory_ratio) + " of memory");
  }
  line("GPUs", count_text(report.gpus.size()) + ", " + percent_text(report.busy_ratio) + " busy, " +
                   percent_text(report.vram_ratio) + " of VRAM");
  if (!report.models.empty()) {
    line("models", count_text(report.models.size()) + ", " + plural(report.loads, "load") + ", " +
                       plural(report.evictions, "eviction"));
  }
}

void print_reasons(std::ostream& out, const std::string& title,
                   const std::vector<sim::ReasonCount>& reasons) {
  if (reasons.empty()) return;
  Table table;
  table.add({title, "tasks"});
  for (const sim::ReasonCount& row : reasons) {
    table.add({row.name + ": " + row.sentence, count_text(row.tasks)});
  }
  out << "\n";
  table.print(out);
}

void print_unfinished(std::ostream& out, const sim::Report& report) {
  if (report.unfinished.reasons.empty()) return;
  std::string title = "not finished because";
  if (report.unfinished.asked < report.tasks.unfinished) {
    title += " (" + count_text(report.unfinished.asked) + " of " +
             count_text(report.tasks.unfinished) + " asked)";
  }
  Table table;
  table.add({title, "tasks", "such as"});
  for (const sim::UnfinishedReason& row : report.unfinished.reasons) {
    table.add({row.name + ": " + row.sentence, count_text(row.tasks),
               "task " + std::to_string(row.example)});
  }
  out << "\n";
  table.print(out);
}

// Prints the rows up to the limit, and says how many more there are.
template <class Row, class Cells>
void print_rows(std::ostream& out, std::vector<std::string> heading, const std::vector<Row>& rows,
                Cells cells) {
  if (rows.empty()) return;
  Table table;
  table.add(std::move(heading));
  for (const Row& row : rows) {
    if (table.size() <= kMostRows) table.add(cells(row));
  }
  out << "\n";
  table.print(out);
  if (rows.size() > kMostRows) {
    out << "  … and " << count_text(rows.size() - kMostRows) << " more (--json has all)\n";
  }
}

std::string ended_badly(const sim::TaskCounts& tasks) {
  return count_text(tasks.failed + tasks.cancelled + tasks.expired);
}

void print_tables(std::ostream& out, const sim::Report& report) {
  print_rows(out,
             {"queue", "tasks", "completed", "refused", "ended else", "batches", "size", "wait",
              "p99", "GPU time"},
             report.queues, [](const sim::QueueReport& row) -> std::vector<std::string> {
               return {row.name,
                       count_text(row.tasks.submitted),
                       count_text(row.tasks.completed),
                       count_text(row.tasks.refused),
                       ended_badly(row.tasks),
                       count_text(row.batches),
                       fixed_text(row.mean_batch_size, 2),
                       milliseconds_text(row.waits.mean),
                       milliseconds_text(row.waits.p99),
                       milliseconds_text(row.gpu_seconds * 1000.0)};
             });
  if (report.tenants.size() > 1) {
    print_rows(out,
               {"tenant", "weight", "tasks", "completed", "refused", "ended else", "wait", "p99",
                "GPU time", "of all"},
               report.tenants, [](const sim::TenantReport& row) -> std::vector<std::string> {
                 return {row.name,
                         fixed_text(row.weight, 2),
                         count_text(row.tasks.submitted),
                         count_text(row.tasks.completed),
                         count_text(row.tasks.refused),
                         ended_badly(row.tasks),
                         milliseconds_text(row.waits.mean),
                         milliseconds_text(row.waits.p99),
                         milliseconds_text(row.gpu_seconds * 1000.0),
                         percent_text(row.gpu_share)};
               });
  }
  print_rows(out, {"model", "loads", "evictions", "resident", "computing"}, report.models,
             [](const sim::ModelReport& row) -> std::vector<std::string> {
               return {row.name, count_text(row.loads), count_text(row.evictions),
                       milliseconds_text(row.resident_s * 1000.0),
                       milliseconds_text(row.computing_s * 1000.0)};
             });
  if (report.kinds.size() > 1) {
    print_rows(out, {"kind", "GPUs", "allocated"}, report.kinds,
               [](const sim::KindReport& row) -> std::vector<std::string> {
                 return {row.name, count_text(row.gpus), percent_text(row.allocated_ratio)};
               });
  }
  print_rows(out, {"gpu", "batches", "busy", "VRAM"}, report.gpus,
             [](const sim::GpuReport& row) -> std::vector<std::string> {
               return {row.name, count_text(row.batches), percent_text(row.busy_ratio),
                       percent_text(row.vram_ratio)};
             });
}

}  // namespace

void print_summary(std::ostream& out, const sim::Scenario& scenario, const sim::Report& report) {
  print_title(out, scenario, "policy " + report.policy + ", seed " + std::to_string(report.seed));
  print_totals(out, report);
  print_reasons(out, "refused because", report.refusals);
  print_reasons(out, "failed because", report.failures);
  print_unfinished(out, report);
  print_tables(out, report);
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(report.actions_hash));
  out << "\n  " << plural(report.events, "event") << ", " << plural(report.actions, "action")
      << ", hash " << hash << ", " << milliseconds_text(report.wall_s * 1000.0) << " to simulate\n";
}

void print_distribution(std::ostream& out, const sim::Scenario& scenario,
                        const std::vector<sim::Report>& reports) {
  print_title(out, scenario,
              "policy " + reports.front().policy + ", " + plural(reports.size(), "seed") +
                  " from " + std::to_string(reports.front().seed));
  Table table;
  table.add({"over the seeds", "min", "p5", "median", "p95", "max"});
  for (const Figure& figure : figures()) {
    const sim::Spread spread = spread_of(figure, reports);
    table.add({figure.name, figure.text(spread.min), figure.text(spread.p5),
               figure.text(spread.median), figure.text(spread.p95), figure.text(spread.max)});
  }
  table.print(out);
}

static std::string column_of(const PolicyRuns& runs, bool one_policy) {
  if (runs.setting.empty()) return runs.policy;
  const std::size_t dot = runs.setting.find_last_of('.', runs.setting.find('='));
  const std::string setting = runs.setting.substr(dot == std::string::npos ? 0 : dot + 1);
  return one_policy ? setting : runs.policy + " " + setting;
}

void print_comparison(std::ostream& out, const sim::Scenario& scenario,
                      const std::vector<PolicyRuns>& policies) {
  const bool one_policy = policies.front().policy == policies.back().policy;
  const std::vector<sim::Report>& first = policies.front().reports;
  print_title(out, scenario,
              first.size() == 1 ? "seed " + std::to_string(first.front().seed)
                                : "medians over " + plural(first.size(), "seed") + " from " +
                                      std::to_string(first.front().seed));
  Table table;
  const bool varied = one_policy && !policies.front().setting.empty();
  std::vector<std::string> heading = {varied ? policies.front().policy : "policy"};
  for (const PolicyRuns& runs : policies)
    heading.push_back(column_of(runs, one_policy));
  table.add(std::move(heading));
  for (const Figure& figure : figures()) {
    std::vector<std::string> row = {figure.name};
    for (const PolicyRuns& runs : policies) {
      row.push_back(figure.text(spread_of(figure, runs.reports).median));
    }
    table.add(std::move(row));
  }
  table.print(out);

  if (scenario.tenants.size() < 2 || scenario.tenants.size() > kMostRows) return;
  Table tenants;
  heading = {"tenant"};
  for (const PolicyRuns& runs : policies) {
    heading.push_back(column_of(runs, one_policy) + " GPU");
    heading.emplace_back("wait p99");
  }
  tenants.add(std::move(heading));
  for (std::size_t i = 0; i < scenario.tenants.size(); ++i) {
    std::vector<std::string> row = {scenario.tenants.names[i] + ", weight " +
                                    fixed_text(first.front().tenants[i].weight, 1)};
    for (const PolicyRuns& runs : policies) {
      std::vector<double> shares;
      std::vector<double> waits;
      for (const sim::Report& report : runs.reports) {
        shares.push_back(report.tenants[i].gpu_share);
        waits.push_back(report.tenants[i].waits.p99);
      }
      row.push_back(percent_text(sim::spread_of(shares).median));
      row.push_back(milliseconds_text(sim::spread_of(waits).median));
    }
    tenants.add(std::move(row));
  }
  out << "\n";
  tenants.print(out);
}

}  // namespace berth::cli
