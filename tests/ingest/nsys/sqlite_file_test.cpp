// Tables, keys and values as SqliteFile gives them.
#include "ingest/nsys/sqlite_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "ingest/nsys_database.h"

namespace turnpike::ingest {
namespace {

using testing::ElementsAre;

class SqliteFileTest : public testing::Test {
 protected:
  SqliteFile file_of(const std::string& sql) {
    write_database(folder_ / "a.sqlite", sql);
    auto file = SqliteFile::open(folder_ / "a.sqlite");
    EXPECT_TRUE(file.has_value());
    return std::move(*file);
  }
  TemporaryFolder folder_;
};

TEST_F(SqliteFileTest, TellsWhatIsTheWholeKeyOfATable) {
  const SqliteFile file = file_of(
      "CREATE TABLE one (id INTEGER NOT NULL PRIMARY KEY, value TEXT);"
      "CREATE TABLE two (id INTEGER, depth INTEGER, PRIMARY KEY (id, depth));"
      "CREATE TABLE none (id INTEGER, value TEXT);");
  EXPECT_TRUE(file.is_primary_key("one", "id"));
  EXPECT_FALSE(file.is_primary_key("one", "value"));
  EXPECT_FALSE(file.is_primary_key("two", "id"));
  EXPECT_FALSE(file.is_primary_key("two", "depth"));
  EXPECT_FALSE(file.is_primary_key("none", "id"));
  EXPECT_FALSE(file.is_primary_key("missing", "id"));
}

TEST_F(SqliteFileTest, FindsTextsByTheirKey) {
  SqliteFile file = file_of(
      "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, value TEXT, other TEXT);"
      "INSERT INTO t VALUES (1,'one','uno'),(2,'two','due'),(3,NULL,'tre'),(4,x'00','quattro'),(5,'','');"
      "CREATE TABLE u (id INTEGER NOT NULL PRIMARY KEY, value TEXT); INSERT INTO u VALUES (1,'first');");
  EXPECT_EQ(file.text_by_key("t", "value", "id", 1), "one");
  EXPECT_EQ(file.text_by_key("t", "value", "id", 2), "two");
  EXPECT_EQ(file.text_by_key("t", "value", "id", 1), "one");
  EXPECT_EQ(file.text_by_key("u", "value", "id", 1), "first");
  EXPECT_EQ(file.text_by_key("t", "other", "id", 2), "due");
  EXPECT_EQ(file.text_by_key("t", "value", "id", 3), std::nullopt);
  EXPECT_EQ(file.text_by_key("t", "value", "id", 4), std::nullopt);
  EXPECT_EQ(file.text_by_key("t", "value", "id", 5), "");
  EXPECT_EQ(file.text_by_key("t", "value", "id", 6), std::nullopt);
  EXPECT_EQ(file.text_by_key("t", "none", "id", 1), std::nullopt);
}

TEST_F(SqliteFileTest, GivesValuesByColumnAndKeepsTheirTypes) {
  SqliteFile file = file_of(
      "CREATE TABLE t (a INTEGER, \"odd \"\" name\" TEXT, c INTEGER);"
      "INSERT INTO t VALUES (1,'one',10),(NULL,NULL,20),(2.5,'x',30),(3,x'00',40),('4','y',50);");
  std::vector<std::string> rows;
  const ScanEnd end = file.scan("t", {"c", "missing", "odd \" name", "a"}, 1, [&](SqliteRow& row) {
    const auto c = row.integer(0);
    const auto missing = row.integer(1);
    const auto text = row.text(2);
    const auto a = row.integer(3);
    rows.push_back(number(c.value_or(-1)) + (missing ? " there " : " ") + std::string(text.value_or("none")) + ' ' +
                   (a ? number(*a) : "none") + (row.is_readable() ? "" : " unreadable"));
  });
  EXPECT_EQ(end, ScanEnd::kComplete);
  EXPECT_THAT(rows, ElementsAre("10 one 1", "20 none none", "30 x none unreadable", "40 none 3 unreadable", "50 y 4"));
}

TEST_F(SqliteFileTest, NeedsColumnsUpToTheCount) {
  SqliteFile file = file_of("CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 2);");
  const auto scan = [&](std::size_t needed_count) {
    return file.scan("t", {"a", "x", "b"}, needed_count, [](SqliteRow& row) { EXPECT_EQ(row.integer(2), 2); });
  };
  EXPECT_EQ(scan(1), ScanEnd::kComplete);
  EXPECT_EQ(scan(2), ScanEnd::kAbsent);
  EXPECT_EQ(scan(3), ScanEnd::kAbsent);
}

TEST_F(SqliteFileTest, MakesARowUnreadableThatLacksWhatItNeeds) {
  SqliteFile file = file_of("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (NULL), (7);");
  std::vector<std::string> rows;
  file.scan("t", {"a"}, 1, [&](SqliteRow& row) {
    const std::int64_t value = row.needed_integer(0);
    rows.push_back(number(value) + (row.is_readable() ? "" : " unreadable"));
  });
  EXPECT_THAT(rows, ElementsAre("0 unreadable", "7"));
}

TEST_F(SqliteFileTest, CountsRowsByTheLast) {
  const SqliteFile file = file_of(
      "CREATE TABLE empty (a INTEGER); CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1),(2),(3);"
      "DELETE FROM t WHERE a = 1; CREATE TABLE low (a INTEGER PRIMARY KEY); INSERT INTO low VALUES (-5);");
  EXPECT_EQ(file.about_row_count("empty"), 0u);
  EXPECT_EQ(file.about_row_count("t"), 3u);
  EXPECT_EQ(file.about_row_count("low"), 0u);
  EXPECT_EQ(file.about_row_count("missing"), 0u);
}

// Of pages of any size, also the largest, whose size the header gives as 1.
TEST_F(SqliteFileTest, TellsHowManyBytesAreMissing) {
  for (const std::uint64_t page_bytes : {512u, 4096u, 32768u, 65536u}) {
    std::string sql = "PRAGMA page_size=" + number(static_cast<std::int64_t>(page_bytes)) +
                      "; CREATE TABLE t (a TEXT); INSERT INTO t VALUES (printf('%.70000c', 'x'));";
    const auto path = folder_ / (number(static_cast<std::int64_t>(page_bytes)) + ".sqlite");
    write_database(path, sql);
    const auto whole = SqliteFile::open(path);
    ASSERT_TRUE(whole.has_value()) << page_bytes;
    EXPECT_EQ(whole->missing_bytes(), 0u) << page_bytes;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 7);
    const auto cut = SqliteFile::open(path);
    ASSERT_TRUE(cut.has_value()) << page_bytes;
    EXPECT_EQ(cut->missing_bytes(), 7u) << page_bytes;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) + 7 + 100);
    EXPECT_EQ(SqliteFile::open(path)->missing_bytes(), 0u) << page_bytes;
  }
}

TEST_F(SqliteFileTest, OpensFilesOfAnyName) {
  for (const char* name : {"a%41.sqlite", "a?mode=rw", "a#b", "plain"}) {
    write_database(folder_ / "made", "CREATE TABLE t (a INTEGER);");
    std::filesystem::rename(folder_ / "made", folder_ / name);
    const auto file = SqliteFile::open(folder_ / name);
    ASSERT_TRUE(file.has_value()) << name;
    EXPECT_TRUE(file->has_table("t")) << name;
    EXPECT_FALSE(file->has_table("T2")) << name;
  }
}

}  // namespace
}  // namespace turnpike::ingest
