// Finding, keeping and removing the records of leases.
#include "agent/lease_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/process_info.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

using berth::v1::TaskResult;

constexpr const char* kSpare = "spare.";
constexpr const char* kSpareRecord = ".record";
constexpr const char* kSpareFolder = ".work";
constexpr std::size_t kSparesMax = 4096;

void discard(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

// Nobody could tell it from a new one.
bool is_as_new(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || info.st_mode != (S_IFDIR | 0700)) return false;
  std::error_code error;
  return std::filesystem::is_empty(folder, error) && !error;
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : "SIG" + std::string(name);
}

TaskResult result_of_exit(const ExitRecord& record) {
  TaskResult result;
  result.set_exit_status(record.status);
  result.set_term_signal(record.term_signal);
  const std::string how = record.term_signal != 0
                              ? "ended by " + signal_name(record.term_signal)
                              : "ended with status " + std::to_string(record.status);
  const bool is_rank = record.rank >= 0;
  const std::string who = is_rank ? "Rank " + std::to_string(record.rank) : "The command";
  const std::string after =
      (is_rank ? ", and the other ranks were stopped; the gang ran for " : " after ") +
      std::to_string(record.ran_ms) + " ms";
  if (record.cause == EndCause::not_executed || record.cause == EndCause::not_begun) {
    const bool is_ours = record.cause == EndCause::not_begun;
    result.set_failure(is_ours ? berth::v1::INFRASTRUCTURE : berth::v1::ERROR);
    result.set_message(record.message);
  } else if (record.cause == EndCause::timed_out) {
    result.set_failure(berth::v1::TIMEOUT);
    result.set_message("Ran past its limit, was stopped and " + how + after + ".");
  } else if (record.cause == EndCause::stopped) {
    result.set_message("Stopped on request; " + how + after + ".");
  } else if (record.out_of_memory) {
    result.set_failure(berth::v1::OUT_OF_MEMORY);
    result.set_message("Seems to have run out of memory: " +
                       (is_rank ? "rank " + std::to_string(record.rank) : std::string("it")) + " " +
                       how + after + ".");
  } else if (record.term_signal != 0) {
    result.set_failure(berth::v1::CRASH);
    result.set_message(who + " " + how + after + ".");
  } else if (record.status != 0) {
    result.set_failure(berth::v1::ERROR);
    result.set_message(who + " " + how + after + ".");
  } else {
    result.set_completed(true);
  }
  return result;
}

bool has_ended(const ProcessIdentity& shim) {
  const Result<bool> runs = is_running(shim);
  return runs.ok() && !*runs;
}

TaskResult lost_its_shim() {
  TaskResult result;
  result.set_failure(berth::v1::CRASH);
  result.set_message(
      "How the command ended is not known: the shim of the task was killed, could not write it "
      "down "
      "because the disk was full, or the machine was restarted.");
  return result;
}

}  // namespace

TaskResult result_of(const std::optional<TaskRecord>& record) {
  return record && record->exit ? result_of_exit(*record->exit) : lost_its_shim();
}

LeaseStore::LeaseStore(const std::filesystem::path& folder)
    : folder_((folder / "tasks").string()), boot_id_(boot_id()) {}

TaskFiles LeaseStore::files(std::uint64_t lease, std::uint64_t task_no) const {
  return {folder_ + "/" + std::to_string(lease) + "." + std::to_string(task_no)};
}

Status LeaseStore::prepare() const {
  if (boot_id_.empty()) {
    return Error{"Could not read the boot id of this machine; is /proc mounted?"};
  }
  if (Status made = make_folder(folder_); !made) return made;
  const std::filesystem::path own(folder_);
  for (const std::filesystem::path& folder : {own, own.parent_path()}) {
    std::error_code error;
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    if (error) return file_error("close to others", folder, error.value());
  }
  return Done{};
}

// ---- Before a task begins
// ------------------------------------------------------------------------

