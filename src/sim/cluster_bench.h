// The engine on a large cluster: how many tasks and gangs it places a second, how long a "no"
// takes, and the shapes of other schedulers' published benchmarks beside their figures.
//
// Driven through Engine::step in virtual time; seconds are CPU time inside the engine. Everything
// but the seconds is the same in every run with the same options.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::sim {

struct ClusterBenchOptions {
  std::uint32_t nodes = 5'000;  // of 8 GPUs; the published shapes take fewer where theirs are
  std::uint32_t pending = 1'000'000;
  std::uint64_t seed = 1;
};

struct ClusterBenchFigure {
  std::string name;
  double value = 0;
};

struct ClusterBenchCase {
  std::string name;
  std::string what;  // one line for people
  std::string unit;  // of the value
  double value = 0;
  std::optional<double> goal;
  std::string published_by;  // empty: nobody, or the case runs at another size than theirs
  double published = 0;      // in the same unit
  std::vector<ClusterBenchFigure> more;
  std::uint64_t hash = 0;  // of all that was decided
};

// In the order in which they run.
std::span<const std::string_view> cluster_bench_cases();

// REQUIRES one of the names above.
ClusterBenchCase run_cluster_bench(std::string_view name, const ClusterBenchOptions& options);

}  // namespace berth::sim
