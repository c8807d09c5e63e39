// Who besides the server's own user can read or change what a data folder holds.
//
// Looks at owners and modes only. A folder that others cannot enter protects all that lies in it,
// so what is inside is looked at only where they can; tokens always are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::store {

// Error: others can change it; the sentence names what, and the command that ends it. Else a
// sentence for each thing that others can read, with the same; empty: it is the server's alone. A
// folder that is not there is fine.
Result<std::vector<std::string>> check_access(const std::filesystem::path& data);

// The same of one file, such as a tokens file.
Result<std::vector<std::string>> check_file_access(const std::filesystem::path& file);

}  // namespace berth::store
