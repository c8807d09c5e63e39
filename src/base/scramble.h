// scramble: a number that looks random and depends on nothing but the one given. Different numbers
// stay different (the finaliser of splitmix64 is a bijection), so as priorities they never tie.
#pragma once

#include <cstdint>

namespace berth {

constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace berth
