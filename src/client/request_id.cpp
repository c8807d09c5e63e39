// See request_id.h.
#include "client/request_id.h"

#include <array>
#include <cerrno>
#include <cstdint>

#include <sys/random.h>

#include "base/assert.h"

namespace berth::client {

std::string make_request_id() {
  std::array<std::uint8_t, 16> bytes{};
  ssize_t got = -1;
  do {
    got = getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  ASSERT(got == static_cast<ssize_t>(bytes.size()));  // never short for 256 bytes or fewer
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0fU) | 0x40U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3fU) | 0x80U);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[bytes[i] >> 4U];
    text += "0123456789abcdef"[bytes[i] & 0x0fU];
  }
  return text;
}

}  // namespace berth::client
