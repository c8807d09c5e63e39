// Finding, keeping and removing the records of leases.
#include "agent/lease_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "agent/files.h"
#include "agent/process_info.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

using berth::v1::TaskResult;

constexpr const char* kSpare = "spare.";
constexpr const char* kSpareRecord = ".record";
constexpr std::string_view kOldSpareFolder = ".work";
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
      std::to_string(record.ran_ms) + " ms" + (record.message.empty() ? "" : "; " + record.message);
  if (record.cause == EndCause::not_executed || record.cause == EndCause::not_begun) {
    const bool is_ours = record.cause == EndCause::not_begun;
    result.set_failure(is_ours ? berth::v1::INFRASTRUCTURE : berth::v1::ERROR);
    result.set_message(record.message);
  } else if (record.cause == EndCause::timed_out) {
    result.set_failure(berth::v1::TIMEOUT);
    result.set_message("Ran past its limit, was stopped and " + how + after + ".");
  } else if (record.cause == EndCause::deadline) {
    result.set_failure(berth::v1::DEADLINE);
    result.set_message("Its deadline passed; it was stopped and " + how + after + ".");
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

TaskTimes times_of(const std::optional<TaskRecord>& record) {
  if (!record || !record->exit) return {};
  const ExitRecord& exit = *record->exit;
  const bool is_known = exit.ended.ns > 0 && record->boot_id == boot_id();
  return {milliseconds(exit.ran_ms), is_known ? exit.ended : Time::never()};
}

LeaseStore::LeaseStore(const std::filesystem::path& folder,
                       const std::filesystem::path& work_folder, std::filesystem::path group_root)
    : folder_((folder / "tasks").string()),
      welcome_((folder / "welcome").string()),
      boot_id_(boot_id()),
      work_folders_(work_folder.empty() ? folder / "work" : work_folder),
      group_root_(std::move(group_root)) {}

// One that cannot be written says that nothing is known, which is always true.
void LeaseStore::note_welcome() const {
  if (!was_welcomed()) (void)write_file(welcome_, boot_id_ + "\n");
}

bool LeaseStore::was_welcomed() const {
  const Result<std::optional<std::string>> text = read_file_if_there(welcome_);
  return text.ok() && *text && **text == boot_id_ + "\n";
}

TaskFiles LeaseStore::files(std::uint64_t lease, std::uint64_t task_no) const {
  const std::string name = std::to_string(lease) + "." + std::to_string(task_no);
  return {folder_ + "/" + name, work_folders_.stem_of(name)};
}

std::filesystem::path LeaseStore::group(std::uint64_t lease, std::uint64_t task_no) const {
  if (group_root_.empty()) return {};
  return group_root_ / (std::to_string(lease) + "." + std::to_string(task_no));
}

Result<bool> LeaseStore::end_leftovers(std::uint64_t lease, std::uint64_t task_no,
                                       const ProcessIdentity& shim, pid_t launcher) const {
  const bool is_group_gone = end_group(group(lease, task_no));
  const Result<bool> are_gone = agent::end_leftovers({shim, lease, launcher});
  if (!are_gone) return are_gone.error();
  return *are_gone && is_group_gone;
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
  return work_folders_.prepare();
}

// ---- Before a task begins
// ------------------------------------------------------------------------

Status LeaseStore::write_intent(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task,
                                const std::optional<FolderOwner>& owner) {
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
  const std::string spare = take_spare();
  if (Status written = write_record(spare, boot_id_, one.SerializeAsString()); !written) {
    return written;
  }
  if (task.spec().workdir().empty()) {
    const std::string name = std::to_string(lease.id()) + "." + std::to_string(task.task_no());
    if (Status made = make_work(name, lease.id(), task.task_no(), owner); !made) return made;
  }
  if (::rename(spare.c_str(), its.intent().c_str()) == 0) return Done{};
  return file_error("rename", spare, errno);
}

bool LeaseStore::is_over(const TaskFiles& its) const {
  if (is_there(its.kept())) return true;
  const Result<std::optional<TaskRecord>> record = read_record(its.claimed());
  if (record && !*record) return !is_there(its.intent());  // it never began
  return record && (*record)->exit;
}

// What the last attempt of the task left is the next one's: checkpoints survive.
Status LeaseStore::make_work(const std::string& name, std::uint64_t lease, std::uint64_t task_no,
                             const std::optional<FolderOwner>& owner) {
  const auto [last, is_first] = work_of_.try_emplace(task_no, lease);
  if (!is_first) {
    const std::uint64_t before = std::exchange(last->second, lease);
    const std::string old = std::to_string(before) + "." + std::to_string(task_no);
    const bool passes = before != lease && is_over(files(before, task_no));
    if (passes && work_folders_.pass_on(old, name, owner)) return Done{};
  }
  return work_folders_.make(name, owner);
}

// One that is there, or a name for a new one.
std::string LeaseStore::take_spare() {
  if (spare_records_.empty()) {
    return folder_ + "/" + kSpare + std::to_string(next_spare_++) + kSpareRecord;
  }
  std::string spare = std::move(spare_records_.back());
  spare_records_.pop_back();
  return spare;
}

void LeaseStore::make_spare(const std::string& path) {
  std::string spare = folder_ + "/" + kSpare + std::to_string(next_spare_++) + kSpareRecord;
  if (spare_records_.size() >= kSparesMax || ::rename(path.c_str(), spare.c_str()) != 0) {
    return discard(path);
  }
  spare_records_.push_back(std::move(spare));
}

void LeaseStore::forget_work(std::uint64_t lease, std::uint64_t task_no) {
  const auto last = work_of_.find(task_no);
  if (last != work_of_.end() && last->second == lease) work_of_.erase(last);
}

void LeaseStore::discard_work(const TaskFiles& files) {
  std::string_view none;
  const std::string text = std::filesystem::path(files.stem).filename().string();
  if (const std::optional<Name> name = name_in(text, none)) forget_work(name->lease, name->task_no);
  work_folders_.discard(std::filesystem::path(files.stem).filename().string());
  discard(files.work_of_old());
}

// ---- After a restart
// -----------------------------------------------------------------------------

std::set<LeaseStore::Name> LeaseStore::names_with(const std::vector<std::string>& endings) const {
  std::set<Name> names;
  for (const std::string& text : names_in(folder_)) {
    std::string_view ending;
    const std::optional<Name> name = name_in(text, ending);
    if (!name || std::ranges::find(endings, ending) == endings.end()) continue;
    names.insert(*name);
  }
  return names;
}

std::optional<LeaseStore::Name> LeaseStore::name_in(std::string_view text,
                                                    std::string_view& ending) {
  const std::size_t first = text.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = std::min(text.find('.', first + 1), text.size());
  ending = text.substr(second);
  const auto lease = parse_number(text.substr(0, first));
  const auto task = parse_number(text.substr(first + 1, second - first - 1));
  if (!lease || !task) return std::nullopt;
  return Name{static_cast<std::uint64_t>(*lease), static_cast<std::uint64_t>(*task)};
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
    if (name.ends_with(kOldSpareFolder)) {
      discard(folder_ + "/" + name);
    } else {
      spare_records_.push_back(folder_ + "/" + name);
    }
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
void LeaseStore::remove_strays() {
  std::set<Name> strays = names_with({".work", ".out", ".err"});
  for (const std::string& text : work_folders_.find()) {
    std::string_view none;
    const std::optional<Name> name = name_in(text, none);
    if (!name) continue;
    strays.insert(*name);
    std::uint64_t& last = work_of_[name->task_no];
    last = std::max(last, name->lease);
  }
  for (const Name& name : strays) {
    const TaskFiles its = files(name.lease, name.task_no);
    if (is_there(its.claimed()) || is_there(its.voided()) || is_there(its.kept())) continue;
    discard(its.out());
    discard(its.err());
    discard_work(its);
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

Status LeaseStore::find_task(Name name, std::vector<FoundLease>& found) {
  const TaskFiles its = files(name.lease, name.task_no);
  const bool taken_back = void_intent(its) || is_there(its.voided());
  const std::string path = taken_back ? its.voided() : its.claimed();
  Result<std::optional<TaskRecord>> record = read_record(path);
  if (!record) return record.error();
  std::optional<berth::v1::Lease> lease = lease_in(*record, name);
  const bool has_ended = lease && (*record)->exit && !taken_back;
  if (!lease || ((*record)->boot_id != boot_id_ && !has_ended)) {
    for (const auto& left : {its.voided(), its.claimed(), its.out(), its.err()}) {
      discard(left);
    }
    discard_work(its);
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
    const Result<bool> gone = end_leftovers(name.lease, name.task_no, (*record)->shim(), 0);
    if (!gone) return gone.error();
    if (!*gone) return Done{};  // as if it ran: who adopts it looks again
    record = read_record(path);
    if (!record) return record.error();
  }
  found.back().ended.push_back({name.task_no, result_of(*record), times_of(*record)});
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
    // What an earlier attempt left there is the next one's; an empty folder is nobody's.
    std::error_code error;
    const bool has_work =
        std::filesystem::exists(its.work(), error) && !std::filesystem::is_empty(its.work(), error);
    if (!has_work) discard_work(its);
    discard(its.voided());
    return false;
  }
  // A shim that still runs writes to its record: that must not become another's.
  if (!record->exit && !has_ended(record->shim())) return true;
  const std::string name = std::to_string(lease) + "." + std::to_string(task_no);
  if (record->exit) work_folders_.tidy(name);
  const bool has_work = work_folders_.has(name) || is_there(its.work_of_old());
  if (!has_work) forget_work(lease, task_no);
  if (is_there(its.out()) || is_there(its.err()) || has_work) {
    if (!write_until(its.claimed(), until_unix_ms).ok()) return true;
    ::rename(its.claimed().c_str(), its.kept().c_str());
    return true;
  }
  make_spare(its.claimed());
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
  discard(its.out());
  discard(its.err());
  discard_work(its);
  make_spare(its.kept());
}

// One at a time, and only when the last is gone: it may have been enough.
void LeaseStore::make_room(std::uint64_t wanted_bytes) {
  if (work_folders_.is_sweeping() || work_folders_.free_bytes() >= wanted_bytes) return;
  std::optional<Name> newest;
  std::int64_t newest_unix_ms = 0;
  for (const Name& name : names_with({".kept"})) {
    const TaskFiles its = files(name.lease, name.task_no);
    if (!is_there(its.work()) && !is_there(its.work_of_old())) continue;
    const Result<std::optional<TaskRecord>> record = read_record(its.kept());
    if (!record || !*record) continue;
    const std::int64_t ended = (*record)->exit ? (*record)->exit->ended_unix_ms : 0;
    if (newest && ended < newest_unix_ms) continue;
    newest = name;
    newest_unix_ms = ended;
  }
  if (newest) discard_work(files(newest->lease, newest->task_no));
}

}  // namespace berth::agent
