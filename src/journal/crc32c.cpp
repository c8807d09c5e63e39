// The reflected polynomial 0x82f63b78, bits inverted before and after.
#include "journal/crc32c.h"

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace berth::journal {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    }
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c_by_table(ByteView bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const std::byte b : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(b)) & 0xff];
  }
  return ~crc;
}

std::uint32_t crc32c(ByteView bytes, std::uint32_t before) {
#ifdef __SSE4_2__
  std::uint64_t crc = static_cast<std::uint32_t>(~before);
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    crc = _mm_crc32_u64(crc, load_le<std::uint64_t>(at));
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) {
    narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*at));
  }
  return ~narrow;
#else
  return crc32c_by_table(bytes, before);
#endif
}

}  // namespace berth::journal
