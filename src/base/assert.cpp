// See assert.h.
#include "base/assert.h"

#include <cstdlib>

namespace berth {
namespace {
AssertHandler g_handler = nullptr;
}

void set_assert_handler(AssertHandler handler) { g_handler = handler; }

void assert_failed(const char* expression, const char* file, int line) {
  if (g_handler != nullptr) g_handler(expression, file, line);
  std::abort();
}

}  // namespace berth
