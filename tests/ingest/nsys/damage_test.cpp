// Whatever stands in an SQLite file, the reader gives what makes sense and counts the rest, and runs nothing of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "ingest/nsys/sqlite_file.h"
#include "ingest/nsys_database.h"

namespace turnpike::ingest {
namespace {

using testing::HasSubstr;

std::string one_call() {
  return tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 10, 20));
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(NsysReader, CountsRowsWithValuesOfAnotherType) {
  const ReadExport read = read_sql(
      one_call() + row(kRuntime, with(call(1, 2, 30, 40), {{"start", "'noon'"}})) +
      row(kRuntime, with(call(1, 3, 30, 40), {{"globalTid", "NULL"}})) +
      row(kRuntime, with(call(1, 4, 30, 40), {{"correlationId", "x'00ff'"}})) +
      row(kRuntime, with(call(1, 5, 30, 40), {{"end", "40.5"}})) + row(kRuntime, call(1, 6, 40, 30)) +
      row(kRuntime, with(call(1, 7, 30, 40), {{"start", "-9223372036854775808"}})) +
      row(kMemcpy, with(work(8, 1, 2), {{"bytes", "-1"}, {"copyKind", "1"}})) +
      row(kMemcpy, with(work(9, 1, 2), {{"bytes", "'many'"}, {"copyKind", "1"}})) +
      row(kNvtx,
          {{"start", "1"}, {"end", "2"}, {"eventType", "59"}, {"text", "x'00'"}, {"globalTid", number(kThread)}}));
  ASSERT_EQ(read.processes.size(), 1u) << read.error;
  EXPECT_EQ(read.records[0].calls.size(), 1u);
  EXPECT_TRUE(read.records[0].copies.empty());
  EXPECT_EQ(read.lost(trace::Loss::kUnreadableEvent), 9u);
}

TEST(NsysReader, KeepsTheSizeOfCopiesWithImpossibleTimes) {
  const ReadExport read = read_sql(one_call() + row(kMemcpy, with(work(1, 9, 5), {{"bytes", "8"}, {"copyKind", "1"}})));
  ASSERT_EQ(read.records.at(0).copies.size(), 1u);
  EXPECT_EQ(read.records[0].copies[0].bytes, 8u);
  EXPECT_EQ(read.records[0].copies[0].start_ns, trace::kUnknownTime);
  EXPECT_EQ(read.lost(trace::Loss::kInvalidDeviceTimes), 1u);
}

TEST(NsysReader, TakesIdsOutOfRangeAsUnknown) {
  const ReadExport read = read_sql(one_call() + row(kMemcpy, with(work(1, 5, 9), {{"bytes", "8"},
                                                                                  {"copyKind", "1"},
                                                                                  {"deviceId", "-1"},
                                                                                  {"streamId", "99999999999"},
                                                                                  {"copyCount", "0"}})));
  ASSERT_EQ(read.records.at(0).copies.size(), 1u);
  EXPECT_EQ(read.records[0].copies[0].device, trace::kUnknownId);
  EXPECT_EQ(read.records[0].copies[0].stream, trace::kUnknownId);
  EXPECT_EQ(read.records[0].copies[0].copy_count, 1u);
}

TEST(NsysReader, ReadsWithOnlyOneTable) {
  const ReadExport read = read_sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, globalPid INTEGER, bytes INTEGER, copyKind "
      "INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,2," +
      number(kProcess) + ",8,1);");
  ASSERT_EQ(read.records.at(0).copies.size(), 1u) << read.error;
  EXPECT_EQ(read.records[0].copies[0].device, trace::kUnknownId);
}

TEST(NsysReader, KeepsCallsWhoseNameIsNotThere) {
  const ReadExport read = read_sql(one_call() + row(kRuntime, call(404, 2, 30, 40)));
  ASSERT_EQ(read.records.at(0).calls.size(), 2u);
  EXPECT_EQ(read.text(read.records[0].calls[1].name), "");
}

TEST(NsysReader, ReadsNamesThatHaveNoKey) {
  const ReadExport read = read_sql(
      "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1,'cudaMemcpy_v3020'),('x','y');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," +
      number(kThread) + ",1);");
  EXPECT_EQ(read.text(read.records.at(0).calls.at(0).name), "cudaMemcpy");
}

TEST(NsysReader, RunsNoViewInPlaceOfATable) {
  const ReadExport read = read_sql(one_call() +
                                   "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"
                                   "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 "
                                   "UNION ALL SELECT start + 1 FROM n) "
                                   "SELECT start, start AS end, 0 AS deviceId, " +
                                   number(kProcess) + " AS globalPid FROM n;");
  ASSERT_EQ(read.processes.size(), 1u) << read.error;
  EXPECT_TRUE(read.records[0].kernels.empty());
}

