// Classes of work as files write them: by name, on queues as `work_class`, on GPUs as
// `speed_by_class`. Ids belong to the caller, who interns the names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "config/fields.h"

namespace berth::config {

// How fast a GPU is at work of a class.
struct NamedSpeed {
  std::string work_class;
  Milli speed{1000};

  bool operator==(const NamedSpeed&) const = default;
};
using SpeedByClass = std::vector<NamedSpeed>;

// The key `speed_by_class`, such as { decode = 1.4, training = 2.1 }.
void read_speed_by_class(TableReader& table, SpeedByClass& out);

// Reports the first class that is one too many for those of all queues and GPUs together.
void check_work_classes(std::span<TableReader> queues, std::span<TableReader> gpus);

// For people: that no GPU has a speed of its own for the queue's class, which may be a slip of the
// pen; "": one has, or the queue has no class.
std::string remark_on_class(std::string_view queue, const std::string& work_class,
                            std::span<const std::string> classes_of_gpus);

}  // namespace berth::config
