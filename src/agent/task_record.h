// The files of one task under a lease: what was leased, who runs it, what came out.
//
//   LEASE.TASK.intent    the record before its command may begin
//   LEASE.TASK.claimed   the same file after its shim took it, with the shim's pid and start time;
//                        how the command ended is written into it too
//   LEASE.TASK.void      the same file after the agent took it back: nobody may start it any more
//   LEASE.TASK.kept      the same file when only the output is wanted still, and until when
//   LEASE.TASK.out, .err what the task wrote, up to the cap; made with the first byte
//
// Its working folder, unless it named another, stands elsewhere: LEASE.TASK.work (work_folders.h).
// Agents before made it beside these files; a task that they began still works there.
//
// The fence against double starts is one rename: the shim's `intent` -> `claimed` or the agent's
// `intent` -> `void`. Exactly one of the two succeeds, whoever was killed when. So a task with
// `claimed` has started or may have; one without never has and never will.
//
// Nothing here is synced: what a killed process wrote stays, and what a lost machine loses is told
// from the boot id in the record (lease_store.h). Records are used again, and after a power cut a
// name can be newer than what stands in the file, page by page: so what was leased and how it ended
// each say whose they are, and count only under that name. The record has its full size before the
// claim, so that on file systems that write in place a full disk cannot lose how a command ended;
// on those that copy on write it can (shim.cpp tries again for a while).
//
// Shared by the agent and the shim, which know nothing else of each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "agent/files.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::agent {

struct TaskFiles {
  std::string stem;            // FOLDER/LEASE.TASK
  std::string work_stem = {};  // WORK_FOLDER/LEASE.TASK

  std::string intent() const { return stem + ".intent"; }
  std::string claimed() const { return stem + ".claimed"; }
  std::string voided() const { return stem + ".void"; }
  std::string kept() const { return stem + ".kept"; }
  std::string out() const { return stem + ".out"; }
  std::string err() const { return stem + ".err"; }
  std::string work() const { return work_stem + ".work"; }
  std::string work_of_old() const { return stem + ".work"; }
};

// Names one process for ever: pids come again, start times on one boot do not with the same pid.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot_id;
  bool operator==(const ProcessIdentity&) const = default;
};

enum class EndCause : std::uint8_t {
  ended,         // by itself, or by a signal that the shim did not send
  stopped,       // on request
  timed_out,     // ran past its limit
  deadline,      // its deadline passed
  not_executed,  // the program could not be run; `message` says why
  not_begun      // the node could not begin it, which is not the task's fault; `message` says why
};

struct ExitRecord {
  EndCause cause = EndCause::ended;
  int status = 0;
  int term_signal = 0;  // 0: ended with `status`
  int rank = -1;        // of a gang: whose failure ended it; -1: nobody's
  bool out_of_memory = false;
  std::string message;
  std::int64_t ran_ms = 0;
  std::int64_t ended_unix_ms = 0;
  Time ended{};          // since the boot; zero: not known, as in records of older shims
  bool out_cut = false;  // more was written than the cap keeps
  bool err_cut = false;
  bool operator==(const ExitRecord&) const = default;
};

struct TaskRecord {
  std::string boot_id;  // on which it was written
  std::string lease;    // the lease's message, with this task alone
  pid_t shim_pid = 0;   // 0: not claimed
  std::uint64_t shim_start_ticks = 0;
  std::optional<ExitRecord> exit;
  std::int64_t until_unix_ms = 0;  // of one that is kept

  ProcessIdentity shim() const { return {shim_pid, shim_start_ticks, boot_id}; }
};

// ---- The agent's side
// ----------------------------------------------------------------------------

// Fills a file that has no task's name yet. What stood in it before is not cut off: on some file
// systems that would write it to disk at once.
Status write_record(const std::string& path, std::string_view boot_id, std::string_view lease);
Status write_until(const std::string& path, std::int64_t until_unix_ms);
// In the place of a shim that has ended and did not.
Status write_exit_for_shim(const TaskFiles& files, const ExitRecord& exit);

// Takes the intent back. True: nobody has started it and nobody will.
bool void_intent(const TaskFiles& files);

// ---- The shim's side
// -----------------------------------------------------------------------------

// Takes the intent for the calling process and gives the record's file. An error: it may not run.
Result<Fd> claim_intent(const TaskFiles& files);
// `record` is what the claim of `files` gave.
Status write_exit(const Fd& record, const TaskFiles& files, const ExitRecord& exit);

// ---- Both
// ----------------------------------------------------------------------------------------

// Nothing: there is no file, or no whole record, as a lost machine can leave it. An error: it could
// not be read now, which says nothing of the task. The exit is there only if it was written under
// this name and on the boot of the record.
Result<std::optional<TaskRecord>> read_record(const std::string& path);
bool has_claim(const TaskFiles& files);

}  // namespace berth::agent
