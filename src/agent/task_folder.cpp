// The files of a task's folder.
#include "agent/task_folder.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/process_info.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

constexpr std::size_t kExitBytes = 4096;  // no record is longer
constexpr std::size_t kMessageMax = 3000;

constexpr std::array<std::pair<EndCause, std::string_view>, 4> kCauses{{
    {EndCause::ended, "ended"},
    {EndCause::stopped, "stopped"},
    {EndCause::timed_out, "timed_out"},
    {EndCause::not_executed, "not_executed"},
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

std::string encode(const Intent& intent) {
  std::string text;
  for (const std::string& word : intent.argv) {
    put_field(text, "argv", word);
  }
  for (const std::string& entry : intent.environment) {
    put_field(text, "env", entry);
  }
  put_field(text, "workdir", intent.workdir);
  put_field(text, "stop_signal", intent.stop_signal);
  put_field(text, "stop_grace_ns", intent.stop_grace.ns);
  put_field(text, "run_limit_ns", intent.run_limit.ns);
  put_field(text, "output_cap", static_cast<std::int64_t>(intent.output_cap));
  return text;
}

Intent decode_intent(const Fields& fields) {
  Intent intent;
  for (const auto& [name, value] : fields) {
    if (name == "argv") intent.argv.push_back(value);
    if (name == "env") intent.environment.push_back(value);
    if (name == "workdir") intent.workdir = value;
    if (name == "stop_signal") intent.stop_signal = static_cast<int>(field_number(value));
    if (name == "stop_grace_ns") intent.stop_grace = {field_number(value)};
    if (name == "run_limit_ns") intent.run_limit = {field_number(value)};
    if (name == "output_cap") intent.output_cap = static_cast<std::uint64_t>(field_number(value));
  }
  return intent;
}

Result<Fields> read_fields(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<Fields> fields = parse_fields(*text);
  if (!fields) return Error{"Could not read " + path.string() + ": " + fields.error().message};
  return fields;
}

// Never in the middle of a character.
std::string_view cut_text(std::string_view text) {
  if (text.size() <= kMessageMax) return text;
  std::size_t end = kMessageMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

std::string encode(const ExitRecord& record) {
  std::string text;
  put_field(text, "cause", name_of(record.cause));
  put_field(text, "status", record.status);
  put_field(text, "signal", record.term_signal);
  put_field(text, "out_of_memory", record.out_of_memory ? 1 : 0);
  put_field(text, "message", cut_text(record.message));
  put_field(text, "ran_ms", record.ran_ms);
  put_field(text, "ended_unix_ms", record.ended_unix_ms);
  put_field(text, "out_cut", record.out_cut ? 1 : 0);
  put_field(text, "err_cut", record.err_cut ? 1 : 0);
  return text;
}

bool is_there(const std::filesystem::path& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

// ---- Intent and claim
// ----------------------------------------------------------------------------

Status write_intent(const std::filesystem::path& folder, const Intent& intent) {
  if (Status made = make_folder(folder); !made) return made;
  return write_file(folder / "intent", encode(intent));
}

bool void_intent(const std::filesystem::path& folder) {
  return ::rename((folder / "intent").c_str(), (folder / "void").c_str()) == 0;
}

Result<Intent> claim_intent(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "intent";
  const Result<Fields> fields = read_fields(path);
  if (!fields) return fields.error();
  const ProcessIdentity own = identity_of(::getpid());
  std::string claim;
  put_field(claim, "pid", own.pid);
  put_field(claim, "start_ticks", static_cast<std::int64_t>(own.start_ticks));
  put_field(claim, "boot_id", own.boot_id);

  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file) return file_error("open", path, errno);
  if (const Status written = write_all(file.get(), claim, path); !written) return written.error();
  if (::fsync(file.get()) != 0) return file_error("sync", path, errno);
  if (::rename(path.c_str(), (folder / "claimed").c_str()) != 0) {
    return file_error("claim", path, errno);
  }
  for (const std::filesystem::path& entered : {folder, folder.parent_path()}) {
    if (const Status synced = sync_folder(entered); !synced) return synced.error();
  }
  return decode_intent(*fields);
}

bool has_claim(const std::filesystem::path& folder) { return is_there(folder / "claimed"); }

Result<ProcessIdentity> read_claim(const std::filesystem::path& folder) {
  const Result<Fields> fields = read_fields(folder / "claimed");
  if (!fields) return fields.error();
  ProcessIdentity identity;
  for (const auto& [name, value] : *fields) {
    if (name == "pid") identity.pid = static_cast<pid_t>(field_number(value));
    if (name == "start_ticks") {
      identity.start_ticks = static_cast<std::uint64_t>(field_number(value));
    }
    if (name == "boot_id") identity.boot_id = value;
  }
  return identity;
}

// ---- Exit
// ----------------------------------------------------------------------------------------

Status reserve_exit(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "exit.new";
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return file_error("create", path, errno);
  return write_all(file.get(), std::string(kExitBytes, '\n'), path);
}

Status write_exit(const std::filesystem::path& folder, const ExitRecord& record) {
  const std::filesystem::path path = folder / "exit.new";
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return file_error("create", path, errno);
  const std::string text = encode(record);
  if (const Status written = write_all(file.get(), text, path); !written) return written;
  if (::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0) {
    return file_error("cut", path, errno);
  }
  if (::fsync(file.get()) != 0) return file_error("sync", path, errno);
  if (::rename(path.c_str(), (folder / "exit").c_str()) != 0) {
    return file_error("rename", path, errno);
  }
  return sync_folder(folder);
}

bool has_exit(const std::filesystem::path& folder) { return is_there(folder / "exit"); }

Result<ExitRecord> read_exit(const std::filesystem::path& folder) {
  const Result<Fields> fields = read_fields(folder / "exit");
  if (!fields) return fields.error();
  ExitRecord record;
  for (const auto& [name, value] : *fields) {
    if (name == "cause") record.cause = cause_named(value);
    if (name == "status") record.status = static_cast<int>(field_number(value));
    if (name == "signal") record.term_signal = static_cast<int>(field_number(value));
    if (name == "out_of_memory") record.out_of_memory = field_number(value) != 0;
    if (name == "message") record.message = value;
    if (name == "ran_ms") record.ran_ms = field_number(value);
    if (name == "ended_unix_ms") record.ended_unix_ms = field_number(value);
    if (name == "out_cut") record.out_cut = field_number(value) != 0;
    if (name == "err_cut") record.err_cut = field_number(value) != 0;
  }
  return record;
}

}  // namespace berth::agent
