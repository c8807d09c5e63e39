// ValueTable: how much of a GPU will stay idle in the end, by its kind, what is left of it, and how
// many free CPUs its node has for each idle GPU.
//
// Learned by self-play from the mix of shapes (learn/self_play.h), never from the arrivals of a
// live cluster; it enters as bytes that nobody trusts. Plain integers, in millionths of a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/packing/node_state.h"

namespace berth::core {

inline constexpr std::int32_t kGpuMillionths = 1'000'000;

// Free CPUs for each idle GPU: 13 edges, so 14 buckets.
inline constexpr std::uint32_t kCpuRatios = 14;
std::uint32_t cpu_ratio(std::int64_t cpu_milli, std::uint32_t idle_hundredths);

struct ValueTable {
  using Row = std::array<std::int32_t, kResiduals>;
  using Page = std::array<Row, kCpuRatios>;

  Page any{};  // for kinds without a page of their own
  struct KindPage {
    KindId kind;
    Page page;
    bool operator==(const KindPage&) const = default;
  };
  std::vector<KindPage> pages;  // by kind, ascending

  const Page& page(KindId kind) const;
  bool operator==(const ValueTable&) const = default;
};

// What the state's GPUs are expected to leave idle.
std::int64_t expected_idle(const ValueTable::Page& page, const NodeState& state,
                           std::uint32_t idle_hundredths);

// Canonical bytes: equal tables, equal bytes.
std::string encode(const ValueTable& table);
Result<ValueTable> decode_value_table(std::string_view bytes);

}  // namespace berth::core
