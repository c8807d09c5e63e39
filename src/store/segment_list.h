// The headers of all segments, without their groups: what a folder holds, for little I/O.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "store/segment.h"

namespace berth::store {

// Ascending, up to the first whose header is not intact.
Result<std::vector<SegmentHeader>> segment_headers(const std::filesystem::path& folder);

}  // namespace berth::store
