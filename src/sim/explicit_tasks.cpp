// The tasks that are written one by one, in TOML or in a CSV: see workload_reader.h.
#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/csv.h"
#include "sim/dependencies.h"
#include "sim/task_reader.h"
#include "sim/workload_reader.h"

namespace berth::sim {
namespace {

constexpr std::uint32_t kUnknown = UINT32_MAX;

bool is_name_column(std::string_view column) {
  return column == "id" || column == "queue" || column == "tenant" || column == "group" ||
         column == "on_dependency_failure" || column == "within" || column == "profile";
}

bool is_list_column(std::string_view column) {
  return column == "depends_on" || column == "signals" || column == "kinds";
}

Node number_or_text(const CsvCell& cell) {
  Node node = Node::of_text(cell.at, cell.text);
  const char* first = cell.text.data();
  const char* last = first + cell.text.size();
  const auto is_whole = [&](const std::from_chars_result& parsed) {
    return parsed.ptr == last && parsed.ec == std::errc();
  };
  // An integer of too many digits is still a number.
  if (is_whole(std::from_chars(first, last, node.integer))) {
    node.kind = Node::Kind::integer;
  } else if (is_whole(std::from_chars(first, last, node.real))) {
    node.kind = Node::Kind::real;
  } else if (cell.text == "true" || cell.text == "false") {
    node.kind = Node::Kind::boolean;
    node.boolean = cell.text == "true";
  }
  return node;
}

Node list_of_words(const CsvCell& cell) {
  Node node;
  node.kind = Node::Kind::array;
  node.at = cell.at;
  std::string_view rest = cell.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" ;"), rest.size());
    if (end > 0) node.items.push_back(Node::of_text(cell.at, std::string(rest.substr(0, end))));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return node;
}

void report_repeated_columns(const std::vector<CsvCell>& header, Diagnostics& diagnostics) {
  for (auto column = header.begin(); column != header.end(); ++column) {
    const auto same = std::find_if(
        header.begin(), column, [&](const CsvCell& other) { return other.text == column->text; });
    if (same == column) continue;
    diagnostics.error(column->at, "the column " + quoted(column->text) + " is already there, at " +
                                      diagnostics.place(same->at));
  }
}

// A row as the table that the same task would be in TOML; an empty cell is an absent key.
Node table_of_row(const std::vector<CsvCell>& header, const std::vector<CsvCell>& row) {
  Node table = Node::table_at(row.front().at);
  for (std::size_t i = 0; i < std::min(header.size(), row.size()); ++i) {
    if (row[i].text.empty()) continue;
    const std::string& column = header[i].text;
    Node value = is_name_column(column)   ? Node::of_text(row[i].at, row[i].text)
                 : is_list_column(column) ? list_of_words(row[i])
                                          : number_or_text(row[i]);
    table.entries.push_back({column, header[i].at, std::move(value)});
  }
  return table;
}

}  // namespace

void WorkloadReader::read_task(TableReader& table, const TaskTemplate& defaults, Time start) {
  ExplicitTask task;
  task.task = defaults;
  Duration at{0};
  table.number("at", at, durations());
  task.at = start + at;
  const auto number = static_cast<std::uint32_t>(scenario_.tasks.size());
  if (table.name("id", task.id)) {
    const auto [entry, fresh] = ids_.emplace(task.id, number);
    if (!fresh) {
      table.error("id", table.path_of("id") + ": " + quoted(task.id) +
                            " is already the id of a task, at " +
                            diagnostics_.place(pending_[entry->second].at));
    }
  }
  Pending pending{table.has("id") ? table.origin_of("id") : table.at(), {}};
  table.texts("depends_on", pending.depends_on);
  read_task_fields(table, scenario_, task.task);
  complete_task(table, scenario_, task.task);
  table.finish();
  scenario_.tasks.push_back(std::move(task));
  pending_.push_back(std::move(pending));
}

void WorkloadReader::read_tasks(TableReader& table, const TaskTemplate& defaults, Time start) {
  if (table.require("tasks", "[[workload.tasks]] blocks") == nullptr) return;
  for (TableReader& inner : table.blocks("tasks"))
    read_task(inner, defaults, start);
}

void WorkloadReader::read_csv(TableReader& table, const TaskTemplate& defaults, Time start) {
  std::string file;
  if (table.require("file", "the path of a CSV file") == nullptr) return;
  if (table.name("file", file)) read_csv_file(table, "file", file, defaults, start);
}

void WorkloadReader::read_csv_file(TableReader& table, std::string_view key,
                                   const std::string& file, const TaskTemplate& defaults,
                                   Time start) {
  const std::string path = file.starts_with('/') ? file : folder_ + file;
  std::string problem;
  const std::optional<std::string> text = read_file_(path, problem);
  if (!text) {
    table.error(key, table.path_of(key) + ": cannot read " + quoted(path) + ": " + problem);
    return;
  }
  const std::uint32_t source = diagnostics_.add_source(path);
  read_csv_text(*text, source, defaults, start);
}

std::vector<core::Shape> WorkloadReader::shapes_in(TableReader& table, const std::string& file) {
  // Read as tasks of a scenario that differs in nothing but its tasks.
  Scenario beside = scenario_;
  beside.tasks.clear();
  WorkloadReader reader(beside, diagnostics_, read_file_, folder_);
  TaskTemplate defaults;
  defaults.actual_run = Duration{0};
  reader.read_csv_file(table, "mix", file, defaults, Time{0});
  return shapes_of(beside);
}

