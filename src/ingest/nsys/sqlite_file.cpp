// Opens the database with every limit and defence that SQLite has for files of strangers.
#include "ingest/nsys/sqlite_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/text.h"

namespace turnpike::ingest {
namespace {

namespace fs = std::filesystem;

constexpr int kAbsentColumn = -1;
// A value longer than this ends the scan of its table: no name in a trace comes near it.
constexpr int kMaxValueBytes = 64 << 20;
constexpr int kMaxSqlBytes = 64 << 10;

// SQLite takes the path as a URI, which alone can say that nobody else changes the file.
std::string uri_of(const fs::path& path) {
  const auto is_plain = [](char letter) { return letter != '%' && letter != '?' && letter != '#'; };
  return "file:" + percent_escaped(fs::absolute(path).string(), is_plain) + "?mode=ro&immutable=1";
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char letter : name) text += letter == '"' ? "\"\"" : std::string(1, letter);
  return text + '"';
}

// The last line of defence: whatever the file's schema holds, only plain reading is compiled. `inside_of` names the
// view or trigger that asks.
int authorize(void*, int action, const char* first, const char* second, const char*, const char* inside_of) {
  if (inside_of != nullptr) return SQLITE_DENY;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
      return SQLITE_OK;
    case SQLITE_PRAGMA: {
      const std::string_view pragma = first;
      return pragma == "table_info" || pragma == "cell_size_check" ? SQLITE_OK : SQLITE_DENY;
    }
    case SQLITE_FUNCTION:
      return second != nullptr && std::string_view(second) == "max" ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

void defend(sqlite3* database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // Else a column that is not there would be read as a text of its name.
  sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, kMaxSqlBytes);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_exec(database, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(database, authorize, nullptr);
}

// The header of an SQLite file says how many pages there are, and how large one is. 0 for a file without a header.
std::uint64_t missing_bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  unsigned char header[32] = {};
  file.read(reinterpret_cast<char*>(header), sizeof header);
  std::error_code failed;
  const std::uint64_t size_bytes = fs::file_size(path, failed);
  if (!file || failed) return 0;
  std::uint64_t page_bytes = static_cast<std::uint64_t>(header[16]) << 8 | header[17];
  if (page_bytes == 1) page_bytes = 65536;
  std::uint64_t page_count = 0;
  for (int i = 28; i < 32; ++i) page_count = page_count << 8 | header[i];
  const std::uint64_t expected_bytes = page_bytes * page_count;
  return expected_bytes > size_bytes ? expected_bytes - size_bytes : 0;
}

Error cannot_open(const fs::path& path, int code, const std::string& reason, std::uint64_t missing_bytes) {
  std::string text = "Cannot read " + path.string() + ": ";
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return Error{text + "it is no SQLite database. Give the .sqlite file that `nsys export --type sqlite` writes."};
    case SQLITE_CORRUPT:
      text += missing_bytes == 0 ? "the database is damaged"
                                 : "the database is cut off, " + std::to_string(missing_bytes) + " bytes are missing";
      return Error{text + ". Copy it again, or export the report again with `nsys export --type sqlite`."};
    default:
      return Error{text + reason + ". Check the name, the file's permissions and its disk."};
  }
}

}  // namespace

std::optional<std::int64_t> SqliteRow::integer(std::size_t column) {
  const int place = places_[column];
  if (place == kAbsentColumn) return std::nullopt;
  switch (sqlite3_column_type(statement_, place)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement_, place);
    case SQLITE_NULL:
      return std::nullopt;
    default:
      is_readable_ = false;
      return std::nullopt;
  }
}

std::optional<std::string_view> SqliteRow::text(std::size_t column) {
  const int place = places_[column];
  if (place == kAbsentColumn) return std::nullopt;
  switch (sqlite3_column_type(statement_, place)) {
    case SQLITE_TEXT: {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, place));
      const int size_bytes = sqlite3_column_bytes(statement_, place);
      if (bytes != nullptr) return std::string_view(bytes, static_cast<std::size_t>(size_bytes));
      is_readable_ = false;  // no memory to convert it from UTF-16
      return std::nullopt;
    }
    case SQLITE_NULL:
      return std::nullopt;
    default:
      is_readable_ = false;
      return std::nullopt;
  }
}

std::int64_t SqliteRow::needed_integer(std::size_t column) {
  const auto value = integer(column);
  if (!value) is_readable_ = false;
  return value.value_or(0);
}

