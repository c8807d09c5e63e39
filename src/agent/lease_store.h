// LeaseStore: the leases with commands, as folders.
//
//   leases/LEASE/lease     the lease's message, written before any of its tasks can start
//   leases/LEASE/TASK/     see task_folder.h
//   kept/LEASE/            the same after the server has acknowledged its end: only the output is
//                          wanted still, until the instant in kept/LEASE/until (ms since 1970)
//
// This is the one place where folders are moved and removed. Blocks on the disk; may be used from
// several threads as long as they touch different leases.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/leases.h"
#include "base/result.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

struct KeptLease {
  berth::v1::Lease lease;
  std::int64_t until_unix_ms = 0;
};

class LeaseStore {
 public:
  explicit LeaseStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Makes the two folders, which only their owner may enter.
  Status prepare() const;

  std::filesystem::path task_folder(std::uint64_t lease, std::uint64_t task_no) const;
  std::filesystem::path kept_task_folder(std::uint64_t lease, std::uint64_t task_no) const;

  // An error also if this lease has been here before.
  Status write_lease(const berth::v1::Lease& lease) const;

  // What earlier incarnations left and was not acknowledged. Takes back what nobody has started,
  // and ends what has lost its shim: after it each task runs, has ended, or never will start.
  std::vector<FoundLease> find_leases() const;

  void keep(std::uint64_t lease, std::int64_t until_unix_ms) const;
  std::vector<KeptLease> find_kept() const;
  void remove_kept(std::uint64_t lease) const;

 private:
  std::filesystem::path live(std::uint64_t lease) const;
  std::filesystem::path kept(std::uint64_t lease) const;
  void find_task(FoundLease& found, const berth::v1::LeasedTask& task) const;

  std::filesystem::path folder_;
};

// How a task ended, in the words of the protocol.
berth::v1::TaskResult result_of_folder(const std::filesystem::path& task_folder);

}  // namespace berth::agent
