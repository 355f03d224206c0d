// Arrow's C interface: the structures as their readers see them, and who releases what.
#include "report/table/arrow_stream.h"

#include <gmock/gmock.h>

#include <cstring>
#include <span>
#include <string>

namespace turnpike::report::table {
namespace {

using ::testing::ElementsAre;

std::vector<Column> each_type() {
  return {{"text", ColumnType::kText},
          {"whole", ColumnType::kWhole},
          {"real", ColumnType::kReal},
          {"flag", ColumnType::kFlag},
          {"time", ColumnType::kTime}};
}

// Releases what a test was given.
template <typename Structure>
struct Owned : Structure {
  Owned() : Structure{} {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (this->release != nullptr) this->release(this);
  }
};

void write_row(Batch& batch, const char* text, std::int64_t value) {
  batch.text(std::string_view(text));
  batch.whole(value);
  batch.real(0.5);
  batch.flag(value % 2 == 0);
  batch.whole(value);
  batch.end_row();
}
void write_unknown_row(Batch& batch) {
  for (int i = 0; i < 5; ++i) batch.unknown();
  batch.end_row();
}

template <typename T>
std::span<const T> values_of(const ArrowArray& column, int buffer = 1) {
  return {static_cast<const T*>(column.buffers[buffer]), static_cast<std::size_t>(column.length)};
}
bool has_bit(const void* bits, std::size_t at) {
  return (static_cast<const std::uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}
std::vector<std::string> texts_of(const ArrowArray& column) {
  const auto* ends = static_cast<const std::int32_t*>(column.buffers[1]);
  const auto* bytes = static_cast<const char*>(column.buffers[2]);
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < column.length; ++i) texts.emplace_back(bytes + ends[i], bytes + ends[i + 1]);
  return texts;
}

TEST(ArrowSchema, NamesAndTypesTheColumns) {
  Owned<ArrowSchema> schema;
  export_schema(each_type(), Texts::kDictionary, &schema);
  EXPECT_STREQ(schema.format, "+s");
  ASSERT_EQ(schema.n_children, 5);
  const std::vector<std::string> formats = {"i", "l", "g", "b", "tsn:UTC"};
  const std::vector<Column> columns = each_type();
  for (std::size_t i = 0; i < 5; ++i) {
    const ArrowSchema& child = *schema.children[i];
    EXPECT_EQ(child.name, columns[i].name);
    EXPECT_EQ(child.format, formats[i]);
    EXPECT_EQ(child.flags, ARROW_FLAG_NULLABLE);
    EXPECT_EQ(child.dictionary != nullptr, i == 0);
  }
  EXPECT_STREQ(schema.children[0]->dictionary->format, "u");
}

TEST(ArrowSchema, HasPlainTextsOnDemand) {
  Owned<ArrowSchema> schema;
  export_schema(each_type(), Texts::kPlain, &schema);
  EXPECT_STREQ(schema.children[0]->format, "u");
  EXPECT_EQ(schema.children[0]->dictionary, nullptr);
}

TEST(ArrowSchema, KeepsNamesThatNeedEscapingElsewhere) {
  Owned<ArrowSchema> schema;
  export_schema({{"a \"b\", c\n", ColumnType::kWhole}, {"", ColumnType::kText}}, Texts::kDictionary, &schema);
  EXPECT_STREQ(schema.children[0]->name, "a \"b\", c\n");
  EXPECT_STREQ(schema.children[1]->name, "");
}

TEST(ArrowSchema, OfATableWithoutColumnsHasNone) {
  Owned<ArrowSchema> schema;
  export_schema({}, Texts::kDictionary, &schema);
  EXPECT_EQ(schema.n_children, 0);
}

TEST(ArrowSchema, IsMarkedWhenItIsReleased) {
  ArrowSchema schema{};
  export_schema(each_type(), Texts::kDictionary, &schema);
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
}

TEST(ArrowSchema, OutlivedByAChildThatWasMovedOut) {
  ArrowSchema schema{};
  export_schema(each_type(), Texts::kDictionary, &schema);
  Owned<ArrowSchema> moved;
  static_cast<ArrowSchema&>(moved) = *schema.children[0];
  schema.children[0]->release = nullptr;  // as Arrow says a move is marked
  schema.release(&schema);
  EXPECT_STREQ(moved.name, "text");
  EXPECT_STREQ(moved.dictionary->format, "u");
}

TEST(ArrowBatch, HasTheValuesOfEachType) {
  Batch batch(each_type());
  write_row(batch, "x", 1);
  write_row(batch, "y", 2);
  write_row(batch, "x", INT64_MIN);
  Owned<ArrowArray> array;
  export_batch(batch, Texts::kDictionary, &array);
  EXPECT_EQ(array.length, 3);
  EXPECT_EQ(array.null_count, 0);
  ASSERT_EQ(array.n_children, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(array.children[i]->length, 3);
    EXPECT_EQ(array.children[i]->n_buffers, 2);
    EXPECT_EQ(array.children[i]->buffers[0], nullptr) << "every value is known";
  }
  EXPECT_THAT(values_of<std::int32_t>(*array.children[0]), ElementsAre(0, 1, 0));
  EXPECT_THAT(texts_of(*array.children[0]->dictionary), ElementsAre("x", "y"));
  EXPECT_THAT(values_of<std::int64_t>(*array.children[1]), ElementsAre(1, 2, INT64_MIN));
  EXPECT_THAT(values_of<double>(*array.children[2]), ElementsAre(0.5, 0.5, 0.5));
  EXPECT_FALSE(has_bit(array.children[3]->buffers[1], 0));
  EXPECT_TRUE(has_bit(array.children[3]->buffers[1], 1));
  EXPECT_THAT(values_of<std::int64_t>(*array.children[4]), ElementsAre(1, 2, INT64_MIN));
}

TEST(ArrowBatch, MarksWhatIsNotKnown) {
  Batch batch(each_type());
  for (int i = 0; i < 9; ++i) i % 4 == 0 ? write_unknown_row(batch) : write_row(batch, "x", i);
  Owned<ArrowArray> array;
  export_batch(batch, Texts::kDictionary, &array);
  for (int i = 0; i < 5; ++i) {
    const ArrowArray& column = *array.children[i];
    EXPECT_EQ(column.null_count, 3);
    for (std::size_t row = 0; row < 9; ++row) EXPECT_EQ(has_bit(column.buffers[0], row), row % 4 != 0);
  }
  // The number of an unknown text is one that the dictionary has.
  EXPECT_THAT(values_of<std::int32_t>(*array.children[0]), ::testing::Each(0));
}

TEST(ArrowBatch, OfUnknownTextsAloneHasAnEmptyDictionary) {
  Batch batch({{"text", ColumnType::kText}});
  batch.unknown();
  batch.end_row();
  Owned<ArrowArray> array;
  export_batch(batch, Texts::kDictionary, &array);
  EXPECT_EQ(array.children[0]->dictionary->length, 0);
  EXPECT_EQ(array.children[0]->null_count, 1);
  EXPECT_THAT(values_of<std::int32_t>(*array.children[0]), ElementsAre(0));
}

TEST(ArrowBatch, HasPlainTextsOnDemand) {
  Batch batch({{"text", ColumnType::kText}});
  for (const char* text : {"x", "", "longer"}) {
    batch.text(std::string_view(text));
    batch.end_row();
  }
  batch.unknown();
  batch.end_row();
  Owned<ArrowArray> array;
  export_batch(batch, Texts::kPlain, &array);
  const ArrowArray& column = *array.children[0];
  EXPECT_EQ(column.n_buffers, 3);
  EXPECT_EQ(column.dictionary, nullptr);
  EXPECT_THAT(texts_of(column), ElementsAre("x", "", "longer", ""));
  EXPECT_EQ(column.null_count, 1);
  EXPECT_FALSE(has_bit(column.buffers[0], 3));
}

TEST(ArrowBatch, OfNoRowsIsWellFormed) {
  Batch batch(each_type());
  for (const Texts texts : {Texts::kDictionary, Texts::kPlain}) {
    Owned<ArrowArray> array;
    export_batch(batch, texts, &array);
    EXPECT_EQ(array.length, 0);
    ASSERT_EQ(array.n_children, 5);
    // A text column without rows has one end all the same.
    const ArrowArray& ends = texts == Texts::kPlain ? *array.children[0] : *array.children[0]->dictionary;
    ASSERT_NE(ends.buffers[1], nullptr);
    EXPECT_EQ(*static_cast<const std::int32_t*>(ends.buffers[1]), 0);
  }
}

TEST(ArrowBatch, IsACopy) {
  Batch batch(each_type());
  write_row(batch, "x", 1);
  Owned<ArrowArray> array;
  export_batch(batch, Texts::kDictionary, &array);
  batch.clear();
  write_row(batch, "y", 2);
  EXPECT_THAT(values_of<std::int64_t>(*array.children[1]), ElementsAre(1));
  EXPECT_THAT(texts_of(*array.children[0]->dictionary), ElementsAre("x"));
}

TEST(ArrowBatch, IsMarkedWhenItIsReleasedAndOutlivedByAMovedColumn) {
  Batch batch(each_type());
  write_row(batch, "x", 1);
  ArrowArray array{};
  export_batch(batch, Texts::kDictionary, &array);
  Owned<ArrowArray> moved;
  static_cast<ArrowArray&>(moved) = *array.children[0];
  array.children[0]->release = nullptr;
  array.release(&array);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_THAT(values_of<std::int32_t>(moved), ElementsAre(0));
  EXPECT_THAT(texts_of(*moved.dictionary), ElementsAre("x"));
}

}  // namespace
}  // namespace turnpike::report::table
