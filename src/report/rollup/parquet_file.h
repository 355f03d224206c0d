// Small tables as a file of Parquet: one row group, a page for each column, texts as dictionaries, gzip.
// The format: https://parquet.apache.org/docs/file-format/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::report::rollup {

// Columns are added one after the other, all with as many values; nullopt is null.
class ParquetFile {
 public:
  explicit ParquetFile(std::size_t row_count);

  void add_whole(std::string_view name, const std::vector<std::optional<std::int64_t>>& values);
  // Bytes that are no UTF-8 become U+FFFD.
  void add_text(std::string_view name, const std::vector<std::optional<std::string>>& values);
  // Lists of whole numbers, none of them empty.
  void add_lists(std::string_view name, const std::vector<std::optional<std::vector<std::int32_t>>>& lists);

  // The bytes of the file. `made_by`: the program and its version.
  std::string finish(std::string_view made_by);

 private:
  enum class Shape { kWhole, kText, kList };
  struct Column {
    std::string name;
    Shape shape;
    std::size_t value_count;
    std::int64_t offset;  // of the dictionary page, else of the data page
    std::int64_t data_offset;
    std::int64_t plain_bytes;
    std::int64_t packed_bytes;
  };
  struct Page {
    bool is_dictionary;
    std::size_t value_count;
    std::string bytes{};
  };

  void begin_column(std::string_view name, Shape shape, std::size_t value_count);
  void write_page(const Page& page);
  std::string footer(std::string_view made_by) const;

  std::size_t row_count_;
  std::vector<Column> columns_;
  std::string file_;
};

}  // namespace turnpike::report::rollup
