// Reads tables of an SQLite file that nobody vouches for: read-only, and without running any SQL that stands in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace turnpike::ingest {

// One row of a scan. Valid during the call that it is given to.
class SqliteRow {
 public:
  SqliteRow(sqlite3_stmt* statement, const std::vector<int>& places) : statement_(statement), places_(places) {}

  // Columns are numbered as they were asked for. Nullopt when the table lacks the column, or when it is NULL. A value
  // of another type makes the row unreadable.
  std::optional<std::int64_t> integer(std::size_t column);
  std::optional<std::string_view> text(std::size_t column);
  // The same, where a row without the value makes no sense: makes the row unreadable, and returns 0.
  std::int64_t needed_integer(std::size_t column);

  bool is_readable() const { return is_readable_; }
  void set_unreadable() { is_readable_ = false; }

 private:
  sqlite3_stmt* statement_;
  const std::vector<int>& places_;
  bool is_readable_ = true;
};

enum class ScanEnd {
  kAbsent,    // no such table (or a view in its place), or a needed column is missing
  kComplete,  // every row was given
  kDamaged,   // the file is damaged here: what comes after the rows that were given is lost
};

// Not safe for several threads.
class SqliteFile {
 public:
  // Fails when the file cannot be opened or is no database. Nothing is written, not even beside the file.
  static Result<SqliteFile> open(const std::filesystem::path& path);

  // How much the file is shorter than its header says, where SQLite reads it all the same.
  std::uint64_t missing_bytes() const { return missing_bytes_; }

  // A table of data: not a view, not a virtual table.
  bool has_table(const std::string& table) const;
  // About how many rows: exact where none were deleted. 0 without the table.
  std::uint64_t about_row_count(const std::string& table) const;

  // Gives every row to `on_row`, in the order in which they were written. Columns that the table lacks are nullopt in
  // each row; the first `needed_count` columns must be there.
  ScanEnd scan(const std::string& table, std::initializer_list<std::string_view> columns, std::size_t needed_count,
               const std::function<void(SqliteRow&)>& on_row);

  // The text of `value_column` in the row where `key_column` is `key`; nullopt when there is none. Fast only where that
  // column is the table's primary key: see is_primary_key.
  std::optional<std::string> text_by_key(const std::string& table, const std::string& value_column,
                                         const std::string& key_column, std::int64_t key);
  bool is_primary_key(const std::string& table, const std::string& column) const;

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  SqliteFile(sqlite3* database, std::uint64_t missing_bytes) : database_(database), missing_bytes_(missing_bytes) {}
  Statement prepare(const std::string& sql) const;
  std::vector<std::string> columns_of(const std::string& table) const;

  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::uint64_t missing_bytes_;
  // The last statement of text_by_key, which is asked for many keys of one table. Finalized before the database closes.
  std::string lookup_sql_;
  Statement lookup_;
};

}  // namespace turnpike::ingest
