// Runs a fuzz target without a fuzzer: first its corpus, then inputs that its own mutator makes
// from it, the same ones in every run. g++ builds it, so the sanitized tests have the targets'
// promises; looking for new paths is left to libFuzzer (script/fuzz).
//
//   replay_TARGET COUNT [CORPUS]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t max_size,
                                                                     unsigned seed);

namespace {

constexpr std::size_t kSizeMax = 16384;  // as script/fuzz has it
berth::Rng dice(1);

// REQUIRES bound > 0.
std::size_t below(std::size_t bound) {
  return static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(bound) - 1));
}

std::vector<std::vector<std::uint8_t>> inputs_of(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::vector<std::uint8_t>> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

}  // namespace

// What libFuzzer gives to mutators, in its plainest form: one change of a bit, a byte or a stretch.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size) {
  const std::size_t change = size == 0 ? 3 : below(5);
  if (change == 0) {
    data[below(size)] ^= static_cast<std::uint8_t>(1U << below(8));
  } else if (change == 1) {
    data[below(size)] = static_cast<std::uint8_t>(below(256));
  } else if (change == 2) {  // a stretch is left out
    const std::size_t from = below(size);
    const std::size_t length = 1 + below(std::min<std::size_t>(size - from, 64));
    std::memmove(data + from, data + from + length, size - from - length);
    size -= length;
  } else if (change == 3) {  // a byte is put in
    if (size == max_size) return size;
    const std::size_t at = below(size + 1);
    std::memmove(data + at + 1, data + at, size - at);
    data[at] = static_cast<std::uint8_t>(below(256));
    ++size;
  } else {  // a stretch stands elsewhere too
    const std::size_t from = below(size);
    const std::size_t to = below(size);
    std::memmove(data + to, data + from, 1 + below(size - std::max(from, to)));
  }
  return size;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s COUNT [CORPUS]\n", argv[0]);
    return 2;
  }
  const unsigned long count = std::strtoul(argv[1], nullptr, 10);
  std::vector<std::vector<std::uint8_t>> corpus;
  if (argc > 2) corpus = inputs_of(argv[2]);
  for (const auto& input : corpus)
    LLVMFuzzerTestOneInput(input.data(), input.size());
  if (corpus.empty()) corpus.emplace_back();
  std::vector<std::uint8_t> input;
  for (unsigned long i = 0; i < count; ++i) {
    // Each input is changed a few times in a row before the next begins.
    if (i % 8 == 0) input = corpus[below(corpus.size())];
    std::size_t size = std::min(input.size(), kSizeMax);
    input.resize(kSizeMax);
    size = LLVMFuzzerCustomMutator != nullptr
               ? LLVMFuzzerCustomMutator(input.data(), size, kSizeMax, static_cast<unsigned>(i))
               : LLVMFuzzerMutate(input.data(), size, kSizeMax);
    input.resize(size);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu inputs of the corpus, %lu made from them\n", argc > 2 ? corpus.size() : 0,
              count);
  return 0;
}
