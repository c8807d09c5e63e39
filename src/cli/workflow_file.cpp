// See workflow_file.h.
#include "cli/workflow_file.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "base/units.h"
#include "cli/retry_kinds.h"
#include "cli/values.h"
#include "config/fields.h"
#include "sim/json.h"

namespace berth::cli {
namespace {

using config::Diagnostics;
using config::Node;
using config::Origin;
using config::TableReader;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr auto kTimes = config::durations(kMillisecond);
constexpr auto kTimesOrNone = config::durations(0);

// ---- JSON as the tree that TOML gives -----------------------------------------------------------

Node node_of(const google::protobuf::Value& value, Origin at);

Node node_of(const google::protobuf::Struct& table, Origin at) {
  Node node = Node::table_at(at);
  for (const auto& [key, value] : table.fields()) {
    if (!value.has_null_value()) node.entries.push_back({key, at, node_of(value, at)});
  }
  return node;
}

Node node_of(const google::protobuf::Value& value, Origin at) {
  Node node;
  node.at = at;
  if (value.has_struct_value()) return node_of(value.struct_value(), at);
  if (value.has_string_value()) return Node::of_text(at, value.string_value());
  if (value.has_bool_value()) {
    node.kind = Node::Kind::boolean;
    node.boolean = value.bool_value();
  } else if (value.has_list_value()) {
    node.kind = Node::Kind::array;
    for (const google::protobuf::Value& item : value.list_value().values())
      node.items.push_back(node_of(item, at));
  } else {
    const double number = value.number_value();
    const bool whole = std::trunc(number) == number && std::abs(number) < 9e15;
    node.kind = whole ? Node::Kind::integer : Node::Kind::real;
    node.real = number;
    if (whole) node.integer = static_cast<std::int64_t>(number);
  }
  return node;
}

std::optional<Node> parse_json(const std::string& text, Origin at, Diagnostics& diagnostics) {
  google::protobuf::Struct document;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &document);
  if (status.ok()) return node_of(document, at);
  diagnostics.error(at, "not JSON: " + std::string(status.message()));
  return std::nullopt;
}

// The node as JSON on one line. Keys are sorted, so that the same file gives the same bytes.
std::string json_of(const Node& node) {
  const auto quoted = [](std::string_view text) {
    sim::JsonWriter writer(0);
    writer.value(text);
    return writer.text();
  };
  std::string list;
  const auto add = [&](const std::string& item) { list += (list.empty() ? "" : ",") + item; };
  switch (node.kind) {
    case Node::Kind::table: {
      std::map<std::string, const Node*> members;
      for (const config::Entry& entry : node.entries)
        members[entry.key] = &entry.value;
      for (const auto& [key, value] : members)
        add(quoted(key) + ":" + json_of(*value));
      return "{" + list + "}";
    }
    case Node::Kind::array:
      for (const Node& item : node.items)
        add(json_of(item));
      return "[" + list + "]";
    case Node::Kind::integer:
      return std::to_string(node.integer);
    case Node::Kind::real: {
      std::array<char, 32> digits{};
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), node.real);
      return std::isfinite(node.real) ? std::string(digits.data(), end.ptr) : "null";
    }
    case Node::Kind::boolean:
      return node.boolean ? "true" : "false";
    default:
      return quoted(node.text);
  }
}

// ---- One task -----------------------------------------------------------------------------------

class TaskReader {
 public:
  TaskReader(TableReader& table, const std::filesystem::path& folder, std::int64_t now_unix_ms)
      : table_(table), folder_(folder), now_unix_ms_(now_unix_ms) {}

  // What may also stand in [defaults].
  void read_common(v1::TaskSpec& spec) {
    name("queue", *spec.mutable_task_type());
    name("tenant", *spec.mutable_user_id());
    name("group", *spec.mutable_group());
    read_needs(spec);
    read_order(spec);
    read_work(spec);
    read_times(spec);
    read_retry(spec);
    flag("run_after_failure", [&](bool on) { spec.set_run_after_failure(on); });
    flag("held", [&](bool on) { spec.set_held(on); });
    const std::vector<std::string> rules = {"at_least_once", "at_most_once"};
    std::size_t rule = 0;
    if (table_.choice("start", rules, rule))
      spec.set_start(rule == 0 ? v1::AT_LEAST_ONCE : v1::AT_MOST_ONCE);
    pairs("labels", *spec.mutable_labels());
  }

