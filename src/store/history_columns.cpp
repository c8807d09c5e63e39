// See history_columns.h.
#include "store/history_columns.h"

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "journal/crc32c.h"
#include "journal/wire.h"
#include "store/history_json.h"

namespace berth::store {
namespace {

// The one list, in the order of the table.
template <class Task, class Visitor>
void visit_columns(Task& t, Visitor& v) {
  v("task_no", t.task_no);
  v("task_id", t.task_id);
  v("tenant", t.tenant);
  v("queue", t.queue);
  v("\"group\"", t.group);
  v("state", t.state);
  v("reason_code", t.reason.code);
  v("reason_need", t.reason.need);
  v("reason_have", t.reason.have);
  v("reason_unit", t.reason.unit);
  v("reason_subject", t.reason.subject);
  v("reason_message", t.reason.message);
  v("tier", t.tier);
  v("priority", t.priority);
  v("vram_mb", t.vram_mb);
  v("gpus", t.gpus);
  v("share", t.share);
  v("submitted_ns", t.submitted_ns);
  v("eligible_ns", t.eligible_ns);
  v("started_ns", t.started_ns);
  v("ended_ns", t.ended_ns);
  v("attempts", t.attempts);
  v("charge_us", t.charge_us);
  v("wait_ns", t.wait_ns);
  v("labels", t.labels);
  v("result_completed", t.outcome.completed);
  v("result_failure", t.outcome.failure);
  v("result_exit_status", t.outcome.exit_status);
  v("result_term_signal", t.outcome.term_signal);
  v("result_message", t.outcome.message);
  v("result_simulated", t.outcome.simulated);
  v("expires_ns", t.expires_ns);
}

class CheckSum {
 public:
  void add(std::int64_t value) {
    out_.u8('i');
    out_.i64(value);
  }
  void add(std::string_view text) { add('t', std::as_bytes(std::span(text))); }
  void add(std::span<const std::byte> blob) { add('b', blob); }
  std::int64_t value() const { return journal::crc32c(out_.view()); }

 private:
  void add(char type, journal::ByteView bytes) {
    out_.u8(static_cast<std::uint8_t>(type));
    out_.u64(bytes.size());
    out_.bytes(bytes);
  }
  journal::Writer out_;
};

struct Namer {
  std::string names;
  int count = 0;
  template <class Field>
  void operator()(const char* name, const Field&) {
    names += std::string(name) + ", ";
    ++count;
  }
};

Namer named_columns() {
  Namer namer;
  const EndedTask task;
  visit_columns(task, namer);
  namer.names += "check_sum";
  ++namer.count;
  return namer;
}

class Binder {
 public:
  Binder(Statement& to, std::string& attempts, std::string& labels)
      : to_(to), attempts_(attempts), labels_(labels) {}

  template <std::integral T>
  void operator()(const char*, const T& value) {
    put(static_cast<std::int64_t>(value));
  }
  void operator()(const char*, const std::string& value) { put(std::string_view(value)); }
  void operator()(const char*, const std::vector<EndedAttempt>& value) {
    put(std::string_view(attempts_ = attempts_to_json(value)));
  }
  void operator()(const char*, const std::map<std::string, std::string>& value) {
    put(std::string_view(labels_ = labels_to_json(value)));
  }
  void finish() { to_.bind(column_, sum_.value()); }

 private:
  template <class Value>
  void put(Value value) {
    sum_.add(value);
    to_.bind(column_++, value);
  }

  Statement& to_;
  std::string& attempts_;
  std::string& labels_;
  CheckSum sum_;
  int column_ = 0;
};

class RowReader {
 public:
  explicit RowReader(const Statement& row) : row_(row) {}

  template <std::integral T>
  void operator()(const char*, T& value) {
    const std::int64_t number = integer();
    if constexpr (std::same_as<T, std::uint64_t>) {
      value = static_cast<T>(number);
    } else if constexpr (!std::same_as<T, std::int64_t>) {
      value = static_cast<T>(number);
      ok_ = ok_ && static_cast<std::int64_t>(value) == number;
    } else {
      value = number;
    }
  }
  void operator()(const char*, std::string& value) { value = text(); }
  void operator()(const char*, std::vector<EndedAttempt>& value) {
    keep(attempts_from_json(text()), value);
  }
  void operator()(const char*, std::map<std::string, std::string>& value) {
    keep(labels_from_json(text()), value);
  }

