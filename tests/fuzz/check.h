// CHECK: ends a fuzz target with a sentence when something it promises does not hold.
//
// libFuzzer keeps the input that led there.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace berth::fuzz {

inline void check(bool holds, const std::string& promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

// Prints a failed ASSERT of the code under test, which is silent by itself.
inline void print_assert(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: ASSERT(%s)\n", file, line, expression);
}

}  // namespace berth::fuzz