std::vector<core::Shape> shapes_of(const Scenario& scenario) {
  std::vector<core::Shape> shapes;
  shapes.reserve(scenario.tasks.size());
  for (const ExplicitTask& task : scenario.tasks)
    shapes.push_back(core::shape_of(task.task.spec, task.task.spec.vram));
  return shapes;
}

void WorkloadReader::read_csv_text(std::string_view text, std::uint32_t source,
                                   const TaskTemplate& defaults, Time start) {
  std::vector<CsvCell> header;
  std::size_t rows = 0;
  for_each_csv_row(text, source, diagnostics_, [&](std::vector<CsvCell>& row) {
    if (header.empty()) {
      header = row;
      report_repeated_columns(header, diagnostics_);
      return;
    }
    ++rows;
    if (row.size() != header.size()) {
      diagnostics_.error(row.front().at, "expected " + std::to_string(header.size()) +
                                             " cells, as in the header, found " +
                                             std::to_string(row.size()));
      return;
    }
    const Node node = table_of_row(header, row);
    TableReader table(node, "csv", diagnostics_);
    read_task(table, defaults, start);
  });
  if (rows == 0) {
    diagnostics_.error({source, 0, 0}, "expected a header and at least one row of a task");
  }
}

std::uint32_t WorkloadReader::find_task(const Node& id, const std::string& path) {
  const auto found = ids_.find(id.text);
  if (found != ids_.end()) return found->second;
  // The nearest of a million names is not worth the wait.
  constexpr std::size_t kMostCompared = 10'000;
  std::vector<std::string> names;
  for (const auto& [name, number] : ids_) {
    if (names.size() < kMostCompared) names.push_back(name);
  }
  diagnostics_.error(id.at,
                     path + ": no task has the id " + quoted(id.text) + suggestion(id.text, names));
  return kUnknown;
}

void WorkloadReader::resolve_dependencies() {
  std::vector<ExplicitTask>& tasks = scenario_.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const Node& id : pending_[i].depends_on) {
      const std::uint32_t below = find_task(id, "depends_on");
      if (below == kUnknown) continue;
      if (tasks[below].at > tasks[i].at) {
        diagnostics_.error(id.at, "depends_on: " + quoted(id.text) + " is submitted at " +
                                      duration_text(tasks[below].at.ns) + ", after this task at " +
                                      duration_text(tasks[i].at.ns));
      }
      tasks[i].depends_on.push_back(below);
    }
  }
}

void WorkloadReader::report_cycle(const std::vector<std::uint32_t>& cycle) {
  constexpr std::size_t kMostNamed = 12;
  std::string names;
  for (std::size_t i = 0; i < cycle.size() && i < kMostNamed; ++i) {
    names += scenario_.tasks[cycle[i]].id + " -> ";
  }
  if (cycle.size() > kMostNamed) names += "… -> ";
  const Pending& first = pending_[cycle.front()];
  diagnostics_.error(first.depends_on.front().at, "depends_on: the tasks form a cycle: " + names +
                                                      scenario_.tasks[cycle.front()].id);
}

std::vector<std::uint32_t> WorkloadReader::submission_order() const {
  const std::vector<ExplicitTask>& tasks = scenario_.tasks;
  DependencyLists lists;
  lists.reserve(tasks.size());
  for (const ExplicitTask& task : tasks)
    lists.push_back(task.depends_on);
  const std::vector<std::uint32_t> depths = dependency_depths(lists);
  std::vector<std::uint32_t> order(tasks.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, {},
                           [&](std::uint32_t i) { return std::pair(tasks[i].at, depths[i]); });
  return order;
}

void WorkloadReader::finish() {
  resolve_dependencies();
  for (PendingCommand& pending : pending_commands_) {
    Command& command = scenario_.commands[pending.command];
    command.target = find_task(pending.id, pending.path);
    if (command.target == kUnknown) continue;
    const Time submitted = scenario_.tasks[command.target].at;
    if (submitted > command.at) {
      diagnostics_.error(pending.id.at, pending.path + ": " + quoted(pending.id.text) +
                                            " is submitted later, at " +
                                            duration_text(submitted.ns));
    }
  }

  DependencyLists lists;
  for (const ExplicitTask& task : scenario_.tasks)
    lists.push_back(task.depends_on);
  const std::vector<std::uint32_t> cycle = find_cycle(lists);
  if (!cycle.empty()) return report_cycle(cycle);

  const std::vector<std::uint32_t> order = submission_order();
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  std::vector<ExplicitTask> sorted;
  sorted.reserve(order.size());
  for (const std::uint32_t i : order) {
    ExplicitTask& task = sorted.emplace_back(std::move(scenario_.tasks[i]));
    for (std::uint32_t& below : task.depends_on)
      below = place[below];
  }
  scenario_.tasks = std::move(sorted);
  for (const PendingCommand& pending : pending_commands_) {
    std::uint32_t& target = scenario_.commands[pending.command].target;
    if (target != kUnknown) target = place[target];
  }
  std::ranges::stable_sort(scenario_.commands, {}, &Command::at);
}

}  // namespace berth::sim