  std::int64_t integer() {
    ok_ = ok_ && row_.type(column_) == ColumnType::integer;
    const std::int64_t number = row_.integer(column_++);
    sum_.add(number);
    return number;
  }
  std::string_view text() {
    ok_ = ok_ && row_.type(column_) == ColumnType::text;
    const std::string_view text = row_.text(column_++);
    sum_.add(text);
    return text;
  }
  std::span<const std::byte> blob() {
    ok_ = ok_ && row_.type(column_) == ColumnType::blob;
    const std::span<const std::byte> blob = row_.blob(column_++);
    sum_.add(blob);
    return blob;
  }

  // The last column must be the checksum of those before.
  bool finish() const {
    return ok_ && row_.type(column_) == ColumnType::integer &&
           row_.integer(column_) == sum_.value();
  }

 private:
  template <class T>
  void keep(std::optional<T> read, T& value) {
    ok_ = ok_ && read.has_value();
    if (read) value = std::move(*read);
  }

  const Statement& row_;
  CheckSum sum_;
  int column_ = 0;
  bool ok_ = true;
};

CheckSum meta_sum(std::string_view key, std::int64_t value) {
  CheckSum sum;
  sum.add(key);
  sum.add(value);
  return sum;
}

}  // namespace

const std::string& ended_columns() {
  static const std::string kColumns = named_columns().names;
  return kColumns;
}

int ended_column_count() { return named_columns().count; }

BoundTask::BoundTask(Statement& statement, const EndedTask& task) {
  Binder binder(statement, attempts_, labels_);
  visit_columns(task, binder);
  binder.finish();
}

bool read_task(const Statement& row, EndedTask& task) {
  RowReader reader(row);
  visit_columns(task, reader);
  return reader.finish();
}

void bind_body(Statement& statement, const EndedTask& task) {
  CheckSum sum;
  sum.add(static_cast<std::int64_t>(task.task_no));
  sum.add(task.expires_ns);
  sum.add(std::span<const std::byte>(task.spec));
  sum.add(std::span<const std::byte>(task.result));
  statement.bind(0, static_cast<std::int64_t>(task.task_no));
  statement.bind(1, task.expires_ns);
  statement.bind(2, std::span<const std::byte>(task.spec));
  statement.bind(3, std::span<const std::byte>(task.result));
  statement.bind(4, sum.value());
}

bool read_body(const Statement& row, EndedTask& task) {
  RowReader reader(row);
  const auto task_no = static_cast<std::uint64_t>(reader.integer());
  const std::int64_t expires_ns = reader.integer();
  const auto spec = reader.blob();
  task.spec.assign(spec.begin(), spec.end());
  const auto result = reader.blob();
  task.result.assign(result.begin(), result.end());
  return reader.finish() && task_no == task.task_no && expires_ns == task.expires_ns;
}

void bind_meta(Statement& statement, std::string_view key, std::int64_t value) {
  statement.bind(0, key);
  statement.bind(1, value);
  statement.bind(2, meta_sum(key, value).value());
}

Result<std::int64_t> read_meta(Connection& connection, std::string_view key) {
  Result<Statement> query =
      connection.prepare("SELECT key, value, check_sum FROM meta WHERE key = ?");
  if (!query) return query.error();
  query->bind(0, key);
  const Result<bool> row = query->step();
  if (!row) return row.error();
  const std::string name(key);
  if (!*row) return Error{"the history's meta row '" + name + "' is missing"};
  RowReader reader(*query);
  (void)reader.text();
  const std::int64_t value = reader.integer();
  if (!reader.finish()) {
    return Error{"the history's meta row '" + name + "' does not match its checksum"};
  }
  return value;
}

}  // namespace berth::store
