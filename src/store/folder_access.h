// Who besides root and the server's own user can read or change what a data folder holds, or what
// else a server trusts: its tokens, its configuration, its keys.
//
// Looks at owners, modes and links only. A folder that others cannot enter protects all that lies
// in it, so what is inside is looked at only where they can; tokens always are. Knows nothing of
// who asks: whether a flaw prevents a start is the caller's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::store {

// Error: others can change it; the sentence names what, and the command that ends it. Else a
// sentence for each thing that others can read, with the same; empty: it is closed. A folder that
// is not there is fine. Whose the folder is and how one comes to it, flaw_in_trust says.
Result<std::vector<std::string>> check_access(const std::filesystem::path& data);

// The bytes of a file that nobody else can change; none: it is not there. Error: it is a link, or
// belongs to another user than root, this one and the owner of its folder, or others can write to
// it. What is judged is the file that is read, whatever takes its name meanwhile.
Result<std::optional<std::string>> read_own_file(const std::filesystem::path& path);

// Why others could put their own in the place of what the path names: a folder on the way that they
// own or may write to, or a link of theirs; "": they cannot. Links are followed.
std::string flaw_in_path(const std::filesystem::path& path);

// Why others could change what the path names, or put their own in its place, and what to do about
// it; "": they cannot. What is not there yet is judged by the way to it.
std::string flaw_in_trust(const std::filesystem::path& path);

// Why everybody can read the file, with what to do about it; "": they cannot, or it is not there.
std::string flaw_in_secret(const std::filesystem::path& path);

}  // namespace berth::store
