// Documents: the answers of commands without a server, as JSON or YAML, for programs.
#pragma once

#include "base/json.h"
#include "cli/commands.h"

namespace berth::main {

inline constexpr cli::Flag kFormatFlag{"-o", "table|json|yaml",
                                       "how to print the answer (default table)"};

// False, and it was said: -o asks for a format that there is not.
bool has_good_format(const cli::Call& call);
// Whether the answer is printed as a document. REQUIRES has_good_format(call).
bool wants_document(const cli::Call& call);
void print_document(const cli::Call& call, const JsonWriter& json);

}  // namespace berth::main
