// ASSERT: programmer errors end the process, in every build.
//
// A refusal is a value with a reason; a broken environment is a Result; a bug is an ASSERT. The
// macro costs one predictable branch, so it stays on in release. Base does no I/O: the
// composition root installs a handler that prints; without one the process just aborts.
#pragma once

namespace berth {

using AssertHandler = void (*)(const char* expression, const char* file, int line);

// Replaces the handler called before abort. Null restores silence.
void set_assert_handler(AssertHandler handler);

[[noreturn]] void assert_failed(const char* expression, const char* file, int line);

}  // namespace berth

#define ASSERT(expression)                                     \
  do {                                                         \
    if (!(expression)) [[unlikely]]                            \
      ::berth::assert_failed(#expression, __FILE__, __LINE__); \
  } while (false)
