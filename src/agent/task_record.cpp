// The record: places for the claim, the exit and the time, then what was leased.
#include "agent/task_record.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "agent/process_info.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

// Each is filled up with zeros and lies within one page, so that a kill cannot cut it.
struct Place {
  std::size_t at;
  std::size_t size;
};
constexpr Place kClaim{0, 128};
constexpr Place kUntil{128, 64};
constexpr Place kSize{192, 64};  // of what stands from kLeaseAt on; behind it is what was
constexpr Place kExit{256, 3840};
constexpr std::size_t kLeaseAt = 4096;
constexpr std::size_t kMessageMax = 3000;

constexpr std::array<std::pair<EndCause, std::string_view>, 6> kCauses{{
    {EndCause::ended, "ended"},
    {EndCause::stopped, "stopped"},
    {EndCause::timed_out, "timed_out"},
    {EndCause::deadline, "deadline"},
    {EndCause::not_executed, "not_executed"},
    {EndCause::not_begun, "not_begun"},
}};

std::string_view name_of(EndCause cause) {
  for (const auto& [value, name] : kCauses) {
    if (value == cause) return name;
  }
  return "ended";
}

EndCause cause_named(std::string_view name) {
  for (const auto& [value, known] : kCauses) {
    if (known == name) return value;
  }
  return EndCause::ended;
}

// Never in the middle of a character, and without zeros, which end a place.
std::string cut_text(std::string_view text) {
  std::size_t end = text.size();
  if (end > kMessageMax) {
    end = kMessageMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
      --end;
    }
  }
  std::string cut(text.substr(0, end));
  for (char& c : cut) {
    if (c == '\0') c = ' ';
  }
  return cut;
}

// Whose exit it is: the task, by the name of its files, and the boot.
std::string owner_of(const std::filesystem::path& stem, const std::string& boot_id) {
  return stem.filename().string() + " " + boot_id;
}

std::string encode(const ExitRecord& record, const std::string& owner) {
  std::string text;
  put_field(text, "of", owner);
  put_field(text, "cause", name_of(record.cause));
  put_field(text, "status", record.status);
  put_field(text, "signal", record.term_signal);
  put_field(text, "rank", record.rank);
  put_field(text, "out_of_memory", record.out_of_memory ? 1 : 0);
  put_field(text, "message", cut_text(record.message));
  put_field(text, "ran_ms", record.ran_ms);
  put_field(text, "ended_unix_ms", record.ended_unix_ms);
  put_field(text, "ended_boot_ns", record.ended.ns);
  put_field(text, "out_cut", record.out_cut ? 1 : 0);
  put_field(text, "err_cut", record.err_cut ? 1 : 0);
  put_field(text, "whole", 1);
  return text;
}

std::optional<ExitRecord> decode_exit(const Fields& fields, const std::string& owner) {
  if (fields.empty() || fields.back().first != "whole") return std::nullopt;
  if (fields.front() != std::pair<std::string, std::string>("of", owner)) return std::nullopt;
  ExitRecord record;
  for (const auto& [name, value] : fields) {
    if (name == "cause") record.cause = cause_named(value);
    if (name == "status") record.status = static_cast<int>(field_number(value));
    if (name == "signal") record.term_signal = static_cast<int>(field_number(value));
    if (name == "rank") record.rank = static_cast<int>(field_number(value));
    if (name == "out_of_memory") record.out_of_memory = field_number(value) != 0;
    if (name == "message") record.message = value;
    if (name == "ran_ms") record.ran_ms = field_number(value);
    if (name == "ended_unix_ms") record.ended_unix_ms = field_number(value);
    if (name == "ended_boot_ns") record.ended.ns = field_number(value);
    if (name == "out_cut") record.out_cut = field_number(value) != 0;
    if (name == "err_cut") record.err_cut = field_number(value) != 0;
  }
  return record;
}

// Nothing if what stands there is not whole.
Fields fields_at(std::string_view text, Place place) {
  const std::string_view filled = text.substr(place.at, place.size);
  const Result<Fields> fields = parse_fields(filled.substr(0, filled.find('\0')));
  return fields.ok() ? *fields : Fields{};
}

