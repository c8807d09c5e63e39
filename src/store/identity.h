// Identity: the number that ties the parts of a data folder together. It is drawn once, at the
// first start, and stands in the segments of the journal, the snapshots, the history, the agent's
// folder, and in the file DATA/identity. What carries another one belongs to another folder.
//
// The file also names the newest segment that was begun. It is written after that and not synced,
// so it may lag and never leads: a journal that ends earlier has lost something.
//
// Folders of versions that knew no identity have none, 0, in any part. They get one from the end to
// the beginning: file, agent's folder, history, and last the journal, with a segment of its own. So
// where the journal has one, all have it, at whatever point the first start was cut short.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::store {

using Identity = std::uint64_t;  // 0: none

std::string identity_text(Identity identity);

struct IdentityMark {
  Identity identity = 0;
  std::uint64_t segment = 0;  // the newest that was begun with it; 0: none yet
  bool operator==(const IdentityMark&) const = default;
};

std::filesystem::path identity_path(const std::filesystem::path& folder);
// None: there is no such file, or it is damaged.
std::optional<IdentityMark> read_identity_mark(const std::filesystem::path& folder);
// In place; of an existing file all or nothing changes.
Status write_identity_mark(const std::filesystem::path& folder, const IdentityMark& mark);

struct IdentityFinding {
  std::string what;
  std::filesystem::path where;
  std::string repair;
};

struct FolderIdentity {
  Identity identity = 0;  // 0: no part has one
  std::vector<IdentityFinding> findings;
};

// What the parts say, but for snapshots, which are read when they are used. Changes nothing.
FolderIdentity read_identity(const std::filesystem::path& data);

// The same; a finding is the error. Then file and agent's folder have it, drawn anew if there was
// none. The caller gives it to the history and to the journal, in this order.
Result<Identity> settle_identity(const std::filesystem::path& data);

// The history is complete up to a message that the journal does not have.
std::optional<IdentityFinding> history_ahead(const std::filesystem::path& data,
                                             std::uint64_t projected, std::uint64_t journal_end);

}  // namespace berth::store
