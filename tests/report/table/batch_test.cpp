// Rows by column.
#include "report/table/batch.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace turnpike::report::table {
namespace {

using ::testing::ElementsAre;

std::vector<Column> two_columns() {
  return {{"name", ColumnType::kText}, {"bytes", ColumnType::kWhole}};
}

TEST(TableBatch, GivesEachTextOneNumberInItsColumn) {
  Batch batch({{"a", ColumnType::kText}, {"b", ColumnType::kText}});
  for (const auto& [a, b] : {std::pair("x", "y"), std::pair("y", "y"), std::pair("x", "x"), std::pair("x", "")}) {
    batch.text(std::string_view(a));
    batch.text(std::string_view(b));
    batch.end_row();
  }
  EXPECT_THAT(batch.cells(0).values, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(batch.cells(0).texts.texts(), ElementsAre("x", "y"));
  EXPECT_THAT(batch.cells(1).values, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(batch.cells(1).texts.texts(), ElementsAre("y", "x", ""));
}

TEST(TableBatch, KeepsTheNumbersOfTextsWhenItsRowsAreForgotten) {
  Batch batch(two_columns());
  for (const char* name : {"x", "y"}) {
    batch.text(std::string_view(name));
    batch.unknown();
    batch.end_row();
  }
  batch.clear();
  EXPECT_EQ(batch.row_count(), 0u);
  EXPECT_EQ(batch.cells(1).unknown_count, 0u);
  for (const char* name : {"z", "y"}) {
    batch.text(std::string_view(name));
    batch.whole(5);
    batch.end_row();
  }
  EXPECT_THAT(batch.cells(0).values, ElementsAre(2, 1));
  EXPECT_THAT(batch.cells(0).texts.texts(), ElementsAre("x", "y", "z"));
  EXPECT_THAT(batch.cells(1).are_known, ElementsAre(1, 1));
}

TEST(TableBatch, CountsWhatIsNotKnown) {
  Batch batch(
      {{"a", ColumnType::kText}, {"b", ColumnType::kWhole}, {"c", ColumnType::kReal}, {"d", ColumnType::kText}});
  batch.text_if_any("");
  batch.whole(std::optional<std::int64_t>());
  batch.real(std::optional<double>());
  batch.text(std::optional<std::string>(""));  // empty and known
  batch.end_row();
  EXPECT_EQ(batch.cells(0).unknown_count, 1u);
  EXPECT_EQ(batch.cells(1).unknown_count, 1u);
  EXPECT_EQ(batch.cells(2).unknown_count, 1u);
  EXPECT_EQ(batch.cells(3).unknown_count, 0u);
  EXPECT_THAT(batch.cells(1).are_known, ElementsAre(0));
}

TEST(TableBatch, GrowsWithItsRowsAndKeepsThem) {
  constexpr std::int64_t kRows = 10'000;
  Batch batch(two_columns());
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      row % 3 == 0 ? batch.unknown() : batch.text(std::string_view("x"));
      batch.whole(row);
      batch.end_row();
    }
    ASSERT_EQ(batch.row_count(), static_cast<std::size_t>(kRows));
    const Cells names = batch.cells(0);
    const Cells numbers = batch.cells(1);
    EXPECT_EQ(names.unknown_count, 3334u);
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      ASSERT_EQ(names.are_known[at], row % 3 == 0 ? 0 : 1) << row;
      ASSERT_EQ(numbers.values[at], row);
    }
    batch.clear();
  }
}

TEST(TableBatch, HasRoomAgainAfterItsValuesWereTaken) {
  Batch batch(two_columns());
  for (const std::int64_t value : {7, 8}) {
    batch.unknown();
    batch.whole(value);
    batch.end_row();
    EXPECT_EQ(batch.take_values(1)[0], value);
    batch.clear();
  }
}

TEST(TableBatch, ReplacesWhatIsNoUtf8) {
  Batch batch({{"a", ColumnType::kText}});
  for (const std::string_view text : {"caf\xC3\xA9", "\xFF\xFE", "caf\xC3"}) {
    batch.text(text);
    batch.end_row();
  }
  EXPECT_THAT(batch.cells(0).texts.texts(), ElementsAre("caf\xC3\xA9", "\xEF\xBF\xBD\xEF\xBF\xBD", "caf\xEF\xBF\xBD"));
  // The same bytes again are the same text.
  for (int i = 0; i < 2; ++i) {
    batch.text(std::string_view("\xFF\xFE"));
    batch.end_row();
  }
  EXPECT_THAT(batch.cells(0).values, ElementsAre(0, 1, 2, 1, 1));
}

TEST(TableBatch, RefusesARowOfAnotherWidth) {
  Batch batch(two_columns());
  batch.unknown();
  EXPECT_THROW(batch.end_row(), std::logic_error);
}

}  // namespace
}  // namespace turnpike::report::table