  void read_own(v1::TaskSpec& spec) {
    name("id", *spec.mutable_task_id());
    for (const std::string& id : words("depends_on"))
      spec.add_depends_on(id);
  }

 private:
  void name(std::string_view key, std::string& out) { table_.name(key, out); }

  void flag(std::string_view key, const auto& set) {
    bool value = false;
    if (table_.boolean(key, value)) set(value);
  }
  void number(std::string_view key, const config::NumberType& type, const auto& set) {
    std::int64_t value = 0;
    if (table_.number(key, value, type)) set(value);
  }
  void time(std::string_view key, const auto& set, const config::NumberType& type = kTimes) {
    number(key, type, [&](std::int64_t ns) { set(ns / kMillisecond); });
  }
  void instant(std::string_view key, const auto& set) {
    const Node* node = table_.take(key);
    if (node == nullptr) return;
    const auto read = read_instant_ms(node->is(Node::Kind::text) ? node->text : "", now_unix_ms_);
    if (read) return set(*read);
    table_.error(key, table_.path_of(key) +
                          ": expected an instant as a string, such as \"2026-11-15T12:00:00Z\" or "
                          "\"+10min\", found " +
                          describe(*node));
  }
  std::vector<std::string> words(std::string_view key) {
    std::vector<Node> nodes;
    table_.texts(key, nodes);
    std::vector<std::string> texts;
    for (const Node& node : nodes)
      texts.push_back(node.text);
    return texts;
  }
  // A table of strings; what stands there already is kept.
  void pairs(std::string_view key, google::protobuf::Map<std::string, std::string>& out) {
    const Node* node = table_.take(key);
    if (node == nullptr) return;
    bool good = node->is(Node::Kind::table);
    for (const config::Entry& entry : node->entries) {
      good = good && entry.value.is(Node::Kind::text);
      out[entry.key] = entry.value.text;
    }
    if (!good) {
      table_.error(key, table_.path_of(key) + ": expected a table of strings such as " +
                            "{ KEY = \"value\" }, found " + describe(*node));
    }
  }

  void read_needs(v1::TaskSpec& spec) {
    number("vram", config::vram_amounts(), [&](auto mb) { spec.set_gpu_memory_mb(mb); });
    number("gpus", config::integers(0, UINT16_MAX),
           [&](auto n) { spec.set_gpus(static_cast<std::uint32_t>(n)); });
    number("share", config::thousandths(1, 1000),
           [&](auto n) { spec.set_share_milli(static_cast<std::uint32_t>(n)); });
    number("cpus", config::thousandths(0, kCpusMilliMax),
           [&](auto n) { spec.set_cpus_milli(static_cast<std::uint32_t>(n)); });
    number("memory", config::memory_amounts(), [&](auto mb) { spec.set_memory_mb(mb); });
    read_gang(spec);
    table_.text("mig_profile", *spec.mutable_mig_profile());
  }

  void read_gang(v1::TaskSpec& spec) {
    const std::vector<std::string> kinds = words("gpu_kinds");
    if (table_.has("gpu_kinds")) spec.mutable_gpu_kinds()->Assign(kinds.begin(), kinds.end());
    number("groups", config::integers(1, UINT16_MAX),
           [&](auto n) { spec.set_groups(static_cast<std::uint32_t>(n)); });
    const std::vector<std::string> levels = {"island", "node", "rack", "cluster"};
    std::size_t level = 0;
    if (table_.choice("within", levels, level)) spec.set_within(levels[level]);
    flag("required", [&](bool on) { spec.set_required(on); });
  }

