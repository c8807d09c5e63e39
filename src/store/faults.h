// Faults: lets writes and syncs of the store fail, or take long, as a bad disk would.
//
// Process wide, set by tests and by main. The store's own files only; SQLite does its own I/O.
// Without faults a call costs one relaxed load.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace berth::store {

// Call number `nth` (1 is the first; 0 is none) and the `times` - 1 after it fail with `error`.
struct CallFault {
  int error = 0;
  std::uint64_t nth = 0;
  std::uint64_t times = 1;
};

struct Faults {
  CallFault write;  // half of the bytes are written before it fails, as a full disk does it
  CallFault sync;
  std::uint32_t sync_delay_ms = 0;  // before each sync
};

// Counts calls from here on. Faults{} ends them.
void set_faults(const Faults& faults);

// Reads "write=ENOSPC@3", "sync=EIO@2+" (+: that one and all after it), "sync_delay=2000" and
// "crash=store.after_append@5", joined by commas, and arms them. Errors by name: EIO, ENOSPC,
// EDQUOT, EROFS.
Status arm_faults(std::string_view text);

namespace detail {
int next_write_fault();  // errno the next write must fail with; 0: none
int next_sync_fault();   // the same; waits as long as it was told to
}  // namespace detail

}  // namespace berth::store
