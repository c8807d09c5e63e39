// See task_reader.h.
#include "sim/task_reader.h"

#include <algorithm>
#include <utility>

#include "sim/shape_reader.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

const DrawnField* drawn_field(const TaskTemplate& task, Field field) {
  const auto found = std::ranges::find(task.drawn, field, &DrawnField::field);
  return found == task.drawn.end() ? nullptr : &*found;
}

// Replaces whatever the field was.
void put_draw(TaskTemplate& task, Field field, Draw draw, bool rotate = false) {
  std::erase_if(task.drawn, [&](const DrawnField& drawn) { return drawn.field == field; });
  if (draw.is_fixed()) {
    set_field(task.spec, task.actual_run, field, draw.low);
    return;
  }
  task.drawn.push_back({field, std::move(draw), rotate});
  std::ranges::sort(task.drawn, {}, &DrawnField::field);
}

// {3, 1} -> {3000, 4000}: thousandths, summed from the left. Empty: there was an error.
std::vector<std::int64_t> read_weights(TableReader& table, std::string_view key, const Node& node,
                                       std::size_t expected) {
  std::vector<std::int64_t> sums;
  if (!node.is(Node::Kind::array) || node.items.size() != expected) {
    table.error(key, table.path_of(key) + ": expected a list of " + std::to_string(expected) +
                         " numbers, one for each value, found " + describe(node));
    return sums;
  }
  std::int64_t sum = 0;
  bool all = true;
  for (const Node& item : node.items) {
    const auto weight = table.read_number(key, {&item, 0}, thousandths(1, kBillion));
    all = all && weight.has_value();
    sum += weight.value_or(0);
    sums.push_back(sum);
  }
  if (!all) sums.clear();
  return sums;
}

// `queue` or `queues`, with `queue_pick` and `queue_weights`; the same for tenants.
void read_choice(TableReader& table, const std::string& noun, Field field,
                 const std::vector<std::string>& names, TaskTemplate& task) {
  const std::string plural = noun + "s";
  const std::string pick_key = noun + "_pick";
  const std::string weights_key = noun + "_weights";
  const std::vector<std::string> picks = {"rotate", "random"};

  std::size_t one = 0;
  const bool named = table.reference(noun, noun, names, one);
  if (named) put_draw(task, field, Draw::fixed(static_cast<std::int64_t>(one)));
  std::vector<std::size_t> several;
  const bool listed = table.references(plural, noun, names, several);
  if ((table.has(noun) && !named) || (table.has(plural) && !listed)) {
    // Stand-ins, so that a wrong name is not reported again as a missing one.
    put_draw(task, field, Draw::fixed(0));
    task.actual_run = Duration{0};
  }
  std::size_t pick = 0;
  const bool picked = table.choice(pick_key, picks, pick);
  const Node* weights = table.take(weights_key);

  if (table.has(noun) && table.has(plural)) {
    table.error(plural, table.path_of(plural) + ": already given as " + noun);
  }
  if (!table.has(plural)) {
    for (const std::string& key : {pick_key, weights_key}) {
      if (table.has(key)) table.error(key, table.path_of(key) + ": needs " + plural);
    }
    return;
  }
  if (!listed) return;
  Draw draw;
  draw.kind = Draw::Kind::one_of;
  for (const std::size_t position : several) {
    draw.values.push_back(static_cast<std::int64_t>(position));
  }
  bool rotate = pick == 0;
  if (weights != nullptr) {
    if (picked && rotate) {
      table.error(weights_key, table.path_of(weights_key) + ": rotation takes no weights; use " +
                                   pick_key + " = \"random\"");
    }
    draw.weights_below = read_weights(table, weights_key, *weights, several.size());
    rotate = false;
  }
  put_draw(task, field, std::move(draw), rotate);
}

