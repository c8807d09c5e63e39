// The folder of one task under a lease: what is to run, who runs it, what came out.
//
//   intent    what is to run; written before anyone is asked to run it
//   claimed   the same file after its shim took it: with the shim's pid and start time, and on disk
//             before the command begins
//   void      the same file after the agent took it back: nobody may start it any more
//   out, err  what the task wrote, up to the cap
//   exit      how it ended; on disk before the shim ends
//   work/     its working folder, unless it named another
//
// The fence against double starts is one rename: the shim's `intent` -> `claimed` or the agent's
// `intent` -> `void`. Exactly one of the two succeeds, whoever was killed when. So a task with
// `claimed` has started or may have; one without never has and never will.
//
// Shared by the agent and the shim, which know nothing else of each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/time.h"

namespace berth::agent {

struct Intent {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value
  std::string workdir;                   // empty: the folder `work` beside this file
  int stop_signal = 15;
  Duration stop_grace = seconds(10);
  Duration run_limit{};          // zero: none
  std::uint64_t output_cap = 0;  // bytes of each stream
  bool operator==(const Intent&) const = default;
};

// Names one process for ever: pids come again, start times on one boot do not with the same pid.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot_id;
  bool operator==(const ProcessIdentity&) const = default;
};

enum class EndCause : std::uint8_t {
  ended,        // by itself, or by a signal that the shim did not send
  stopped,      // on request
  timed_out,    // ran past its limit
  not_executed  // the program could not be run; `message` says why
};

struct ExitRecord {
  EndCause cause = EndCause::ended;
  int status = 0;
  int term_signal = 0;  // 0: ended with `status`
  bool out_of_memory = false;
  std::string message;
  std::int64_t ran_ms = 0;
  std::int64_t ended_unix_ms = 0;
  bool out_cut = false;  // more was written than the cap keeps
  bool err_cut = false;
  bool operator==(const ExitRecord&) const = default;
};

// ---- The agent's side
// ----------------------------------------------------------------------------

// Makes the folder and writes the intent.
Status write_intent(const std::filesystem::path& folder, const Intent& intent);

// Takes the intent back. True: nobody has started it and nobody will.
bool void_intent(const std::filesystem::path& folder);

// ---- The shim's side
// -----------------------------------------------------------------------------

// Reads the intent and takes it for the calling process; when it returns, the claim is on disk with
// the folders above it, up to the lease's. An error: it may not run.
Result<Intent> claim_intent(const std::filesystem::path& folder);

// Takes the room for the exit record while there is some; then a full disk cannot lose it.
Status reserve_exit(const std::filesystem::path& folder);
Status write_exit(const std::filesystem::path& folder, const ExitRecord& record);

// ---- Both
// ----------------------------------------------------------------------------------------

bool has_claim(const std::filesystem::path& folder);
Result<ProcessIdentity> read_claim(const std::filesystem::path& folder);
bool has_exit(const std::filesystem::path& folder);
Result<ExitRecord> read_exit(const std::filesystem::path& folder);

}  // namespace berth::agent
