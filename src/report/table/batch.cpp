#include "report/table/batch.h"

#include <algorithm>
#include <stdexcept>

#include "base/utf8.h"

namespace turnpike::report::table {
namespace {

constexpr std::size_t kFirstCapacity = 1024;

// Texts of a recording may be any bytes; readers of Arrow rely on UTF-8.
std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    append_utf8(valid, point.is_valid ? point.value : U'\uFFFD');
    text.remove_prefix(point.bytes);
  }
  return valid;
}

}  // namespace

std::int32_t TextNumbers::of(std::string_view text) {
  if (latest_ < texts_.size() && texts_[latest_] == text) return static_cast<std::int32_t>(latest_);
  auto found = numbers_.find(text);
  if (found == numbers_.end()) {
    texts_.push_back(valid_utf8(text));
    found = numbers_.emplace(text, static_cast<std::int32_t>(texts_.size() - 1)).first;
  }
  latest_ = static_cast<std::size_t>(found->second);
  return found->second;
}

Batch::Batch(std::vector<Column> columns)
    : columns_(std::move(columns)), kept_(columns_.size()), capacity_(kFirstCapacity) {
  for (Kept& kept : kept_) {
    kept.values = std::make_unique_for_overwrite<std::int64_t[]>(capacity_);
    kept.are_known.assign(capacity_, 1);
  }
}

Cells Batch::cells(std::size_t column) const {
  const Kept& kept = kept_[column];
  return {.values = {kept.values.get(), row_count_},
          .are_known = std::span(kept.are_known).first(row_count_),
          .unknown_count = kept.unknown_count,
          .texts = kept.texts};
}

void Batch::clear() {
  for (Kept& kept : kept_) {
    if (kept.values == nullptr) kept.values = std::make_unique_for_overwrite<std::int64_t[]>(capacity_);
    if (kept.unknown_count > 0) std::fill_n(kept.are_known.begin(), row_count_, std::uint8_t{1});
    kept.unknown_count = 0;
  }
  next_ = 0;
  row_count_ = 0;
}

void Batch::end_row() {
  if (next_ != columns_.size()) throw std::logic_error("a row of a table has another number of cells than columns");
  next_ = 0;
  if (++row_count_ == capacity_) grow();
}

void Batch::grow() {
  const std::size_t capacity = 4 * capacity_;
  for (Kept& kept : kept_) {
    auto values = std::make_unique_for_overwrite<std::int64_t[]>(capacity);
    std::copy_n(kept.values.get(), row_count_, values.get());
    kept.values = std::move(values);
    kept.are_known.resize(capacity, 1);
  }
  capacity_ = capacity;
}

}  // namespace turnpike::report::table
