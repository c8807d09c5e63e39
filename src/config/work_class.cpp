// See work_class.h.
#include "config/work_class.h"

#include <algorithm>
#include <optional>
#include <set>

#include "config/document.h"
#include "core/model/ranges.h"

namespace berth::config {
namespace {

constexpr std::string_view kSpeeds = "speed_by_class";
constexpr NumberType kSpeed = thousandths(1, core::kSpeedMax);

std::string toml_of(const SpeedByClass& speeds) {
  std::string text;
  for (const NamedSpeed& its : speeds) {
    text += (text.empty() ? "{ " : ", ") + toml_key(its.work_class) + " = " +
            toml_of(its.speed.value, kSpeed);
  }
  return text.empty() ? "" : text + " }";
}

}  // namespace

void read_speed_by_class(TableReader& table, SpeedByClass& out) {
  const Node* node = table.take(kSpeeds);
  if (node != nullptr && !node->is(Node::Kind::table)) {
    return table.error(kSpeeds, table.path_of(kSpeeds) +
                                    ": expected speeds by the name of a class of work, such as "
                                    "{ decode = 1.4 }, found " +
                                    describe(*node));
  }
  for (std::size_t i = 0; node != nullptr && i < node->entries.size(); ++i) {
    const auto& [name, at, value] = node->entries[i];
    if (!is_name(name)) {
      table.diagnostics().error(at, table.path_of(kSpeeds) + ": " + config::quoted(name) +
                                        " is no name of a class of work; expected " +
                                        name_expectation());
      continue;
    }
    const std::string key = std::string(kSpeeds) + "." + name;
    const std::optional<std::int64_t> speed = table.read_number(key, {&value, 0}, kSpeed);
    if (speed) out.push_back({name, Milli{*speed}});
  }
  table.note(kSpeeds, node, toml_of(out));
}

void check_work_classes(std::span<TableReader> queues, std::span<TableReader> gpus) {
  std::set<std::string> named;
  const auto count = [&](TableReader& table, std::string_view key, const std::string& name) {
    if (!named.insert(name).second || named.size() != core::kMaxWorkClasses + 1) return;
    table.error(key, table.path_of(key) + ": " + config::quoted(name) +
                         " is one class of work too many; " + "queues and GPUs together may name " +
                         std::to_string(core::kMaxWorkClasses));
  };
  for (TableReader& queue : queues) {
    const Node* name = queue.take("work_class");
    if (name != nullptr && name->is(Node::Kind::text)) count(queue, "work_class", name->text);
  }
  for (TableReader& gpu : gpus) {
    const Node* speeds = gpu.take(kSpeeds);
    if (speeds == nullptr) continue;
    for (const Entry& entry : speeds->entries)
      count(gpu, kSpeeds, entry.key);
  }
}

std::string remark_on_class(std::string_view queue, const std::string& work_class,
                            std::span<const std::string> classes_of_gpus) {
  const bool is_known = std::ranges::find(classes_of_gpus, work_class) != classes_of_gpus.end();
  if (work_class.empty() || is_known) return "";
  return "queue " + config::quoted(queue) + " has the work_class " + config::quoted(work_class) +
         ", for which no GPU has a speed in speed_by_class; it runs at their general speed" +
         suggestion(work_class, classes_of_gpus);
}

}  // namespace berth::config
