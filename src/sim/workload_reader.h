// Reads the [[workload]] blocks and the [[at]] commands of a scenario.
//
// Ids of explicit tasks are one space over all blocks and CSV files. They are resolved after the
// last block, because a task may name one that is written further down; then cycles and tasks that
// depend on later ones are reported, and the tasks are put in the order of their submission.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading.h"
#include "sim/scenario.h"
#include "sim/scenario_reader.h"

namespace berth::sim {

class WorkloadReader {
 public:
  // `folder` is where relative CSV paths start.
  WorkloadReader(Scenario& scenario, Diagnostics& diagnostics, const ReadFile& read_file,
                 std::string folder);

  void read_block(TableReader& table, std::uint32_t block);
  void read_command(TableReader& table);

  // What the tasks of a CSV, named by the key "mix" of a table, ask for. They are not submitted.
  std::vector<core::Shape> shapes_in(TableReader& table, const std::string& file);

  // Resolves ids and sorts; call once, after the last block and command.
  void finish();

 private:
  // What a task or command says about other tasks, until ids are resolved.
  struct Pending {
    Origin at;
    std::vector<Node> depends_on;
  };
  struct PendingCommand {
    std::size_t command;
    Node id;
    std::string path;
  };

  void read_rule(TableReader& table, ArrivalRule& rule);
  void read_steps(TableReader& table, const TaskTemplate& defaults, ArrivalRule& rule);
  void read_task(TableReader& table, const TaskTemplate& defaults, Time start);
  void read_tasks(TableReader& table, const TaskTemplate& defaults, Time start);
  void read_csv(TableReader& table, const TaskTemplate& defaults, Time start);
  void read_csv_file(TableReader& table, std::string_view key, const std::string& file,
                     const TaskTemplate& defaults, Time start);
  void read_csv_text(std::string_view text, std::uint32_t source, const TaskTemplate& defaults,
                     Time start);

  std::uint32_t find_task(const Node& id, const std::string& path);
  void resolve_dependencies();
  void report_cycle(const std::vector<std::uint32_t>& cycle);
  std::vector<std::uint32_t> submission_order() const;
  void check_size(TableReader& table, const ArrivalRule& rule);
  void check_span(TableReader& table, const ArrivalRule& rule);

  Scenario& scenario_;
  Diagnostics& diagnostics_;
  const ReadFile& read_file_;
  std::string folder_;
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  std::vector<Pending> pending_;  // beside scenario_.tasks
  std::vector<PendingCommand> pending_commands_;
};

// What the tasks that are written one by one ask for; fields that are drawn count as not given.
std::vector<core::Shape> shapes_of(const Scenario& scenario);

}  // namespace berth::sim
