// The answers about the cluster as tables.
#pragma once

#include <cstdint>

#include "berth/v1/scheduler.pb.h"
#include "cli/listing.h"

namespace berth::cli {

Listing list_of(const v1::GetQueueStatusResponse& answer, std::int64_t now_unix_ms);
Listing list_of(const v1::GetGPUStatusResponse& answer, std::int64_t now_unix_ms);
Listing list_of(const v1::GetModelStatusResponse& answer, std::int64_t now_unix_ms);
Listing list_of(const v1::GetTenantStatusResponse& answer, std::int64_t now_unix_ms);
Listing list_of(const v1::GetUsageResponse& answer, std::int64_t now_unix_ms);
Listing list_of(const v1::ListSignalsResponse& answer, std::int64_t now_unix_ms);

}  // namespace berth::cli
