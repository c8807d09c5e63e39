// Tasks as a table, and the texts it is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/v1/scheduler.pb.h"
#include "cli/listing.h"

namespace berth::cli {

Listing list_of(const v1::ListTasksResponse& answer, std::int64_t now_unix_ms);

// "8GiB"; "": none.
std::string vram_or_nothing(std::int64_t mb);
// From the start of the last attempt to its end, or until now; none: it has not started.
std::optional<std::int64_t> ran_ms(const v1::TaskStatus& task, std::int64_t now_unix_ms);

}  // namespace berth::cli
