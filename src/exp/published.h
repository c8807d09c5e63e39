// Published results that ours stand beside: figures of others, copied, never computed here.
//
// Packing: the artifact of FGD (ATC'23), means of ten seeds of the openb trace. Backfill:
// RLScheduler (SC'20), means of ten windows. A workload or trace that nobody published has none.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace berth::exp {

struct PublishedPacking {
  std::string_view workload;
  std::string_view policy;
  double allocated_percent = 0;       // when 130 % of the GPUs were asked for
  std::optional<double> at_100 = {};  // when 100 % were
};
std::vector<PublishedPacking> published_packing(std::string_view workload);

struct PublishedBackfill {
  std::string_view trace;
  std::string_view policy;
  double bounded_slowdown = 0;
};
std::vector<PublishedBackfill> published_backfill(std::string_view trace);

}  // namespace berth::exp
