// Tables as CSV.
#include "report/table/csv.h"

#include <gtest/gtest.h>

namespace turnpike::report::table {
namespace {

std::string csv_of(const std::string& text) {
  Batch batch({{"a", ColumnType::kText}, {"b", ColumnType::kWhole}});
  batch.text(std::string_view(text));
  batch.whole(-1);
  batch.end_row();
  return csv_rows(batch);
}

TEST(Csv, QuotesWhatWouldEndACell) {
  EXPECT_EQ(csv_of("plain text"), "plain text,-1\n");
  EXPECT_EQ(csv_of("a,b"), "\"a,b\",-1\n");
  EXPECT_EQ(csv_of("say \"hi\""), "\"say \"\"hi\"\"\",-1\n");
  EXPECT_EQ(csv_of("two\nlines"), "\"two\nlines\",-1\n");
  EXPECT_EQ(csv_of("two\rlines"), "\"two\rlines\",-1\n");
}

TEST(Csv, NoTextIsAFormula) {
  EXPECT_EQ(csv_of("=1+1"), "'=1+1,-1\n");
  EXPECT_EQ(csv_of("+1"), "'+1,-1\n");
  EXPECT_EQ(csv_of("-1"), "'-1,-1\n") << "a text that looks like a number";
  EXPECT_EQ(csv_of("@a,b"), "\"'@a,b\",-1\n");
  EXPECT_EQ(csv_of("\tx"), "\"'\tx\",-1\n");
  EXPECT_EQ(csv_of("\rx"), "\"'\rx\",-1\n");
  EXPECT_EQ(csv_of("a=b"), "a=b,-1\n");
}

TEST(Csv, NoTextIsAFormulaBehindBlanksOrInFullWidth) {
  EXPECT_EQ(csv_of(" =1"), "' =1,-1\n");
  EXPECT_EQ(csv_of("\n=1"), "\"'\n=1\",-1\n");
  EXPECT_EQ(csv_of("\xc2\xa0 @a"), "'\xc2\xa0 @a,-1\n");
  EXPECT_EQ(csv_of("\xe3\x80\x80-1"), "'\xe3\x80\x80-1,-1\n");
  for (const char* start : {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"})
    EXPECT_EQ(csv_of(std::string(start) + "1"), "'" + std::string(start) + "1,-1\n");
  EXPECT_EQ(csv_of(" a=b"), " a=b,-1\n");
}

TEST(Csv, QuotesWhatOtherSeparatorsWouldSplit) {
  EXPECT_EQ(csv_of("a;=1"), "\"a;=1\",-1\n");
  EXPECT_EQ(csv_of("a\t=1"), "\"a\t=1\",-1\n");
}

TEST(Csv, NoTextCommandsATerminal) {
  EXPECT_EQ(csv_of("a\x1b[2J\xc2\x9b"), "a\\x1b[2J\\x9b,-1\n");
  EXPECT_EQ(csv_of("=\x1b"), "'=\\x1b,-1\n");
}

TEST(Csv, TellsAnEmptyTextFromAnUnknownOne) {
  EXPECT_EQ(csv_of(""), "\"\",-1\n");
  Batch batch({{"a", ColumnType::kText}, {"b", ColumnType::kWhole}});
  batch.unknown();
  batch.unknown();
  batch.end_row();
  EXPECT_EQ(csv_rows(batch), ",\n");
}

TEST(Csv, NamesTheColumnsOfATableWithoutRows) {
  const std::vector<Column> columns = {{"start", ColumnType::kTime}, {"the \"name\"", ColumnType::kText}};
  EXPECT_EQ(csv_head(columns), "start,\"the \"\"name\"\"\"\n");
  EXPECT_EQ(csv_rows(Batch(columns)), "");
}

TEST(Csv, WritesEachTypeInFull) {
  Batch batch(
      {{"t", ColumnType::kTime}, {"f", ColumnType::kFlag}, {"f", ColumnType::kFlag}, {"w", ColumnType::kWhole}});
  batch.whole(1'795'335'300'123'456'789);
  batch.flag(true);
  batch.flag(false);
  batch.whole(INT64_MIN);
  batch.end_row();
  EXPECT_EQ(csv_rows(batch), "2026-11-22T08:15:00.123456789Z,true,false,-9223372036854775808\n");
}

}  // namespace
}  // namespace turnpike::report::table
