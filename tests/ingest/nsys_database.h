// Makes SQLite databases as Nsight Systems exports them, and collects what the reader finds in them.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ingest/nsys/nsys.h"
#include "trace/losses.h"

namespace turnpike::ingest {

// A directory that is gone after the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nsys-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs SQL on a file.
inline void write_database(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* message = nullptr;
  sqlite3_exec(database, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr);  // a test need not survive a power cut
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  EXPECT_EQ(code, SQLITE_OK) << (message == nullptr ? "" : message) << "\n" << sql;
  sqlite3_free(message);
  sqlite3_close(database);
}

// What a query of one number gives.
inline std::int64_t number_in_database(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  const std::string uri = "file:" + path.string() + "?immutable=1";
  EXPECT_EQ(sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW) << sql;
  const std::int64_t number = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return number;
}

struct Collected final : trace::RecordSink {
  void on(const trace::CallRecord& record) override { calls.push_back(record); }
  void on(const trace::MemcpyRecord& record) override { copies.push_back(record); }
  void on(const trace::MemsetRecord& record) override { memsets.push_back(record); }
  void on(const trace::KernelRecord& record) override { kernels.push_back(record); }
  void on(const trace::RangeRecord& record) override { ranges.push_back(record); }
  void on(const trace::DeviceRecord& record) override { devices.push_back(record); }
  void on(const trace::ThreadRecord& record) override { threads.push_back(record); }
  void on(const trace::StreamRecord& record) override { streams.push_back(record); }
  void on(const trace::MigrationRecord& record) override { migrations.push_back(record); }
  void on(const trace::GraphNodeRecord& record) override { nodes.push_back(record); }
  void on(const trace::SampleRecord& record) override { samples.push_back(record); }

  std::vector<trace::CallRecord> calls;
  std::vector<trace::MemcpyRecord> copies;
  std::vector<trace::MemsetRecord> memsets;
  std::vector<trace::KernelRecord> kernels;
  std::vector<trace::RangeRecord> ranges;
  std::vector<trace::DeviceRecord> devices;
  std::vector<trace::ThreadRecord> threads;
  std::vector<trace::SampleRecord> samples;
  std::vector<trace::StreamRecord> streams;
  std::vector<trace::MigrationRecord> migrations;
  std::vector<trace::GraphNodeRecord> nodes;
};

// What was read, or why nothing was.
struct ReadExport {
  std::deque<Collected> records;  // as the processes
  std::vector<trace::Process> processes;
  std::string error;

