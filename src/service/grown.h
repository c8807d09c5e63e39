// A list by dense numbers that grows when a number comes that it does not have yet. Knows nothing
// of what it holds.
#pragma once

#include <cstddef>

namespace berth::service {

template <class List>
auto& grown(List& list, std::size_t at) {
  if (list.size() <= at) list.resize(at + 1);
  return list[at];
}

}  // namespace berth::service
