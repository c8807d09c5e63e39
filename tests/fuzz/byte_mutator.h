// A mutator for formats that are hard to hit by chance: now and then it begins anew from a random
// input that is whole, else it changes what it has as libFuzzer does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace berth::fuzz {

// `random_start(seed)`: the bytes of a whole input. Shorter ones than `least` always begin anew.
template <class RandomStart>
std::size_t mutate_bytes(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                         std::size_t least, RandomStart&& random_start) {
  constexpr unsigned kAnewOneIn = 64;
  if (size >= least && seed % kAnewOneIn != 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto start = random_start(seed);
  const std::size_t taken = std::min(start.size(), max_size);
  std::memcpy(data, start.data(), taken);
  return taken;
}

}  // namespace berth::fuzz