void SqliteFile::CloseDatabase::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void SqliteFile::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<SqliteFile> SqliteFile::open(const fs::path& path) {
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int opened = sqlite3_open_v2(uri_of(path).c_str(), &database, flags, nullptr);
  SqliteFile file(database, missing_bytes_of(path));
  if (opened != SQLITE_OK) {
    return cannot_open(path, opened, database == nullptr ? "there is no memory" : sqlite3_errmsg(database),
                       file.missing_bytes());
  }
  defend(database);
  // The file is looked at only now.
  const Statement first = file.prepare("SELECT name FROM sqlite_master LIMIT 1");
  const int step = first ? sqlite3_step(first.get()) : sqlite3_extended_errcode(database);
  if (step != SQLITE_ROW && step != SQLITE_DONE) {
    return cannot_open(path, step, sqlite3_errmsg(database), file.missing_bytes());
  }
  return file;
}

SqliteFile::Statement SqliteFile::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr);
  return Statement(statement);
}

bool SqliteFile::has_table(const std::string& table) const {
  // Views and virtual tables have no root page.
  const Statement found = prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1");
  if (!found) return false;
  sqlite3_bind_text(found.get(), 1, table.c_str(), -1, SQLITE_TRANSIENT);
  return sqlite3_step(found.get()) == SQLITE_ROW;
}

// Without generated columns, which are SQL of the file.
std::vector<std::string> SqliteFile::columns_of(const std::string& table) const {
  std::vector<std::string> names;
  const Statement info = prepare("PRAGMA table_info(" + sql_name(table) + ")");
  while (info && sqlite3_step(info.get()) == SQLITE_ROW) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(info.get(), 1));
    if (name != nullptr) names.emplace_back(name);
  }
  return names;
}

bool SqliteFile::is_primary_key(const std::string& table, const std::string& column) const {
  if (!has_table(table)) return false;
  constexpr int kName = 1;
  constexpr int kPlaceInKey = 5;  // 0: not a part of it
  const Statement info = prepare("PRAGMA table_info(" + sql_name(table) + ")");
  bool is_in_key = false;
  int key_columns = 0;
  while (info && sqlite3_step(info.get()) == SQLITE_ROW) {
    if (sqlite3_column_int(info.get(), kPlaceInKey) == 0) continue;
    ++key_columns;
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(info.get(), kName));
    is_in_key = is_in_key || (name != nullptr && column == name);
  }
  return is_in_key && key_columns == 1;
}

std::uint64_t SqliteFile::about_row_count(const std::string& table) const {
  if (!has_table(table)) return 0;
  const Statement last = prepare("SELECT max(_rowid_) FROM " + sql_name(table));
  if (!last || sqlite3_step(last.get()) != SQLITE_ROW) return 0;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sqlite3_column_int64(last.get(), 0), 0));
}

ScanEnd SqliteFile::scan(const std::string& table, std::initializer_list<std::string_view> columns,
                         std::size_t needed_count, const std::function<void(SqliteRow&)>& on_row) {
  if (!has_table(table)) return ScanEnd::kAbsent;
  const auto known = columns_of(table);
  std::string sql = "SELECT _rowid_";
  std::vector<int> places;
  int next_place = 1;
  for (const std::string_view column : columns) {
    const bool is_there = std::find(known.begin(), known.end(), column) != known.end();
    if (!is_there && places.size() < needed_count) return ScanEnd::kAbsent;
    places.push_back(is_there ? next_place++ : kAbsentColumn);
    if (is_there) sql += ", " + sql_name(column);
  }
  const Statement rows = prepare(sql + " FROM " + sql_name(table));
  if (!rows) return ScanEnd::kDamaged;
  std::int64_t last_row = std::numeric_limits<std::int64_t>::min();
  for (bool is_first = true;; is_first = false) {
    const int step = sqlite3_step(rows.get());
    if (step == SQLITE_DONE) return ScanEnd::kComplete;
    if (step != SQLITE_ROW) return ScanEnd::kDamaged;
    // Pages that point at one another in circles give the same rows again and again: a small file could fill any
    // memory.
    const std::int64_t row_number = sqlite3_column_int64(rows.get(), 0);
    if (!is_first && row_number <= last_row) return ScanEnd::kDamaged;
    last_row = row_number;
    SqliteRow row(rows.get(), places);
    on_row(row);
  }
}

std::optional<std::string> SqliteFile::text_by_key(const std::string& table, const std::string& value_column,
                                                   const std::string& key_column, std::int64_t key) {
  const std::string sql =
      "SELECT " + sql_name(value_column) + " FROM " + sql_name(table) + " WHERE " + sql_name(key_column) + " = ?1";
  if (sql != lookup_sql_) {
    lookup_ = prepare(sql);
    lookup_sql_ = sql;
  }
  if (!lookup_) return std::nullopt;
  sqlite3_reset(lookup_.get());
  sqlite3_bind_int64(lookup_.get(), 1, key);
  if (sqlite3_step(lookup_.get()) != SQLITE_ROW || sqlite3_column_type(lookup_.get(), 0) != SQLITE_TEXT) {
    return std::nullopt;
  }
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(lookup_.get(), 0));
  if (bytes == nullptr) return std::nullopt;
  return std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(lookup_.get(), 0)));
}

}  // namespace turnpike::ingest