  void read_order(v1::TaskSpec& spec) {
    number("priority", config::integers(kPriorityMin, kPriorityMax),
           [&](auto n) { spec.set_priority(static_cast<std::int32_t>(n)); });
    number("tier", config::integers(0, 3),
           [&](auto n) { spec.set_tier(static_cast<std::uint32_t>(n)); });
    number("tokens", config::integers(1, UINT32_MAX),
           [&](auto n) { spec.set_tokens(static_cast<std::uint32_t>(n)); });
  }

  void read_work(v1::TaskSpec& spec) {
    if (const Node* command = table_.take("command"); command != nullptr) {
      spec.clear_payload();
      spec.clear_command();
      bool good = command->is(Node::Kind::array) && !command->items.empty();
      for (const Node& word : command->items) {
        good = good && word.is(Node::Kind::text);
        spec.mutable_command()->add_argv(word.text);
      }
      if (!good) {
        table_.error("command", table_.path_of("command") +
                                    ": expected the program and its arguments as a list of " +
                                    "strings, such as [\"python3\", \"train.py\"], found " +
                                    describe(*command));
      }
    }
    read_payload(spec);
    pairs("env", *spec.mutable_env());
    table_.text("workdir", *spec.mutable_workdir());
    const std::vector<std::string> signals = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"};
    std::size_t signal = 0;
    if (table_.choice("stop_signal", signals, signal)) spec.set_stop_signal(signals[signal]);
  }

  void read_payload(v1::TaskSpec& spec) {
    std::string payload;
    if (const Node* node = table_.take("payload"); node != nullptr && node->is(Node::Kind::table)) {
      payload = json_of(*node);
    } else if (!table_.text("payload", payload)) {
      return;
    }
    if (table_.has("command")) {
      return table_.error("payload",
                          table_.path_of("payload") + ": give a command or a payload, not both");
    }
    spec.clear_command();
    if (payload.starts_with('@')) {
      const std::filesystem::path path = folder_ / payload.substr(1);
      std::ifstream in(path, std::ios::binary);
      std::ostringstream bytes;
      if (!in || !(bytes << in.rdbuf()))
        table_.error("payload", table_.path_of("payload") + ": cannot read " + path.string());
      payload = bytes.str();
    }
    spec.set_payload(payload);
  }

  void read_times(v1::TaskSpec& spec) {
    time("expected_run", [&](auto ms) { spec.set_expected_run_ms(ms); });
    time("run_limit", [&](auto ms) { spec.set_run_limit_ms(ms); });
    time("tolerated_wait", [&](auto ms) { spec.set_tolerated_wait_ms(ms); });
    time(
        "checkpoint_interval", [&](auto ms) { spec.set_checkpoint_interval_ms(ms); }, kTimesOrNone);
    time(
        "restart_cost", [&](auto ms) { spec.set_restart_cost_ms(ms); }, kTimesOrNone);
    time("stop_grace", [&](auto ms) { spec.set_stop_grace_ms(ms); });
    time("result_ttl", [&](auto ms) { spec.set_result_ttl_ms(ms); });
    instant("not_before", [&](auto ms) { spec.set_not_before_unix_ms(ms); });
    instant("deadline", [&](auto ms) { spec.set_deadline_unix_ms(ms); });
  }

  void read_retry(v1::TaskSpec& spec) {
    if (!table_.has("retry")) return (void)table_.take("retry");
    TableReader retry = table_.table("retry");
    v1::RetryRule& rule = *spec.mutable_retry();
    std::int64_t attempts = rule.attempts();
    if (retry.number("attempts", attempts, config::integers(1, 255)))
      rule.set_attempts(static_cast<std::uint32_t>(attempts));
    std::int64_t backoff_ns = 0;
    if (retry.number("backoff", backoff_ns, kTimesOrNone))
      rule.set_backoff_ms(backoff_ns / kMillisecond);
    std::vector<std::size_t> kinds;
    if (retry.references("on", "failure", retry_kind_names(), kinds)) {
      rule.clear_on();
      for (const std::size_t kind : kinds)
        rule.add_on(retry_kind(kind));
    }
    retry.finish();
  }

