// Value tables as bytes: version, geometry, then the value of each state as four bytes, the lowest
// first. See value.h.
#include "core/mig/placement.h"
#include "core/mig/value.h"

namespace berth::core::mig {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeader = 2;
constexpr std::size_t kBytes = kHeader + 4 * kStates;

Error refused(const std::string& why) {
  return {"a MIG value table was not accepted: " + why + "; compute it again"};
}

std::int32_t value_at(std::string_view bytes, std::uint16_t state) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;)
    value = value << 8 | static_cast<std::uint8_t>(bytes[kHeader + 4U * state + i]);
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::string encode(const ValueTable& table) {
  std::string bytes;
  bytes.reserve(kBytes);
  bytes.push_back(static_cast<char>(kVersion));
  bytes.push_back(static_cast<char>(table.geometry));
  for (const std::int32_t value : table.values) {
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<char>(static_cast<std::uint32_t>(value) >> shift & 255U));
  }
  return bytes;
}

Result<ValueTable> decode_value_table(std::string_view bytes) {
  if (bytes.size() != kBytes) {
    return refused("it has " + std::to_string(bytes.size()) + " bytes and not " +
                   std::to_string(kBytes));
  }
  const auto version = static_cast<std::uint8_t>(bytes[0]);
  if (version != kVersion) return refused("its version " + std::to_string(version) + " is unknown");
  const auto number = static_cast<std::uint8_t>(bytes[1]);
  if (number == 0 || number >= kGeometries)
    return refused("no GPU that can be cut has the number " + std::to_string(number));
  ValueTable table{.geometry = static_cast<Geometry>(number), .values = {}};
  const StateSet reachable = reachable_states(table.geometry);
  for (std::uint16_t i = 0; i < kStates; ++i) {
    const std::int32_t value = value_at(bytes, i);
    if (value < 0 || value > kValueMax) {
      return refused("the value " + std::to_string(value) + " of state " + std::to_string(i) +
                     " is out of range");
    }
    if (value != 0 && !reachable[i])
      return refused("it gives a value to state " + std::to_string(i) + ", which no layout has");
    table.values[i] = value;
  }
  return table;
}

}  // namespace berth::core::mig