Status LeaseStore::write_intent(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task) {
  const TaskFiles its = files(lease.id(), task.task_no());
  if (is_there(its.claimed()) || is_there(its.kept())) {
    return Error{"Lease " + std::to_string(lease.id()) + " has been carried out here before."};
  }
  berth::v1::Lease one;
  one.set_id(lease.id());
  one.set_epoch(lease.epoch());
  one.set_queue(lease.queue());
  one.set_model(lease.model());
  *one.mutable_gpus() = lease.gpus();
  one.set_share_milli(lease.share_milli());
  one.set_vram_mb(lease.vram_mb());
  one.set_on_disconnect(lease.on_disconnect());
  if (lease.has_gang()) *one.mutable_gang() = lease.gang();
  *one.add_tasks() = task;
  const std::string spare = take_spare(spare_records_, kSpareRecord);
  if (Status written = write_record(spare, boot_id_, one.SerializeAsString()); !written) {
    return written;
  }
  if (task.spec().workdir().empty()) {
    if (Status made = make_work_folder(its); !made) return made;
  }
  if (::rename(spare.c_str(), its.intent().c_str()) == 0) return Done{};
  return file_error("rename", spare, errno);
}

Status LeaseStore::make_work_folder(const TaskFiles& files) {
  const std::string work = files.work();
  if (!spare_folders_.empty()) {
    const std::string spare = take_spare(spare_folders_, kSpareFolder);
    if (::rename(spare.c_str(), work.c_str()) == 0) return Done{};
  }
  if (::mkdir(work.c_str(), 0700) == 0) return Done{};
  return file_error("create", work, errno);
}

// One that is there, or a name for a new one.
std::string LeaseStore::take_spare(std::vector<std::string>& spares, const char* ending) {
  if (spares.empty()) return folder_ + "/" + kSpare + std::to_string(next_spare_++) + ending;
  std::string spare = std::move(spares.back());
  spares.pop_back();
  return spare;
}

void LeaseStore::make_spare(const std::string& path, std::vector<std::string>& spares,
                            const char* ending) {
  std::string spare = folder_ + "/" + kSpare + std::to_string(next_spare_++) + ending;
  if (spares.size() >= kSparesMax || ::rename(path.c_str(), spare.c_str()) != 0) {
    return discard(path);
  }
  spares.push_back(std::move(spare));
}

// ---- After a restart
// -----------------------------------------------------------------------------

