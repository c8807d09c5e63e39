// getrlimit, setrlimit.
#include "agent/file_limit.h"

#include <sys/resource.h>

namespace berth::agent {

std::uint64_t raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return limit.rlim_cur;
}

}  // namespace berth::agent