void read_retry(TableReader& outer, const Node& node, core::RetryRule& rule) {
  if (!node.is(Node::Kind::table)) {
    outer.error("retry", outer.path_of("retry") + ": expected a table such as " +
                             "{ attempts = 3, backoff = \"1s\" }, found " + describe(node));
    return;
  }
  TableReader table(node, outer.path_of("retry"), outer.diagnostics());
  table.number("attempts", rule.max_attempts, integers(1, 255));
  table.number("backoff", rule.backoff, durations());
  const std::vector<std::string> failures = {"error", "out_of_memory", "timeout", "crash"};
  std::vector<std::size_t> on;
  if (table.references("on", "failure", failures, on)) {
    rule.on = 0;
    for (const std::size_t kind : on) {
      rule.on = static_cast<std::uint8_t>(rule.on | mask_of(static_cast<core::Failure>(kind)));
    }
  }
  table.finish();
}

// {min, max, step}, {values, weights} or {mean}; `factor` is the unit that the key carries.
bool read_draw_table(TableReader& table, std::string_view key, NumberNode from,
                     const NumberType& type, Draw& draw) {
  const Node& node = *from.node;
  TableReader inner(node, table.path_of(key), table.diagnostics());
  const auto value = [&](std::string_view name) -> std::optional<std::int64_t> {
    const Node* found = inner.take(name);
    if (found == nullptr) return std::nullopt;
    NumberType relaxed = type;
    if (name == "step") relaxed.low = 1;
    return inner.read_number(name, {found, from.factor}, relaxed);
  };
  const std::optional<std::int64_t> min = value("min");
  const std::optional<std::int64_t> max = value("max");
  const std::optional<std::int64_t> step = value("step");
  const std::optional<std::int64_t> mean = value("mean");
  inner.finish();
  if (mean && type.kind == NumberType::Kind::time && !inner.has("min") && !inner.has("step")) {
    draw.kind = Draw::Kind::exponential;
    draw.low = *mean;
    draw.high = max.value_or(type.high);
    return true;
  }
  if (!inner.has("min") || !inner.has("max") || inner.has("mean")) {
    const bool time = type.kind == NumberType::Kind::time;
    table.diagnostics().error(node.at, table.path_of(key) + ": expected { min, max }, with an " +
                                           "optional step" + (time ? ", or { mean }" : ""));
    return false;
  }
  if (!min || !max || (inner.has("step") && !step)) return false;
  if (*min > *max) {
    table.diagnostics().error(node.at, table.path_of(key) + ": min is larger than max");
    return false;
  }
  draw.kind = *min == *max ? Draw::Kind::fixed : Draw::Kind::uniform;
  draw.low = *min;
  draw.high = *max;
  draw.step = step.value_or(1);
  return true;
}

}  // namespace

bool read_draw(TableReader& table, std::string_view key, const NumberType& type, Draw& draw) {
  const NumberNode from = table.take_number(key, type);
  if (from.node == nullptr) return false;
  if (from.node->is(Node::Kind::table)) return read_draw_table(table, key, from, type, draw);
  if (!from.node->is(Node::Kind::array)) {
    const std::optional<std::int64_t> value = table.read_number(key, from, type);
    if (value) draw = Draw::fixed(*value);
    return value.has_value();
  }
  draw.kind = Draw::Kind::one_of;
  for (const Node& item : from.node->items) {
    const auto value = table.read_number(key, {&item, from.factor}, type);
    if (!value) return false;
    draw.values.push_back(*value);
  }
  if (draw.values.empty()) {
    table.diagnostics().error(from.node->at,
                              table.path_of(key) + ": expected at least one value to choose from");
  }
  return !draw.values.empty();
}

