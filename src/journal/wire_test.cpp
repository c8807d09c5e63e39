// Writer and Reader: little endian, growth, bounds, and a failure that stays.
#include "journal/wire.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "journal/testing/random_values.h"

namespace berth::journal::wire_test {
namespace {

using testing::bytes_of;
using testing::packed;
using testing::to_hex;

TEST(Writer, WritesLittleEndian) {
  Writer out;
  out.u8(0x01);
  out.u16(0x0302);
  out.u32(0x07060504);
  out.u64(0x0f0e0d0c0b0a0908);
  out.i16(-2);
  out.i64(-2);
  EXPECT_EQ(to_hex(out.view()), packed("0102030405060708090a0b0c0d0e0ffeff feffffffffffffff"));
}

TEST(Writer, KeepsItsBytesWhenItGrows) {
  Writer out;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    out.u32(i);
  }
  Reader in(out.view());
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(in.u32(), i);
  }
  EXPECT_TRUE(in.ok() && in.at_end());
}

TEST(Writer, ClearKeepsTheMemoryAndMoveLeavesAnEmptyOne) {
  Writer out;
  out.u64(1);
  const std::size_t capacity = out.capacity();
  out.clear();
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.capacity(), capacity);
  out.u8(7);
  Writer other = std::move(out);
  EXPECT_EQ(to_hex(other.view()), "07");
  out = Writer();
  out.u8(8);
  EXPECT_EQ(to_hex(out.view()), "08");
}

TEST(Writer, PutAtReplaces) {
  Writer out;
  out.u32(0);
  out.u8(9);
  out.put_at(0, std::uint32_t{0x04030201});
  EXPECT_EQ(to_hex(out.view()), "0102030409");
}

TEST(Reader, FailsWithPlaceAndExpectationAndStaysFailed) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5});
  Reader in(bytes);
  EXPECT_EQ(in.u16(), 0x0201);
  EXPECT_EQ(in.u32(), 0U);  // three bytes are left
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.error().offset, 2U);
  EXPECT_EQ(std::string(in.error().expected), "a 32-bit number");
  EXPECT_EQ(in.u8(), 0);  // would fit, but the failure stays
  EXPECT_TRUE(in.bytes(1).empty());
  in.fail("something else");
  EXPECT_EQ(in.error().offset, 2U);
  EXPECT_EQ(in.offset(), 2U);
}

TEST(Reader, ReadsNothingFromNothing) {
  Reader in(ByteView{});
  EXPECT_TRUE(in.at_end());
  EXPECT_TRUE(in.bytes(0).empty());
  EXPECT_TRUE(in.ok());
  in.u8();
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace berth::journal::wire_test
