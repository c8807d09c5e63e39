// Task steps out of the journal, for streams that fell behind the feed's ring.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "service/feed.h"
#include "service/view.h"
#include "store/history.h"

namespace berth::service {

// The steps behind the number `after`, at most about `most`, not beyond `released`, as the feed
// told them. too_old: the journal no longer holds them; `oldest` is then where it begins. Cards of
// tasks that have ended are made from the history. Of an attempt that began more than a segment
// before `after`, number and GPUs are not told, and not when it runs.
Result<Feed::Answer> read_changes(const std::filesystem::path& data, std::uint64_t after,
                                  std::size_t most, std::uint64_t released, const View& view,
                                  const store::HistoryReader& history);

}  // namespace berth::service
