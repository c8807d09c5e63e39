// The answers about the cluster as tables.
#pragma once

#include <cstdint>

#include "berth/v1/scheduler.pb.h"
#include "cli/listing.h"

namespace berth::cli {

Listing list_of(const v1::GetQueueStatusResponse& answer);
Listing list_of(const v1::GetGPUStatusResponse& answer);
Listing list_of(const v1::GetModelStatusResponse& answer);
Listing list_of(const v1::GetTenantStatusResponse& answer);
Listing list_of(const v1::GetUsageResponse& answer);

}  // namespace berth::cli
