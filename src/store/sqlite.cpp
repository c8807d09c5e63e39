// See sqlite.h.
#include "store/sqlite.h"

#include <system_error>
#include <utility>

#include <sqlite3.h>

#include "base/assert.h"
#include "store/file.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr int kBusyMs = 10'000;

Error sqlite_error(std::string_view what, const fs::path& path, sqlite3* database, int code) {
  const char* why = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  Error error{"cannot " + std::string(what) + " " + path.string() + ": " + why};
  const int kind = code & 0xff;
  if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
    error.message += "; check it with berth fsck";
  if (kind == SQLITE_FULL) error.message += "; free some room on that disk";
  return error;
}

// Of a statement, whose connection knows the file.
Error statement_error(sqlite3_stmt* statement, int code) {
  sqlite3* database = sqlite3_db_handle(statement);
  const char* path = sqlite3_db_filename(database, "main");
  return sqlite_error("use", path != nullptr ? path : "", database, code);
}

int only_reading(void*, int action, const char* first, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_PRAGMA:
      return std::string_view(first) == "table_info" || std::string_view(first) == "table_list"
                 ? SQLITE_OK
                 : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// SQLite counts its memory under one lock for the whole process, for statistics that nobody reads.
// Without the counting a row of the history takes a tenth less time.
void stop_counting_memory() {
  static const int kDone = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)kDone;  // an error: SQLite is in use already, and goes on counting
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  (void)sqlite3_finalize(statement);
}

void Statement::bind(int index, std::int64_t value) {
  ASSERT(sqlite3_bind_int64(statement_.get(), index + 1, value) == SQLITE_OK);
}

// A null pointer would bind NULL; an empty view may hold one.
void Statement::bind(int index, std::string_view value) {
  const char* data = value.data() != nullptr ? value.data() : "";
  ASSERT(sqlite3_bind_text64(statement_.get(), index + 1, data, value.size(), SQLITE_STATIC,
                             SQLITE_UTF8) == SQLITE_OK);
}

void Statement::bind(int index, std::span<const std::byte> value) {
  const void* data = value.data() != nullptr ? static_cast<const void*>(value.data()) : "";
  ASSERT(sqlite3_bind_blob64(statement_.get(), index + 1, data, value.size(), SQLITE_STATIC) ==
         SQLITE_OK);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Error error = statement_error(statement_.get(), code);
  reset();
  return error;
}

Status Statement::run() {
  for (;;) {
    const Result<bool> row = step();
    if (!row) return row.error();
    if (!*row) break;
  }
  reset();
  return Done{};
}

void Statement::reset() { (void)sqlite3_reset(statement_.get()); }

int Statement::columns() const { return sqlite3_column_count(statement_.get()); }

std::string_view Statement::name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name != nullptr ? name : "";
}

ColumnType Statement::type(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return ColumnType::integer;
    case SQLITE_FLOAT:
      return ColumnType::real;
    case SQLITE_TEXT:
      return ColumnType::text;
    case SQLITE_BLOB:
      return ColumnType::blob;
    default:
      return ColumnType::null;
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* data = sqlite3_column_text(statement_.get(), column);
  if (data == nullptr) return {};
  return {reinterpret_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::span<const std::byte> Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const std::byte*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Connection::Close::operator()(sqlite3* database) const { (void)sqlite3_close_v2(database); }

Result<Connection> Connection::open(const fs::path& path, int flags) {
  stop_counting_memory();
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection;
  connection.database_.reset(raw);
  connection.path_ = path;
  if (code != SQLITE_OK) return sqlite_error("open", path, raw, code);
  (void)sqlite3_extended_result_codes(raw, 1);
  (void)sqlite3_busy_timeout(raw, kBusyMs);
  return connection;
}

// SQLite would make the file readable for all; its log gets the file's own mode.
Result<Connection> Connection::open_to_write(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (const Result<File> made = File::create(path); !made) return made.error();
  }
  return open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}
Result<Connection> Connection::open_to_read(const fs::path& path) {
  return open(path, SQLITE_OPEN_READONLY);
}

Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()), 0, &raw, &rest);
  Statement statement;
  statement.statement_.reset(raw);
  if (code != SQLITE_OK) return sqlite_error("query", path_, database_.get(), code);
  if (raw == nullptr) return Error{"cannot query " + path_.string() + ": there is no statement"};
  const std::string_view after(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
  if (after.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return Error{"cannot query " + path_.string() + ": one statement at a time"};
  }
  return statement;
}

Status Connection::run(std::string_view sql) {
  const int code =
      sqlite3_exec(database_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error("use", path_, database_.get(), code);
  return Done{};
}

int Connection::changes() const { return sqlite3_changes(database_.get()); }

Result<bool> Connection::checkpoint() {
  int frames = 0;
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             &frames, &copied);
  if (code == SQLITE_BUSY) return false;
  if (code != SQLITE_OK) return sqlite_error("checkpoint", path_, database_.get(), code);
  return frames == copied;
}

Status Connection::copy_to(const fs::path& path) {
  Result<Connection> to = open_to_write(path);
  if (!to) return to.error();
  sqlite3_backup* copy = sqlite3_backup_init(to->database_.get(), "main", database_.get(), "main");
  if (copy == nullptr) return sqlite_error("copy", path, to->database_.get(), SQLITE_ERROR);
  (void)sqlite3_backup_step(copy, -1);
  const int code = sqlite3_backup_finish(copy);
  if (code != SQLITE_OK) return sqlite_error("copy", path, to->database_.get(), code);
  // The copy is one file: its log is not needed any more.
  return to->run("PRAGMA journal_mode=DELETE");
}

void Connection::allow_reading_only() {
  (void)sqlite3_set_authorizer(database_.get(), only_reading, nullptr);
}

}  // namespace berth::store
