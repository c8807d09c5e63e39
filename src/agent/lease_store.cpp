// Finding, keeping and removing the folders of leases.
#include "agent/lease_store.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <system_error>

#include "agent/files.h"
#include "agent/process_info.h"
#include "agent/records.h"
#include "agent/task_folder.h"

namespace berth::agent {
namespace {

using berth::v1::TaskResult;

std::vector<std::uint64_t> numbers_in(const std::filesystem::path& folder) {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::optional<std::int64_t> number = parse_number(entry.path().filename().string());
    if (number) numbers.push_back(static_cast<std::uint64_t>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<berth::v1::Lease> read_lease(const std::filesystem::path& folder) {
  const Result<std::string> text = read_file(folder / "lease");
  if (!text) return std::nullopt;
  const Result<Fields> fields = parse_fields(*text);
  berth::v1::Lease lease;
  if (!fields || fields->size() != 1 || !lease.ParseFromString(fields->front().second)) {
    return std::nullopt;
  }
  return lease;
}

void remove_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : "SIG" + std::string(name);
}

TaskResult result_of(const ExitRecord& record) {
  TaskResult result;
  result.set_exit_status(record.status);
  result.set_term_signal(record.term_signal);
  const std::string how = record.term_signal != 0
                              ? "ended by " + signal_name(record.term_signal)
                              : "ended with status " + std::to_string(record.status);
  const std::string after = " after " + std::to_string(record.ran_ms) + " ms";
  if (record.cause == EndCause::not_executed) {
    result.set_failure(berth::v1::ERROR);
    result.set_message(record.message);
  } else if (record.cause == EndCause::timed_out) {
    result.set_failure(berth::v1::TIMEOUT);
    result.set_message("Ran past its limit, was stopped and " + how + after + ".");
  } else if (record.cause == EndCause::stopped) {
    result.set_message("Stopped on request; " + how + after + ".");
  } else if (record.out_of_memory) {
    result.set_failure(berth::v1::OUT_OF_MEMORY);
    result.set_message("Seems to have run out of memory: it " + how + after + ".");
  } else if (record.term_signal != 0) {
    result.set_failure(berth::v1::CRASH);
    result.set_message("The command " + how + after + ".");
  } else if (record.status != 0) {
    result.set_failure(berth::v1::ERROR);
    result.set_message("The command " + how + after + ".");
  } else {
    result.set_completed(true);
  }
  return result;
}

TaskResult lost_its_shim() {
  TaskResult result;
  result.set_failure(berth::v1::CRASH);
  result.set_message(
      "The shim of the task was killed, or the machine was restarted; how the command ended is not "
      "known.");
  return result;
}

}  // namespace

TaskResult result_of_folder(const std::filesystem::path& task_folder) {
  const Result<ExitRecord> record = read_exit(task_folder);
  return record.ok() ? result_of(*record) : lost_its_shim();
}

std::filesystem::path LeaseStore::live(std::uint64_t lease) const {
  return folder_ / "leases" / std::to_string(lease);
}

std::filesystem::path LeaseStore::kept(std::uint64_t lease) const {
  return folder_ / "kept" / std::to_string(lease);
}

std::filesystem::path LeaseStore::task_folder(std::uint64_t lease, std::uint64_t task_no) const {
  return live(lease) / std::to_string(task_no);
}

std::filesystem::path LeaseStore::kept_task_folder(std::uint64_t lease,
                                                   std::uint64_t task_no) const {
  return kept(lease) / std::to_string(task_no);
}

Status LeaseStore::prepare() const {
  for (const char* name : {"leases", "kept"}) {
    if (Status made = make_folder(folder_ / name); !made) return made;
  }
  std::error_code error;
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, error);
  if (error) return file_error("close to others", folder_, error.value());
  return Done{};
}

Status LeaseStore::write_lease(const berth::v1::Lease& lease) const {
  const std::filesystem::path folder = live(lease.id());
  if (std::filesystem::exists(folder) || std::filesystem::exists(kept(lease.id()))) {
    return Error{"Lease " + std::to_string(lease.id()) + " has been carried out here before."};
  }
  if (Status made = make_folder(folder); !made) return made;
  std::string text;
  put_field(text, "lease", lease.SerializeAsString());
  return write_file(folder / "lease", text);
}

// ---- After a restart
// -----------------------------------------------------------------------------

std::vector<FoundLease> LeaseStore::find_leases() const {
  std::vector<FoundLease> found;
  for (const std::uint64_t number : numbers_in(folder_ / "leases")) {
    std::optional<berth::v1::Lease> lease = read_lease(live(number));
    if (!lease) {  // nothing of it can have started before this file was there
      remove_folder(live(number));
      continue;
    }
    FoundLease& its = found.emplace_back();
    its.lease = std::move(*lease);
    for (const berth::v1::LeasedTask& task : its.lease.tasks()) {
      find_task(its, task);
    }
  }
  return found;
}

void LeaseStore::find_task(FoundLease& found, const berth::v1::LeasedTask& task) const {
  const std::filesystem::path folder = task_folder(found.lease.id(), task.task_no());
  if (!has_exit(folder)) {
    if (void_intent(folder) || !has_claim(folder)) {
      found.not_started.push_back(task.task_no());
      return;
    }
    const Result<ProcessIdentity> shim = read_claim(folder);
    if (shim.ok() && is_running(*shim)) return;
    // It may have written its exit between the two looks; then this kills nobody.
    if (shim.ok()) kill_session(*shim);
  }
  berth::v1::TaskOutcome& outcome = found.ended.emplace_back();
  outcome.set_task_no(task.task_no());
  *outcome.mutable_result() = result_of_folder(folder);
}

// ---- Output that is kept
// -------------------------------------------------------------------------

void LeaseStore::keep(std::uint64_t lease, std::int64_t until_unix_ms) const {
  if (!write_file(live(lease) / "until", std::to_string(until_unix_ms)).ok()) return;
  std::error_code ignored;  // stays where it is, and is told to the server once more
  std::filesystem::rename(live(lease), kept(lease), ignored);
}

std::vector<KeptLease> LeaseStore::find_kept() const {
  std::vector<KeptLease> all;
  for (const std::uint64_t number : numbers_in(folder_ / "kept")) {
    std::optional<berth::v1::Lease> lease = read_lease(kept(number));
    const Result<std::string> until = read_file(kept(number) / "until");
    if (!lease || !until) {
      remove_folder(kept(number));
      continue;
    }
    all.push_back({std::move(*lease), field_number(*until)});
  }
  return all;
}

void LeaseStore::remove_kept(std::uint64_t lease) const { remove_folder(kept(lease)); }

}  // namespace berth::agent
