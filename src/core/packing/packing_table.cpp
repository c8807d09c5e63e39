// See packing_table.h.
#include "core/packing/packing_table.h"

#include <string>
#include <string_view>

namespace berth::core {
namespace {

constexpr std::size_t kShapeBytes = 2 + 2 + 8 + 8 + 8 + 4;

void put(std::vector<std::uint8_t>& out, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i)
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t left() const { return bytes_.size() - at_; }
  // REQUIRES as many bytes left.
  std::uint64_t take(std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value |= std::uint64_t{bytes_[at_ + i]} << (8 * i);
    at_ += width;
    return value;
  }
  std::string_view rest() const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at_, left()};
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

bool is_sane(const TypicalShape& shape) {
  const bool has_gpus = shape.shape.gpus > 0;
  const std::uint16_t share = shape.shape.share;
  return (has_gpus ? share >= 1 && share <= 1000 : share == 0) && shape.shape.cpu >= 0 &&
         shape.memory >= 0 && shape.weight >= 1 && shape.weight <= kWeightTotal;
}

}  // namespace

std::vector<std::uint8_t> encode(const PackingTable& table) {
  std::vector<std::uint8_t> out;
  put(out, table.mix.size(), 4);
  for (const TypicalShape& shape : table.mix) {
    put(out, shape.shape.gpus, 2);
    put(out, shape.shape.share, 2);
    put(out, static_cast<std::uint64_t>(shape.shape.cpu), 8);
    put(out, shape.shape.kinds, 8);
    put(out, static_cast<std::uint64_t>(shape.memory), 8);
    put(out, shape.weight, 4);
  }
  for (const char byte : encode(table.values))
    out.push_back(static_cast<std::uint8_t>(byte));
  return out;
}

Result<PackingTable> decode_packing_table(std::span<const std::uint8_t> bytes) {
  Bytes in(bytes);
  if (in.left() < 4) return Error{"a packing table begins with the number of its shapes"};
  const std::uint64_t count = in.take(4);
  if (count > kTypicalMax || in.left() < count * kShapeBytes) {
    return Error{"a packing table has at most " + std::to_string(kTypicalMax) +
                 " shapes, and all that it names; this one names " + std::to_string(count)};
  }
  PackingTable table;
  for (std::uint64_t i = 0; i < count; ++i) {
    TypicalShape shape;
    shape.shape.gpus = static_cast<std::uint16_t>(in.take(2));
    shape.shape.share = static_cast<std::uint16_t>(in.take(2));
    shape.shape.cpu = static_cast<std::int64_t>(in.take(8));
    shape.shape.kinds = in.take(8);
    shape.memory = static_cast<std::int64_t>(in.take(8));
    shape.weight = static_cast<std::uint32_t>(in.take(4));
    if (!is_sane(shape)) {
      return Error{"shape " + std::to_string(i) + " of the packing table is out of range"};
    }
    table.mix.push_back(shape);
  }
  Result<ValueTable> values = decode_value_table(in.rest());
  if (!values.ok()) return values.error();
  table.values = std::move(values.value());
  return table;
}

}  // namespace berth::core
