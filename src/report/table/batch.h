// Rows by column: what every output of a table is made from.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace turnpike::report::table {

enum class ColumnType {
  kText,
  kWhole,
  kReal,
  kFlag,
  kTime,  // nanoseconds since 1970, UTC
};

struct Column {
  std::string name;
  ColumnType type;
};

// The texts of a column, each once. It only grows: a text keeps its number over all batches of a table.
class TextNumbers {
 public:
  std::int32_t of(std::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
  std::size_t latest_ = 0;  // rows beside each other often have the same text
};

// The values of a column. A text is its number, a real its bits; what is not known has any value.
struct Cells {
  std::span<const std::int64_t> values;
  std::span<const std::uint8_t> are_known;  // 0 or 1: bytes are faster to write one by one than bits
  std::size_t unknown_count = 0;
  const TextNumbers& texts;
};

// Memory for values, whose first values are not set.
using Values = std::unique_ptr<std::int64_t[]>;

// A bounded number of rows, written from left to right.
class Batch {
 public:
  explicit Batch(std::vector<Column> columns);

  const std::vector<Column>& columns() const { return columns_; }
  // Valid until the next row.
  Cells cells(std::size_t column) const;
  // The values of a column for whoever keeps them: until clear() the column has none.
  Values take_values(std::size_t column) { return std::move(kept_[column].values); }
  std::size_t row_count() const { return row_count_; }
  // Forgets the rows and keeps the numbers of texts.
  void clear();

  void unknown() { add(0, false); }
  void whole(std::int64_t value) { add(value, true); }
  void whole(std::optional<std::int64_t> value) { add(value.value_or(0), value.has_value()); }
  void real(std::optional<double> value) { add(std::bit_cast<std::int64_t>(value.value_or(0)), value.has_value()); }
  void flag(bool value) { add(value ? 1 : 0, true); }
  void text(std::string_view text) { number(number_of(next_, text)); }
  // "" is not known.
  void text_if_any(std::string_view name) { name.empty() ? unknown() : text(name); }
  void text(const std::optional<std::string>& name) { name ? text(std::string_view(*name)) : unknown(); }
  // A text by its number in this column.
  void number(std::int32_t number) { add(number, number >= 0); }
  std::int32_t number_of(std::size_t column, std::string_view text) { return kept_[column].texts.of(text); }
  // The column that is written next.
  std::size_t next_column() const { return next_; }
  // Every column has been written.
  void end_row();

 private:
  // Of a column. There is always room for one more row, so that a cell is one store: millions of rows have dozens.
  struct Kept {
    Values values;
    std::vector<std::uint8_t> are_known;  // 1 where nobody said otherwise
    std::size_t unknown_count = 0;
    TextNumbers texts;
  };

  [[gnu::always_inline]] void add(std::int64_t value, bool is_known) {
    Kept& kept = kept_[next_++];
    kept.values[row_count_] = value;
    if (is_known) return;
    kept.are_known[row_count_] = 0;
    ++kept.unknown_count;
  }
  void grow();

  std::vector<Column> columns_;
  std::vector<Kept> kept_;
  std::size_t capacity_;
  std::size_t next_ = 0;
  std::size_t row_count_ = 0;
};

}  // namespace turnpike::report::table
