// The rules of the encoding, on a struct of its own: one encoding per value, all else refused.
#include "journal/encoding.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "journal/testing/random_values.h"

namespace berth::journal::encoding_test {
namespace {

enum class Colour : std::uint8_t { red, green };
constexpr bool is_known(EnumCheck, Colour x) { return x == Colour::red || x == Colour::green; }

struct Sample {
  bool flag = false;
  Colour colour = Colour::red;
  std::optional<std::uint16_t> limit;
  std::vector<std::uint32_t> items;
  bool operator==(const Sample&) const = default;
};
BERTH_FIELDS(Sample, flag, colour, limit, items);

using testing::bytes_of;
using testing::packed;
using testing::to_hex;

std::optional<Sample> decode_sample(ByteView bytes, DecodeError* error) {
  Reader in(bytes);
  Sample x;
  if (decode(in, x) && in.at_end()) return x;
  *error = in.error();
  return std::nullopt;
}

TEST(Encoding, FieldsStandInDeclaredOrderWithNothingBetween) {
  const Sample x{true, Colour::green, 0x0203, {7, 8}};
  Writer out;
  encode(out, x);
  EXPECT_EQ(to_hex(out.view()), packed("01 01 010302 02000000 07000000 08000000"));
  EXPECT_EQ(encoded_size(x), out.size());
  DecodeError error;
  EXPECT_EQ(decode_sample(out.view(), &error), x);
}

TEST(Encoding, AbsentAndEmptyAreShort) {
  Writer out;
  encode(out, Sample{});
  EXPECT_EQ(to_hex(out.view()), packed("00 00 00 00000000"));
}

struct Refused {
  std::vector<std::byte> bytes;
  std::size_t offset;
  std::string expected;
};

TEST(Encoding, RefusesEveryOtherForm) {
  const std::vector<Refused> cases = {
      {bytes_of({2, 0, 0, 0, 0, 0, 0}), 0, "a bool: 0 or 1"},
      {bytes_of({0, 2, 0, 0, 0, 0, 0}), 1, "a known value of an enum"},
      {bytes_of({0, 0, 2, 0, 0, 0, 0}), 2, "a bool: 0 or 1"},
      {bytes_of({0, 0, 1, 9}), 3, "a short number"},
      {bytes_of({0, 0, 0, 1, 0, 0, 0}), 3, "a count that the bytes can hold"},
      {bytes_of({0, 0, 0, 2, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}), 3, "a count that the bytes can hold"},
  };
  for (const Refused& c : cases) {
    DecodeError error;
    EXPECT_EQ(decode_sample(c.bytes, &error), std::nullopt);
    EXPECT_EQ(error.offset, c.offset);
    EXPECT_EQ(error.expected, c.expected);
  }
}

// A count of four thousand million must not reserve memory for them.
TEST(Encoding, ChecksCountsBeforeTakingMemory) {
  DecodeError error;
  const auto bytes = bytes_of({0, 0, 0, 255, 255, 255, 255, 1, 2, 3, 4});
  EXPECT_EQ(decode_sample(bytes, &error), std::nullopt);
  EXPECT_EQ(error.offset, 3U);
}

}  // namespace
}  // namespace berth::journal::encoding_test
