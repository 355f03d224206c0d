#include "report/table/batch.h"

#include <stdexcept>

#include "base/utf8.h"

namespace turnpike::report::table {
namespace {

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

void Batch::clear() {
  for (Cells& cells : cells_) {
    cells.values.clear();
    cells.are_known.clear();
    cells.unknown_count = 0;
  }
  next_ = 0;
  row_count_ = 0;
}

void Batch::end_row() {
  if (next_ != columns_.size()) throw std::logic_error("a row of a table has another number of cells than columns");
  next_ = 0;
  ++row_count_;
}

}  // namespace turnpike::report::table
