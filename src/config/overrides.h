// Overrides: `--set path=value` from the command line, put into a document before it is read.
//
// `policy.order=fifo` sets one key. A segment that names an array of tables reaches every element
// (`queues.max_batch_size=1`), one of them by its name (`queues.sdxl.max_batch_size=1`, quoted if
// the name has dots), or by its place (`workload[0].count=100`). A word that selects nothing is
// answered here, where the names are at hand; all else is read and checked like the file, and
// errors name the `--set`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/diagnostics.h"
#include "config/document.h"

namespace berth::config {

// Applies one "path=value" as `--set`; what cannot be applied is reported. `known_keys` are those
// of the document, with dots between: they tell a table inside a block (`workload.retry`) from the
// name of a block that does not exist.
void apply_override(Node& document, std::string_view setting,
                    std::span<const std::string> known_keys, Diagnostics& diagnostics);

// The same for a setting that comes from elsewhere, such as an option of its own: `at` names it.
void apply_override_at(Node& document, std::string_view setting, Origin at,
                       std::span<const std::string> known_keys, Diagnostics& diagnostics);

}  // namespace berth::config
