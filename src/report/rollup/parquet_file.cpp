#include "report/rollup/parquet_file.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "report/rollup/compact_writer.h"
#include "report/table/batch.h"

namespace turnpike::report::rollup {
namespace {

constexpr std::string_view kMagic = "PAR1";

// Numbers of parquet.thrift.
enum Type : int { kInt32 = 1, kInt64 = 2, kByteArray = 6 };
enum Repetition : int { kRequired = 0, kOptional = 1, kRepeated = 2 };
enum ConvertedType : int { kUtf8 = 0, kListOf = 3 };
enum Encoding : int { kPlain = 0, kRunLength = 3, kDictionary = 8 };
enum PageType : int { kDataPage = 0, kDictionaryPage = 2 };
constexpr int kGzip = 2;

template <typename Number>
void append_number(std::string& bytes, Number value) {
  static_assert(std::endian::native == std::endian::little);
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

// Small numbers as runs of equal ones, as Parquet's hybrid encoding allows.
class Runs {
 public:
  explicit Runs(unsigned bits) : value_bytes_((bits + 7) / 8) {}

  void add(std::uint32_t value, std::uint64_t count = 1) {
    if (count_ != 0 && value != value_) end_run();
    value_ = value;
    count_ += count;
  }
  std::string take() {
    end_run();
    return std::exchange(bytes_, {});
  }
  // As levels stand before the values of a page.
  std::string take_with_size() {
    const std::string runs = take();
    std::string bytes;
    append_number(bytes, static_cast<std::uint32_t>(runs.size()));
    return bytes + runs;
  }

 private:
  void end_run() {
    if (count_ == 0) return;
    append_varint(bytes_, count_ << 1);
    for (unsigned i = 0; i < value_bytes_; ++i) bytes_ += static_cast<char>(value_ >> (8 * i));
    count_ = 0;
  }

  unsigned value_bytes_;
  std::uint32_t value_ = 0;
  std::uint64_t count_ = 0;
  std::string bytes_;
};

// Levels of a column that may hold null.
template <typename Value>
std::string levels_of(const std::vector<std::optional<Value>>& values) {
  Runs levels(1);
  for (const auto& value : values) levels.add(value ? 1 : 0);
  return levels.take_with_size();
}

std::string gzipped(const std::string& bytes) {
  constexpr int kGzipWindow = 15 + 16;
  constexpr int kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int outcome = deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) throw std::length_error("a page of a roll-up is larger than its bound");
  return packed;
}

}  // namespace

ParquetFile::ParquetFile(std::size_t row_count) : row_count_(row_count), file_(kMagic) {}

void ParquetFile::begin_column(std::string_view name, Shape shape, std::size_t value_count) {
  const auto offset = static_cast<std::int64_t>(file_.size());
  columns_.push_back({std::string(name), shape, value_count, offset, offset, 0, 0});
}

void ParquetFile::write_page(const Page& page) {
  const std::string packed = gzipped(page.bytes);
  CompactWriter header;
  header.number32(1, page.is_dictionary ? kDictionaryPage : kDataPage);
  header.number32(2, static_cast<std::int64_t>(page.bytes.size()));
  header.number32(3, static_cast<std::int64_t>(packed.size()));
  Column& column = columns_.back();
  const int encoding = column.shape == Shape::kText && !page.is_dictionary ? kDictionary : kPlain;
  header.begin_struct(page.is_dictionary ? 7 : 5);
  header.number32(1, static_cast<std::int64_t>(page.value_count));
  header.number32(2, encoding);
  if (!page.is_dictionary) {
    header.number32(3, kRunLength);
    header.number32(4, kRunLength);
  }
  header.end_struct();
  const std::string head = header.take();
  if (!page.is_dictionary) column.data_offset = static_cast<std::int64_t>(file_.size());
  file_ += head;
  file_ += packed;
  column.plain_bytes += static_cast<std::int64_t>(head.size() + page.bytes.size());
  column.packed_bytes += static_cast<std::int64_t>(head.size() + packed.size());
}

void ParquetFile::add_whole(std::string_view name, const std::vector<std::optional<std::int64_t>>& values) {
  begin_column(name, Shape::kWhole, values.size());
  Page page{.is_dictionary = false, .value_count = values.size(), .bytes = levels_of(values)};
  for (const auto& value : values) {
    if (value) append_number(page.bytes, *value);
  }
  write_page(page);
}

void ParquetFile::add_text(std::string_view name, const std::vector<std::optional<std::string>>& values) {
  begin_column(name, Shape::kText, values.size());
  table::TextNumbers numbers;
  std::vector<std::uint32_t> chosen;
  for (const auto& value : values) {
    if (value) chosen.push_back(static_cast<std::uint32_t>(numbers.of(*value)));
  }
  Page dictionary{.is_dictionary = true, .value_count = numbers.texts().size()};
  for (const std::string& text : numbers.texts()) {
    append_number(dictionary.bytes, static_cast<std::uint32_t>(text.size()));
    dictionary.bytes += text;
  }
  write_page(dictionary);
  const auto bits = std::max(1u, static_cast<unsigned>(std::bit_width(numbers.texts().size())));
  Page page{.is_dictionary = false, .value_count = values.size(), .bytes = levels_of(values)};
  page.bytes += static_cast<char>(bits);
  Runs runs(bits);
  for (const std::uint32_t number : chosen) runs.add(number);
  page.bytes += runs.take();
  write_page(page);
}

void ParquetFile::add_lists(std::string_view name, const std::vector<std::optional<std::vector<std::int32_t>>>& lists) {
  // Levels: a list begins where the repetition is 0; defined 0 is a null list, 2 an element.
  Runs repetitions(1);
  Runs definitions(2);
  std::string values;
  std::size_t count = 0;
  for (const auto& list : lists) {
    repetitions.add(0);
    if (!list) {
      definitions.add(0);
      ++count;
      continue;
    }
    repetitions.add(1, list->size() - 1);
    definitions.add(2, list->size());
    for (const std::int32_t value : *list) append_number(values, value);
    count += list->size();
  }
  begin_column(name, Shape::kList, count);
  write_page({.is_dictionary = false,
              .value_count = count,
              .bytes = repetitions.take_with_size() + definitions.take_with_size() + values});
}

std::string ParquetFile::footer(std::string_view made_by) const {
  CompactWriter writer;
  const auto element = [&](int type, int repetition, std::string_view name, int children, int converted) {
    writer.begin_element();
    if (type >= 0) writer.number32(1, type);
    if (repetition >= 0) writer.number32(3, repetition);
    writer.text(4, name);
    if (children > 0) writer.number32(5, children);
    if (converted >= 0) writer.number32(6, converted);
    writer.end_struct();
  };
  std::size_t element_count = 1;
  for (const Column& column : columns_) element_count += column.shape == Shape::kList ? 3 : 1;
  writer.number32(1, 1);
  writer.begin_structs(2, element_count);
  element(-1, -1, "schema", static_cast<int>(columns_.size()), -1);
  for (const Column& column : columns_) {
    if (column.shape == Shape::kWhole) element(kInt64, kOptional, column.name, 0, -1);
    if (column.shape == Shape::kText) element(kByteArray, kOptional, column.name, 0, kUtf8);
    if (column.shape != Shape::kList) continue;
    element(-1, kOptional, column.name, 1, kListOf);
    element(-1, kRepeated, "list", 1, -1);
    element(kInt32, kRequired, "element", 0, -1);
  }
  writer.number64(3, static_cast<std::int64_t>(row_count_));
  writer.begin_structs(4, 1);
  writer.begin_element();
  writer.begin_structs(1, columns_.size());
  std::int64_t plain_bytes = 0;
  for (const Column& column : columns_) {
    plain_bytes += column.plain_bytes;
    const bool is_text = column.shape == Shape::kText;
    const bool is_list = column.shape == Shape::kList;
    writer.begin_element();
    writer.number64(2, column.offset);
    writer.begin_struct(3);
    writer.number32(1, is_list ? kInt32 : is_text ? kByteArray : kInt64);
    writer.numbers32(2, is_text ? std::vector<std::int64_t>{kPlain, kRunLength, kDictionary}
                                : std::vector<std::int64_t>{kPlain, kRunLength});
    writer.texts(3, is_list ? std::vector<std::string_view>{column.name, "list", "element"}
                            : std::vector<std::string_view>{column.name});
    writer.number32(4, kGzip);
    writer.number64(5, static_cast<std::int64_t>(column.value_count));
    writer.number64(6, column.plain_bytes);
    writer.number64(7, column.packed_bytes);
    writer.number64(9, column.data_offset);
    if (is_text) writer.number64(11, column.offset);
    writer.end_struct();
    writer.end_struct();
  }
  writer.number64(2, plain_bytes);
  writer.number64(3, static_cast<std::int64_t>(row_count_));
  writer.end_struct();
  writer.text(6, made_by);
  return writer.take();
}

std::string ParquetFile::finish(std::string_view made_by) {
  const std::string end = footer(made_by);
  file_ += end;
  append_number(file_, static_cast<std::uint32_t>(end.size()));
  file_ += kMagic;
  return std::exchange(file_, {});
}

}  // namespace turnpike::report::rollup
