// DurableMark: how far the journal was durable, kept aside in the file `journal/durable`.
//
// Written after each sync of the journal and when a writer opens it, never synced itself, so after
// a power loss it may lag, but it never leads. A
// journal that ends before it has lost something, even where the loss looks like a torn tail.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"
#include "store/file.h"
#include "store/journal_types.h"

namespace berth::store {

struct DurableMark {
  std::uint64_t next_seq = 0;  // of the first event that was not durable
  GroupAt at;                  // where the journal ended
  bool operator==(const DurableMark&) const = default;
};

std::filesystem::path durable_mark_path(const std::filesystem::path& folder);

// Creates the file if it is not there.
Result<File> open_durable_mark(const std::filesystem::path& folder);
Status write_durable_mark(File& file, const DurableMark& mark);

struct DurableMarkRead {
  std::optional<DurableMark> mark;  // none: there is no such file, or it is damaged
  bool damaged = false;
};
DurableMarkRead read_durable_mark(const std::filesystem::path& folder);

}  // namespace berth::store