TEST(NsysReader, RunsNoGeneratedColumns) {
  const ReadExport read = read_sql(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, globalPid INTEGER, bytes INTEGER, copyKind "
      "INTEGER,"
      " deviceId INTEGER AS (start + 41), streamId INTEGER AS (start + 6) STORED);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,2," +
      number(kProcess) + ",8,1);");
  ASSERT_EQ(read.records.at(0).copies.size(), 1u) << read.error;
  EXPECT_EQ(read.records[0].copies[0].device, trace::kUnknownId);
  EXPECT_EQ(read.records[0].copies[0].stream, trace::kUnknownId);
}

TEST(NsysReader, UsesNoVirtualTables) {
  const ReadExport read = read_sql(
      one_call() +
      "DROP TABLE NVTX_EVENTS; CREATE VIRTUAL TABLE NVTX_EVENTS USING fts3(start, end, eventType, globalTid, text);"
      "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, " +
      number(kThread) + ", 'x');");
  ASSERT_EQ(read.processes.size(), 1u) << read.error;
  EXPECT_TRUE(read.records[0].ranges.empty());
}

TEST(NsysReader, CutsAbsurdlyLongNames) {
  const ReadExport read = read_sql(
      one_call() + "INSERT INTO StringIds VALUES (2, printf('%.1000000c', 'x'));" + row(kRuntime, call(2, 2, 30, 40)) +
      "INSERT INTO StringIds VALUES (3, zeroblob(30000000));" + row(kRuntime, call(3, 3, 50, 60)));
  ASSERT_EQ(read.records.at(0).calls.size(), 3u);
  EXPECT_LT(read.text(read.records[0].calls[1].name).size(), 100'000u);
  EXPECT_EQ(read.text(read.records[0].calls[2].name), "");
}

TEST(NsysReader, ExplainsWhatIsNoExport) {
  const TemporaryFolder folder;
  write_bytes(folder / "no.sqlite", "SQLite format 3\0 and no more");
  EXPECT_THAT(read_export(folder / "no.sqlite").error, HasSubstr("no.sqlite"));
  write_bytes(folder / "text.sqlite", std::string(5000, 'x'));
  EXPECT_THAT(read_export(folder / "text.sqlite").error, HasSubstr("nsys export"));
  EXPECT_THAT(read_export(folder / "missing.sqlite").error, HasSubstr("missing.sqlite"));
  EXPECT_THAT(read_sql("CREATE TABLE bookmarks (url TEXT);").error, HasSubstr("no export of Nsight Systems"));
  EXPECT_THAT(read_sql(tables_of(Schema::k3_25)).error, HasSubstr("--trace=cuda"));
}

TEST(NsysReader, ExplainsATruncatedFile) {
  const TemporaryFolder folder;
  std::string sql = one_call() + "BEGIN;";
  for (int i = 2; i < 3000; ++i) sql += row(kRuntime, call(1, i, i, i + 1));
  write_database(folder / "whole.sqlite", sql + "COMMIT;");
  const std::string bytes = read_bytes(folder / "whole.sqlite");
  for (const std::size_t kept : {bytes.size() - 4096, bytes.size() / 2, std::size_t{4096}, std::size_t{100}}) {
    write_bytes(folder / "cut.sqlite", bytes.substr(0, kept));
    EXPECT_THAT(read_export(folder / "cut.sqlite").error, HasSubstr("cut off")) << kept;
  }
}

TEST(NsysReader, CountsTheEndOfAPageThatIsMissing) {
  const TemporaryFolder folder;
  write_database(folder / "whole.sqlite", one_call());
  const std::string bytes = read_bytes(folder / "whole.sqlite");
  write_bytes(folder / "cut.sqlite", bytes.substr(0, bytes.size() - 3));
  EXPECT_EQ(read_export(folder / "cut.sqlite").lost(trace::Loss::kDamagedBytes), 3u);
}

// Every page but the first, one after the other, is overwritten: what stands before it is kept.
TEST(NsysReader, KeepsWhatStandsBeforeDamage) {
  const TemporaryFolder folder;
  std::string sql = one_call() + "BEGIN;";
  for (int i = 2; i < 2000; ++i) sql += row(kRuntime, call(1, i, i, i + 1));
  write_database(folder / "whole.sqlite", sql + "COMMIT;");
  const std::string whole = read_bytes(folder / "whole.sqlite");
  constexpr std::size_t kPageBytes = 4096;
  bool was_kept_in_part = false;
  bool was_counted = false;
  for (std::size_t page = 1; page < whole.size() / kPageBytes; ++page) {
    std::string bytes = whole;
    bytes.replace(page * kPageBytes, kPageBytes, kPageBytes, '\x7f');
    write_bytes(folder / "damaged.sqlite", bytes);
    const ReadExport read = read_export(folder / "damaged.sqlite");
    if (read.processes.empty()) continue;
    const std::size_t calls = read.records[0].calls.size();
    if (calls == 1999 || calls == 0) continue;
    was_kept_in_part = true;
    const std::uint64_t lost = read.lost(trace::Loss::kUnreadableEvent);
    EXPECT_GE(lost, 1u);
    EXPECT_LE(calls + lost, 1999u) << "page " << page;
    was_counted = was_counted || calls + lost == 1999;
  }
  EXPECT_TRUE(was_kept_in_part);
  EXPECT_TRUE(was_counted) << "damage before the last rows leaves their number";
}

// An interior page whose children are all the same page gives the same rows again: a bomb when it is nested.
TEST(NsysReader, StopsWherePagesGoInCircles) {
  const TemporaryFolder folder;
  std::string sql = one_call() + "BEGIN;";
  for (int i = 2; i < 5000; ++i) sql += row(kRuntime, call(1, i, i, i + 1));
  write_database(folder / "a.sqlite", sql + "COMMIT;");
  const auto root_page = static_cast<std::size_t>(number_in_database(
      folder / "a.sqlite", "SELECT rootpage FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_RUNTIME'"));
  std::string bytes = read_bytes(folder / "a.sqlite");
  const std::size_t page = (root_page - 1) * 4096;
  ASSERT_EQ(bytes[page], 5) << "the root is an interior page of a table";
  const auto at = [&](std::size_t offset) { return static_cast<unsigned char>(bytes[page + offset]); };
  const std::size_t cells = at(3) << 8 | at(4);
  ASSERT_GT(cells, 3u);
  const auto cell = [&](std::size_t i) { return page + (at(12 + 2 * i) << 8 | at(13 + 2 * i)); };
  for (std::size_t i = 1; i < cells; ++i) bytes.replace(cell(i), 4, bytes, cell(0), 4);
  write_bytes(folder / "circle.sqlite", bytes);
  const ReadExport read = read_export(folder / "circle.sqlite");
  ASSERT_EQ(read.processes.size(), 1u) << read.error;
  EXPECT_LT(read.records[0].calls.size(), 5000u / cells * 2);
  EXPECT_GE(read.lost(trace::Loss::kUnreadableEvent), 1u);
}

TEST(NsysReader, WritesNothingBesideTheFile) {
  const TemporaryFolder folder;
  // A database in WAL mode, which is opened by making two more files: not here.
  write_database(folder / "odd name 100%?#.sqlite", "PRAGMA journal_mode=WAL;" + one_call());
  std::filesystem::permissions(folder / "odd name 100%?#.sqlite", std::filesystem::perms::owner_read);
  const std::string before = read_bytes(folder / "odd name 100%?#.sqlite");
  EXPECT_EQ(read_export(folder / "odd name 100%?#.sqlite").processes.size(), 1u);
  EXPECT_EQ(read_bytes(folder / "odd name 100%?#.sqlite"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(SqliteFile, SeesTablesOnly) {
  const TemporaryFolder folder;
  write_database(folder / "a.sqlite",
                 "CREATE TABLE t (a INTEGER); CREATE VIEW v AS SELECT a FROM t; CREATE INDEX i ON t (a);"
                 "INSERT INTO t VALUES (1), (2);");
  auto file = SqliteFile::open(folder / "a.sqlite");
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(file->has_table("t"));
  EXPECT_FALSE(file->has_table("v"));
  EXPECT_FALSE(file->has_table("i"));
  EXPECT_EQ(file->about_row_count("t"), 2u);
  EXPECT_EQ(file->about_row_count("v"), 0u);
  EXPECT_EQ(file->scan("v", {"a"}, 1, [](SqliteRow&) { FAIL(); }), ScanEnd::kAbsent);
  EXPECT_EQ(file->scan("t", {"b"}, 1, [](SqliteRow&) { FAIL(); }), ScanEnd::kAbsent);
  int rows = 0;
  EXPECT_EQ(file->scan("t", {"b"}, 0, [&](SqliteRow& row) { rows += row.integer(0) ? 100 : 1; }), ScanEnd::kComplete);
  EXPECT_EQ(rows, 2);
}

}  // namespace
}  // namespace turnpike::ingest