  const std::string& text(std::uint32_t string, std::size_t process = 0) const {
    return processes.at(process).string(string);
  }
  std::uint64_t lost(trace::Loss loss) const {
    std::uint64_t count = 0;
    for (const trace::Process& process : processes) {
      const auto found = process.losses.find(static_cast<std::uint32_t>(loss));
      if (found != process.losses.end()) count += found->second;
    }
    return count;
  }
};

inline ReadExport read_export(const std::filesystem::path& path) {
  ReadExport read;
  auto processes = read_nsys(path, [&]() -> trace::RecordSink& { return read.records.emplace_back(); });
  if (processes) {
    read.processes = std::move(*processes);
    EXPECT_EQ(read.processes.size(), read.records.size());
  } else {
    read.error = processes.error().message;
    EXPECT_FALSE(read.error.empty());
  }
  return read;
}

// A whole database from SQL.
inline ReadExport read_sql(const std::string& sql) {
  const TemporaryFolder folder;
  write_database(folder / "export.sqlite", sql);
  return read_export(folder / "export.sqlite");
}

// Global ids of process 77 and of its threads, and of another process on another virtual machine.
inline constexpr std::int64_t kProcess = std::int64_t{1} << 48 | std::int64_t{77} << 24;
inline constexpr std::int64_t kThread = kProcess | 78;
inline constexpr std::int64_t kOtherProcess = std::int64_t{2} << 48 | std::int64_t{77} << 24;

inline std::string number(std::int64_t value) {
  return std::to_string(value);
}

// The tables as the schemas of the time had them, and as `sqlite3 .schema` shows them.
enum class Schema { k2, k3_16, k3_25, k3_28 };

inline std::string tables_of(Schema schema) {
  const bool is_3 = schema != Schema::k2;
  const bool is_3_25 = schema == Schema::k3_25 || schema == Schema::k3_28;
  std::string sql =
      "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
      "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);";
  const std::string green = is_3_25 ? "greenContextId INTEGER, " : "";
  const std::string work =
      "(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, " + green +
      "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, ";
  sql += "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY " + work +
         "bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER";
  if (is_3) {
    sql +=
        ", srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, "
        "dstContextId INTEGER, "
        "migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER";
  }
  if (is_3_25) sql += ", copyCount INTEGER";
  sql += ");CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET " + work + "value INTEGER NOT NULL, bytes INTEGER NOT NULL";
  if (is_3) sql += ", graphNodeId INTEGER, memKind INTEGER";
  sql += ");CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL " + work +
         "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL";
  if (is_3) sql += ", mangledName INTEGER, launchType INTEGER, gridX INTEGER NOT NULL DEFAULT 1, graphNodeId INTEGER";
  if (is_3_25) sql += ", graphId INTEGER";
  sql +=
      ");CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER "
      "NOT NULL, "
      "globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL";
  if (is_3) sql += ", callchainId INTEGER";
  sql += ");CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION " + work;
  if (is_3) sql += "deprecatedSyncType INTEGER, ";
  sql += "syncType INTEGER NOT NULL, eventId INTEGER NOT NULL";
  if (is_3_25) sql += ", eventSyncId INTEGER";
  sql +=
      ");CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
      "category INTEGER, "
      "color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, "
      "uint64Value INTEGER";
  if (schema == Schema::k3_28) sql += ", eventId INTEGER NOT NULL PRIMARY KEY";
  return sql + ");";
}

// One row, its columns by name: the schemas differ in their order.
inline std::string row(const std::string& table, const std::map<std::string, std::string>& values) {
  std::string columns;
  std::string texts;
  for (const auto& [column, value] : values) {
    columns += (columns.empty() ? "\"" : ", \"") + column + '"';
    texts += (texts.empty() ? "" : ", ") + value;
  }
  return "INSERT INTO " + table + " (" + columns + ") VALUES (" + texts + ");";
}

inline std::string string_id(int id, const std::string& text) {
  return row("StringIds", {{"id", number(id)}, {"value", "'" + text + "'"}});
}

// A call of process 77; its name is `name_id` of StringIds.
inline std::map<std::string, std::string> call(int name_id, int correlation, std::int64_t start_ns,
                                               std::int64_t end_ns) {
  return {{"start", number(start_ns)}, {"end", number(end_ns)},
          {"eventClass", "0"},         {"globalTid", number(kThread)},
          {"nameId", number(name_id)}, {"correlationId", number(correlation)},
          {"returnValue", "0"}};
}

// Device work of process 77, on device 0, context 1, stream 7.
inline std::map<std::string, std::string> work(int correlation, std::int64_t start_ns, std::int64_t end_ns) {
  return {{"start", number(start_ns)},
          {"end", number(end_ns)},
          {"deviceId", "0"},
          {"contextId", "1"},
          {"streamId", "7"},
          {"correlationId", number(correlation)},
          {"globalPid", number(kProcess)}};
}

inline std::map<std::string, std::string> with(std::map<std::string, std::string> values,
                                               const std::map<std::string, std::string>& more) {
  for (const auto& [column, value] : more) values[column] = value;
  return values;
}

inline const std::string kRuntime = "CUPTI_ACTIVITY_KIND_RUNTIME";
inline const std::string kMemcpy = "CUPTI_ACTIVITY_KIND_MEMCPY";
inline const std::string kMemset = "CUPTI_ACTIVITY_KIND_MEMSET";
inline const std::string kKernel = "CUPTI_ACTIVITY_KIND_KERNEL";
inline const std::string kSync = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
inline const std::string kNvtx = "NVTX_EVENTS";

}  // namespace turnpike::ingest
