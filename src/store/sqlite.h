// SQLite behind two small values: a connection and a statement. Errors as sentences.
//
// Knows no table. One thread uses a connection at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::store {

enum class ColumnType : std::uint8_t { integer, real, text, blob, null };

class Statement {
 public:
  // Parameters and columns count from 0. A span or a view must live until the statement is done.
  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view value);
  void bind(int index, std::span<const std::byte> value);

  // True: there is a row. False: there are no more.
  Result<bool> step();
  Status run();  // steps to the end and makes it ready for the next run
  void reset();

  int columns() const;
  std::string_view name(int column) const;
  ColumnType type(int column) const;
  std::int64_t integer(int column) const;
  std::string_view text(int column) const;  // of any type; valid until the next step
  std::span<const std::byte> blob(int column) const;

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Connection {
 public:
  static Result<Connection> open_to_write(const std::filesystem::path& path);  // creates it too
  static Result<Connection> open_to_read(const std::filesystem::path& path);   // must exist

  Result<Statement> prepare(std::string_view sql);
  Status run(std::string_view sql);  // any number of statements, their rows dropped
  int changes() const;

  // Makes every frame of the log part of the file, as far as readers let it. True: all of it, and
  // all that was committed is durable.
  Result<bool> checkpoint();

  // Copies the whole database, as one moment shows it, into a new file.
  Status copy_to(const std::filesystem::path& path);

  // From now on statements may only read, and only this database.
  void allow_reading_only();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  static Result<Connection> open(const std::filesystem::path& path, int flags);

  std::unique_ptr<sqlite3, Close> database_;
  std::filesystem::path path_;
};

}  // namespace berth::store