  TableReader& table_;
  const std::filesystem::path& folder_;
  const std::int64_t now_unix_ms_;
};

// ---- All of them --------------------------------------------------------------------------------

void check_ids(const std::vector<TableReader>& tables, const v1::SubmitWorkflowRequest& request,
               Diagnostics& diagnostics) {
  std::map<std::string, int> seen;
  for (int i = 0; i < request.tasks_size(); ++i) {
    const std::string& id = request.tasks(i).task_id();
    const TableReader& table = tables[static_cast<std::size_t>(i)];
    if (id.empty()) continue;
    const auto [first, fresh] = seen.try_emplace(id, i);
    if (fresh) continue;
    diagnostics.error(table.origin_of("id"), table.path_of("id") + ": " + config::quoted(id) +
                                                 " is also the id of tasks[" +
                                                 std::to_string(first->second) + "]");
  }
  for (int i = 0; i < request.tasks_size(); ++i) {
    const TableReader& table = tables[static_cast<std::size_t>(i)];
    for (const std::string& id : request.tasks(i).depends_on()) {
      if (id != request.tasks(i).task_id() || id.empty()) continue;
      diagnostics.error(table.origin_of("depends_on"),
                        table.path_of("depends_on") + ": the task waits for itself");
    }
  }
}

// Ids of the file, and what waits for them; other tasks and signals keep their names.
void put_prefix(const std::string& prefix, v1::SubmitWorkflowRequest& request) {
  std::map<std::string, std::string> renamed;
  for (v1::TaskSpec& task : *request.mutable_tasks()) {
    if (task.task_id().empty()) continue;
    renamed[task.task_id()] = prefix + task.task_id();
    task.set_task_id(prefix + task.task_id());
  }
  for (v1::TaskSpec& task : *request.mutable_tasks()) {
    for (std::string& id : *task.mutable_depends_on()) {
      if (const auto at = renamed.find(id); at != renamed.end()) id = at->second;
    }
  }
}

}  // namespace

std::optional<v1::SubmitWorkflowRequest> read_workflow(const WorkflowFile& file,
                                                       const std::string& prefix,
                                                       std::int64_t now_unix_ms,
                                                       Diagnostics& diagnostics) {
  const bool is_json = file.name.ends_with(".json");
  const std::uint32_t source = diagnostics.add_source(file.name, is_json ? "" : file.text);
  const std::optional<Node> document = is_json
                                           ? parse_json(file.text, {source, 0, 0}, diagnostics)
                                           : config::parse_document(file.text, source, diagnostics);
  if (!document) return std::nullopt;

  TableReader whole(*document, "", diagnostics);
  v1::TaskSpec defaults;
  TableReader given_defaults = whole.table("defaults");
  TaskReader(given_defaults, file.folder, now_unix_ms).read_common(defaults);
  given_defaults.finish();

  v1::SubmitWorkflowRequest request;
  std::vector<TableReader> tables;
  const Node* tasks = whole.take("tasks");
  if (tasks == nullptr || !tasks->is_array_of_tables()) {
    whole.error("tasks", is_json ? "tasks: expected a list of tasks"
                                 : "tasks: expected a block [[tasks]] for each task");
  } else {
    for (const Node& node : tasks->items) {
      TableReader& table =
          tables.emplace_back(node, "tasks[" + std::to_string(tables.size()) + "]", diagnostics);
      v1::TaskSpec& task = *request.add_tasks();
      task = defaults;
      TaskReader reader(table, file.folder, now_unix_ms);
      reader.read_own(task);
      reader.read_common(task);
      table.finish();
      const bool named_wrongly = table.has("queue") || given_defaults.has("queue");
      if (task.task_type().empty() && !named_wrongly)
        table.require("queue", "the name of a queue, here or in [defaults]");
    }
  }
  whole.finish();
  check_ids(tables, request, diagnostics);
  if (!diagnostics.empty()) return std::nullopt;
  put_prefix(prefix, request);
  return request;
}

}  // namespace berth::cli