void read_task_fields(TableReader& table, Scenario& scenario, TaskTemplate& task) {
  const std::size_t errors = table.diagnostics().count();
  read_choice(table, "queue", Field::queue, scenario.queues.names, task);
  read_choice(table, "tenant", Field::tenant, scenario.tenants.names, task);
  const auto drawn = [&](std::string_view key, Field field, const NumberType& type) {
    Draw draw;
    if (read_draw(table, key, type, draw)) put_draw(task, field, std::move(draw));
  };
  drawn("vram", Field::vram, vram_amounts());
  drawn("expected_run", Field::expected_run, durations(0, kLongestRun));
  drawn("actual_run", Field::actual_run, durations(0, kLongestRun));
  drawn("priority", Field::priority, integers(-10'000, 10'000));
  drawn("tier", Field::tier, integers(0, 3));
  drawn("gpus", Field::gpus, integers(0, 10'000));
  drawn("share", Field::share, thousandths(1, 1000));
  drawn("tolerated_wait", Field::tolerated_wait, durations());
  drawn("tokens", Field::tokens, integers(0, kBillion));
  drawn("cpu", Field::cpu, thousandths(0, kBillion));
  drawn("memory", Field::memory, memory_amounts());
  drawn("checkpoint_interval", Field::checkpoint_interval, durations());
  drawn("restart_cost", Field::restart_cost, durations());
  read_shape_fields(table, scenario, task.spec);

  std::string group;
  if (table.name("group", group)) task.spec.group.value = scenario.groups.intern(group);
  table.boolean("held", task.spec.held);
  Duration not_before{0};
  if (table.number("not_before", not_before, durations())) {
    task.spec.not_before = Time{not_before.ns};
  }
  const std::vector<std::string> rules = {"fail", "release"};
  table.choice("on_dependency_failure", rules, task.spec.on_dependency_failure);
  if (const Node* retry = table.take("retry"); retry != nullptr) {
    read_retry(table, *retry, task.spec.retry);
  }
  std::vector<Node> signals;
  if (table.texts("signals", signals)) {
    task.spec.depends_on.clear();
    for (const Node& signal : signals) {
      task.spec.depends_on.push_back(
          {core::Dependency::Kind::signal, scenario.signals.intern(signal.text)});
    }
  }
  task.is_wrong = task.is_wrong || table.diagnostics().count() > errors;
}

void complete_task(TableReader& table, const Scenario& scenario, TaskTemplate& task) {
  if (!task.is_wrong) check_shape(table, task);
  const DrawnField* queues = drawn_field(task, Field::queue);
  if (!task.spec.queue && queues == nullptr) {
    if (scenario.queues.size() == 1) {
      task.spec.queue.value = 0;
    } else if (!table.has("queue") && !table.has("queues")) {
      table.error("queue", "missing " + table.path_of("queue") +
                               ": expected the name of a queue, because there are several");
    }
  }
  if (!task.spec.tenant && drawn_field(task, Field::tenant) == nullptr) {
    if (scenario.tenants.size() == 1) {
      task.spec.tenant.value = 0;
    } else if (!table.has("tenant") && !table.has("tenants")) {
      table.error("tenant", "missing " + table.path_of("tenant") +
                                ": expected the name of a tenant, because there are several");
    }
  }

  const bool has_run = task.spec.expected_run.ns > 0 || task.actual_run ||
                       table.has_number("expected_run") || table.has_number("actual_run") ||
                       drawn_field(task, Field::expected_run) != nullptr ||
                       drawn_field(task, Field::actual_run) != nullptr;
  if (has_run) return;
  std::vector<std::int64_t> candidates;
  if (queues != nullptr) candidates = queues->draw.values;
  if (queues == nullptr && task.spec.queue) candidates.push_back(task.spec.queue.value);
  for (const std::int64_t candidate : candidates) {
    const auto position = static_cast<std::size_t>(candidate);
    if (scenario.queues.specs[position].has_batch_model()) continue;
    table.error("expected_run", "missing " + table.path_of("expected_run") +
                                    ": expected a duration, because queue " +
                                    quoted(scenario.queues.names[position]) +
                                    " gives no batch_base or batch_per_task");
    return;
  }
}

}  // namespace berth::sim
