// The known check values of CRC32C, and the fast way against the table.
#include "journal/crc32c.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "journal/testing/random_values.h"

namespace berth::journal::crc32c_test {
namespace {

using testing::Random;
using testing::random_bytes;

ByteView text(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c({}), 0U);
  EXPECT_EQ(crc32c(text("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
}

TEST(Crc32c, EqualsTheTableForEveryLengthAndStart) {
  Random random(1);
  const auto bytes = random_bytes(random, 100);
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t size = 0; start + size <= bytes.size(); ++size) {
      const ByteView part = ByteView(bytes).subspan(start, size);
      EXPECT_EQ(crc32c(part), crc32c_by_table(part));
    }
  }
}

TEST(Crc32c, ContinuesWhereItStopped) {
  Random random(2);
  const auto bytes = random_bytes(random, 100);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const ByteView view(bytes);
    EXPECT_EQ(crc32c(view.subspan(cut), crc32c(view.first(cut))), crc32c(view));
    EXPECT_EQ(crc32c_by_table(view.subspan(cut), crc32c_by_table(view.first(cut))), crc32c(view));
  }
}

}  // namespace
}  // namespace berth::journal::crc32c_test
