// See value_table.h. The bytes: magic, version, number of kinds, the page for any kind, then each
// kind and its page; all numbers little-endian, 32 bits.
#include "core/packing/value_table.h"

#include <algorithm>

namespace berth::core {
namespace {

constexpr std::uint32_t kMagic = 0x54564b50;  // "PKVT"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPageBytes = std::size_t{4} * kCpuRatios * kResiduals;
constexpr std::size_t kHeaderBytes = 12;

constexpr std::array<std::int64_t, kCpuRatios - 1> kRatioEdges = {
    1000, 2000, 3000, 4000, 6000, 8000, 10000, 11000, 12000, 13000, 16000, 24000, 40000};

void put(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>(value >> shift & 0xff));
}

std::uint32_t take(std::string_view& in) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(in[i])) << (8 * i);
  in.remove_prefix(4);
  return value;
}

void put_page(std::string& out, const ValueTable::Page& page) {
  for (const auto& row : page) {
    for (const std::int32_t value : row)
      put(out, static_cast<std::uint32_t>(value));
  }
}

// False: a value that no idle part of a GPU can have.
bool take_page(std::string_view& in, ValueTable::Page& page) {
  for (auto& row : page) {
    for (std::int32_t& value : row) {
      const std::uint32_t read = take(in);
      if (read > static_cast<std::uint32_t>(kGpuMillionths)) return false;
      value = static_cast<std::int32_t>(read);
    }
  }
  return true;
}

Error refused(const std::string& why) {
  return {"cannot read the value table: " + why + "; train it again"};
}

}  // namespace

std::uint32_t cpu_ratio(std::int64_t cpu_milli, std::uint32_t idle_hundredths) {
  std::uint32_t bucket = 0;
  for (const std::int64_t edge : kRatioEdges)
    bucket += cpu_milli * 100 >= edge * idle_hundredths ? 1 : 0;
  return bucket;
}

const ValueTable::Page& ValueTable::page(KindId kind) const {
  const auto it = std::lower_bound(pages.begin(), pages.end(), kind,
                                   [](const KindPage& p, KindId k) { return p.kind < k; });
  return it != pages.end() && it->kind == kind ? it->page : any;
}

std::int64_t expected_idle(const ValueTable::Page& page, const NodeState& state,
                           std::uint32_t idle_hundredths) {
  const ValueTable::Row& row = page[cpu_ratio(cpu_low(state.cpu), idle_hundredths)];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < state.gpus; ++i)
    sum += row[state.left[i]];
  return sum;
}

std::string encode(const ValueTable& table) {
  std::string out;
  put(out, kMagic);
  put(out, kVersion);
  put(out, static_cast<std::uint32_t>(table.pages.size()));
  put_page(out, table.any);
  for (const auto& [kind, page] : table.pages) {
    put(out, kind.value);
    put_page(out, page);
  }
  return out;
}

Result<ValueTable> decode_value_table(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes + kPageBytes) {
    return refused("it has " + std::to_string(bytes.size()) + " bytes, the shortest has " +
                   std::to_string(kHeaderBytes + kPageBytes));
  }
  if (take(bytes) != kMagic) return refused("it does not begin like one");
  const std::uint32_t version = take(bytes);
  if (version != kVersion) {
    return refused("it has version " + std::to_string(version) + ", known is " +
                   std::to_string(kVersion));
  }
  const std::uint32_t kinds = take(bytes);
  if (kinds > kMaxKinds || bytes.size() != kPageBytes + kinds * (4 + kPageBytes)) {
    return refused("its length does not match its " + std::to_string(kinds) + " kinds");
  }
  ValueTable table;
  if (!take_page(bytes, table.any)) return refused("a value is more than a whole GPU");
  for (std::uint32_t i = 0; i < kinds; ++i) {
    ValueTable::KindPage& next = table.pages.emplace_back();
    next.kind = KindId{take(bytes)};
    if (next.kind.value >= kMaxKinds || (i > 0 && next.kind <= table.pages[i - 1].kind)) {
      return refused("its kinds are not in ascending order below " + std::to_string(kMaxKinds));
    }
    if (!take_page(bytes, next.page)) return refused("a value is more than a whole GPU");
  }
  return table;
}

}  // namespace berth::core