std::set<LeaseStore::Name> LeaseStore::names_with(const std::vector<std::string>& endings) const {
  std::set<Name> names;
  for (const std::string& text : names_in(folder_)) {
    const std::size_t first = text.find('.');
    const std::size_t second = text.find('.', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    if (std::find(endings.begin(), endings.end(), text.substr(second)) == endings.end()) continue;
    const auto lease = parse_number(std::string_view(text).substr(0, first));
    const auto task = parse_number(std::string_view(text).substr(first + 1, second - first - 1));
    if (!lease || !task) continue;
    names.insert({static_cast<std::uint64_t>(*lease), static_cast<std::uint64_t>(*task)});
  }
  return names;
}

// A file that is renamed while the folder is listed can be missing from the list. While no agent
// writes intents, a record is renamed once more at most, when a shim claims it: it cannot be
// missing from two lists, and so not from two that are the same.
std::set<LeaseStore::Name> LeaseStore::live_names() const {
  const auto list = [&] { return names_with({".intent", ".claimed", ".void"}); };
  std::set<Name> before;
  std::set<Name> names = list();
  do {
    before = std::exchange(names, list());
  } while (names != before);
  return names;
}

void LeaseStore::find_spares() {
  for (const std::string& name : names_in(folder_)) {
    if (!name.starts_with(kSpare)) continue;
    const std::string_view rest = std::string_view(name).substr(std::strlen(kSpare));
    const auto number = parse_number(rest.substr(0, rest.find('.')));
    if (!number) continue;
    next_spare_ = std::max(next_spare_, static_cast<std::uint64_t>(*number) + 1);
    auto& spares = name.ends_with(kSpareFolder) ? spare_folders_ : spare_records_;
    spares.push_back(folder_ + "/" + name);
  }
}

Result<std::vector<FoundLease>> LeaseStore::find_leases() {
  find_spares();
  std::vector<FoundLease> found;
  for (const Name& name : live_names()) {
    if (const Status looked = find_task(name, found); !looked) return looked.error();
  }
  remove_strays();
  return found;
}

// What has no record: an agent that is killed can have made a working folder and no intent yet. No
// shim renames records any more: each was claimed, or has been taken back above.
void LeaseStore::remove_strays() const {
  for (const Name& name : names_with({".work", ".out", ".err"})) {
    const TaskFiles its = files(name.lease, name.task_no);
    if (is_there(its.claimed()) || is_there(its.voided()) || is_there(its.kept())) continue;
    for (const std::string& stray : {its.work(), its.out(), its.err()}) {
      discard(stray);
    }
  }
}

// Nothing also if it is another's: after a power cut a record can have its new name and still say
// what it said under its last one.
std::optional<berth::v1::Lease> LeaseStore::lease_in(const std::optional<TaskRecord>& record,
                                                     Name name) {
  berth::v1::Lease lease;
  if (!record || !lease.ParseFromString(record->lease) || lease.tasks_size() != 1) {
    return std::nullopt;
  }
  if (Name{lease.id(), lease.tasks(0).task_no()} != name) return std::nullopt;
  return lease;
}

Status LeaseStore::find_task(Name name, std::vector<FoundLease>& found) const {
  const TaskFiles its = files(name.lease, name.task_no);
  const bool taken_back = void_intent(its) || is_there(its.voided());
  const std::string path = taken_back ? its.voided() : its.claimed();
  Result<std::optional<TaskRecord>> record = read_record(path);
  if (!record) return record.error();
  std::optional<berth::v1::Lease> lease = lease_in(*record, name);
  const bool has_ended = lease && (*record)->exit && !taken_back;
  if (!lease || ((*record)->boot_id != boot_id_ && !has_ended)) {
    for (const auto& left : {its.voided(), its.claimed(), its.out(), its.err(), its.work()}) {
      discard(left);
    }
    return Done{};
  }
  if (found.empty() || found.back().lease.id() != name.lease) {
    found.push_back({std::move(*lease), {}, {}});
  } else {
    *found.back().lease.add_tasks() = lease->tasks(0);
  }
  if (taken_back) {
    found.back().not_started.push_back(name.task_no);
    return Done{};
  }
  if (!has_ended) {
    const Result<bool> runs = is_running((*record)->shim());
    if (!runs) return runs.error();
    if (*runs) return Done{};
    // It may have written its exit between the two looks; then this kills nobody.
    if (const Status killed = kill_session((*record)->shim()); !killed) return killed;
    record = read_record(path);
    if (!record) return record.error();
  }
  berth::v1::TaskOutcome& outcome = found.back().ended.emplace_back();
  outcome.set_task_no(name.task_no);
  *outcome.mutable_result() = result_of(*record);
  return Done{};
}

// ---- Output that is kept
// -------------------------------------------------------------------------

bool LeaseStore::keep(std::uint64_t lease, std::uint64_t task_no, std::int64_t until_unix_ms) {
  const TaskFiles its = files(lease, task_no);
  const Result<std::optional<TaskRecord>> found = read_record(its.claimed());
  if (!found) return true;  // told once more by the next agent, and kept then
  const std::optional<TaskRecord>& record = *found;
  if (!record) {
    if (is_there(its.kept())) return true;
    discard(its.work());
    discard(its.voided());
    return false;
  }
  // A shim that still runs writes to its record: that must not become another's.
  if (!record->exit && !has_ended(record->shim())) return true;
  const bool work_as_new = record->exit && is_as_new(its.work());
  if (work_as_new) make_spare(its.work(), spare_folders_, kSpareFolder);
  if (is_there(its.out()) || is_there(its.err()) || is_there(its.work())) {
    if (!write_until(its.claimed(), until_unix_ms).ok()) return true;
    ::rename(its.claimed().c_str(), its.kept().c_str());
    return true;
  }
  make_spare(its.claimed(), spare_records_, kSpareRecord);
  return false;
}

std::vector<KeptTask> LeaseStore::find_kept() {
  std::vector<KeptTask> all;
  for (const Name& name : names_with({".kept"})) {
    const Result<std::optional<TaskRecord>> record =
        read_record(files(name.lease, name.task_no).kept());
    if (!record) continue;  // the next agent finds it
    std::optional<berth::v1::Lease> lease = lease_in(*record, name);
    if (lease) {
      all.push_back({std::move(*lease), (*record)->until_unix_ms});
    } else {
      remove_kept(name.lease, name.task_no);
    }
  }
  return all;
}

void LeaseStore::remove_kept(std::uint64_t lease, std::uint64_t task_no) {
  const TaskFiles its = files(lease, task_no);
  if (!is_there(its.kept())) return;
  for (const std::string& path : {its.out(), its.err(), its.work()}) {
    discard(path);
  }
  make_spare(its.kept(), spare_records_, kSpareRecord);
}

}  // namespace berth::agent
