// A workflow as a file: TOML or JSON, read into the API's request. Every error is reported, with
// its place in a TOML file. What only a server can know (queues, tenants, other tasks) is left to
// it.
//
// The keys are those of docs/guide/workflows.md; units stand in the values, as on the command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "berth/v1/scheduler.pb.h"
#include "config/diagnostics.h"

namespace berth::cli {

struct WorkflowFile {
  std::string name;  // for messages; ends in .json: JSON, else TOML
  std::string text;
  std::filesystem::path folder;  // where "@FILE" of a payload is looked for
};

// None: the diagnostics say why. `prefix` is put before the ids of the file's tasks.
std::optional<v1::SubmitWorkflowRequest> read_workflow(const WorkflowFile& file,
                                                       const std::string& prefix,
                                                       std::int64_t now_unix_ms,
                                                       config::Diagnostics& diagnostics);

}  // namespace berth::cli
