// Multiplications 64 x 64 -> 128, folded by xor. Integer arithmetic only: the same everywhere.
#include "journal/running_hash.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "journal/codec.h"

namespace berth::journal {
namespace {

__extension__ using Product = unsigned __int128;

// The fractions of the square roots of the first primes, as SHA-512 uses them, made odd.
constexpr std::array<std::uint64_t, 8> kKeys = {
    0x6a09e667f3bcc909, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// 16 bytes into one lane.
std::uint64_t take(const std::byte* from, std::uint64_t lane, std::uint64_t key) {
  return fold(load_le<std::uint64_t>(from) ^ key, load_le<std::uint64_t>(from + 8) ^ lane);
}

// Of 1 to 15 bytes: two reads that together see each byte.
std::uint64_t first_half(const std::byte* from, std::size_t size) {
  if (size >= 8) return load_le<std::uint64_t>(from);
  if (size >= 4) return load_le<std::uint32_t>(from);
  return std::to_integer<std::uint64_t>(from[0]) << 8 |
         std::to_integer<std::uint64_t>(from[size / 2]);
}
std::uint64_t last_half(const std::byte* from, std::size_t size) {
  if (size >= 8) return load_le<std::uint64_t>(from + size - 8);
  if (size >= 4) return load_le<std::uint32_t>(from + size - 4);
  return std::to_integer<std::uint64_t>(from[size - 1]);
}

}  // namespace

std::uint64_t hash_bytes(ByteView bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t a = kKeys[4];
  std::uint64_t b = kKeys[5];
  std::uint64_t c = kKeys[6];
  std::uint64_t d = kKeys[7];
  for (; left >= 64; left -= 64, at += 64) {
    a = take(at, a, kKeys[0]);
    b = take(at + 16, b, kKeys[1]);
    c = take(at + 32, c, kKeys[2]);
    d = take(at + 48, d, kKeys[3]);
  }
  // What is left: whole lanes, then the last 16 bytes, some of them for the second time.
  if (left >= 32) {
    a = take(at, a, kKeys[1]);
    b = take(at + 16, b, kKeys[2]);
    left -= 32;
    at += 32;
  }
  if (left > 16) {
    c = take(at, c, kKeys[3]);
    left -= 16;
    at += 16;
  }
  if (left > 0 && bytes.size() >= 16) {
    d = take(at + left - 16, d, kKeys[0]);
  } else if (left > 0) {
    d = fold(first_half(at, left) ^ kKeys[0], last_half(at, left) ^ d);
  }
  return fold(fold(a ^ kKeys[2], std::rotl(b, 17) ^ kKeys[3]) ^ bytes.size(),
              fold(c ^ kKeys[0], std::rotl(d, 31) ^ kKeys[1]) ^ kKeys[5]);
}

void RunningHash::add_bytes(ByteView encoded) {
  state_.hash = (std::rotl(state_.hash, 29) + hash_bytes(encoded)) * kKeys[1];
  ++state_.count;
}

void RunningHash::add(const core::Action& action) {
  scratch_.clear();
  encode_action(scratch_, action);
  add_bytes(scratch_.view());
}

}  // namespace berth::journal