Status write_at(int fd, Place place, const std::string& text) {
  const ssize_t put = ::pwrite(fd, text.data(), text.size(), static_cast<off_t>(place.at));
  if (put == static_cast<ssize_t>(text.size())) return Done{};
  return file_error("write to", "the record of a task", errno);
}

std::optional<TaskRecord> parse_record(const std::string& text, const std::filesystem::path& stem) {
  if (text.size() < kLeaseAt) return std::nullopt;
  const Fields size = fields_at(text, kSize);
  if (size.empty()) return std::nullopt;
  const Result<Fields> leased = parse_fields(std::string_view(text).substr(
      kLeaseAt, static_cast<std::size_t>(field_number(size.front().second))));
  if (!leased || leased->size() != 2) return std::nullopt;
  TaskRecord record;
  record.boot_id = leased->at(0).second;
  record.lease = leased->at(1).second;
  for (const auto& [name, value] : fields_at(text, kClaim)) {
    if (name == "pid") record.shim_pid = static_cast<pid_t>(field_number(value));
    if (name == "start_ticks") {
      record.shim_start_ticks = static_cast<std::uint64_t>(field_number(value));
    }
  }
  for (const auto& [name, value] : fields_at(text, kUntil)) {
    if (name == "until_unix_ms") record.until_unix_ms = field_number(value);
  }
  record.exit = decode_exit(fields_at(text, kExit), owner_of(stem, record.boot_id));
  return record;
}

}  // namespace

// ---- The agent's side
// ----------------------------------------------------------------------------

Status write_record(const std::string& path, std::string_view boot_id, std::string_view lease) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return file_error("create", path, errno);
  std::string text(kLeaseAt, '\0');
  put_field(text, "boot_id", boot_id);
  put_field(text, "lease", lease);
  std::string size;
  put_field(size, "size", static_cast<std::int64_t>(text.size() - kLeaseAt));
  text.replace(kSize.at, size.size(), size);
  return write_all(file.get(), text, path);
}

Status write_until(const std::string& path, std::int64_t until_unix_ms) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return file_error("open", path, errno);
  std::string text;
  put_field(text, "until_unix_ms", until_unix_ms);
  return write_at(file.get(), kUntil, text);
}

Status write_exit_for_shim(const TaskFiles& files, const ExitRecord& exit) {
  const Fd record(::open(files.claimed().c_str(), O_WRONLY | O_CLOEXEC));
  if (!record) return file_error("open", files.claimed(), errno);
  return write_exit(record, files, exit);
}

bool void_intent(const TaskFiles& files) {
  return ::rename(files.intent().c_str(), files.voided().c_str()) == 0;
}

// ---- The shim's side
// -----------------------------------------------------------------------------

Result<Fd> claim_intent(const TaskFiles& files) {
  const std::string path = files.intent();
  const pid_t pid = ::getpid();
  const std::uint64_t start_ticks = start_ticks_of(pid);
  if (start_ticks == 0) return Error{"Could not read from /proc when this process started."};
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return file_error("open", path, errno);
  std::string claim;
  put_field(claim, "pid", pid);
  put_field(claim, "start_ticks", static_cast<std::int64_t>(start_ticks));
  if (const Status written = write_at(file.get(), kClaim, claim); !written) return written.error();
  if (::rename(path.c_str(), files.claimed().c_str()) != 0) return file_error("claim", path, errno);
  return file;
}

Status write_exit(const Fd& record, const TaskFiles& files, const ExitRecord& exit) {
  return write_at(record.get(), kExit, encode(exit, owner_of(files.stem, boot_id())));
}

// ---- Both
// ----------------------------------------------------------------------------------------

Result<std::optional<TaskRecord>> read_record(const std::string& path) {
  const Result<std::optional<std::string>> text = read_file_if_there(path);
  if (!text) return text.error();
  return *text ? parse_record(**text, std::filesystem::path(path).stem()) : std::nullopt;
}

bool has_claim(const TaskFiles& files) { return ::access(files.claimed().c_str(), F_OK) == 0; }

}  // namespace berth::agent
