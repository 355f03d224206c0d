#include "report/table.h"

#include <algorithm>
#include <numeric>

#include "report/text_width.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kGap = 2;
// The flexible column never gets narrower; a page too narrow for that cuts the line at its end.
constexpr std::size_t kMinFlexibleWidth = 12;
constexpr const char* kNoteIndent = "      ";

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t used = display_width(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return align == Align::kRight ? space + text : text + space;
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = cleaned(cell);
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), {}});
}

void Table::add_note(std::string text, Style style) {
  rows_.back().notes.push_back({std::move(text), style});
}

std::vector<std::size_t> Table::widths(std::size_t page_width) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(row.cells[i]));
  }
  const std::size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  for (std::size_t i = 0; i < widths.size() && total > page_width; ++i) {
    if (!columns_[i].is_flexible) continue;
    const std::size_t others = total - widths[i];
    widths[i] = std::min(widths[i], std::max(kMinFlexibleWidth, page_width > others ? page_width - others : 0));
  }
  return widths;
}

std::string Table::row_text(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text.append(kGap, ' ');
    text += padded(shortened_middle(cells[i], widths[i]), widths[i], columns_[i].align);
  }
  return text;
}

void Table::print(Page& page) const {
  const std::vector<std::size_t> column_widths = widths(page.width());
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  page.line(row_text(titles, column_widths), Style::kNote);
  for (const Row& row : rows_) {
    page.line(row_text(row.cells, column_widths));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (display_width(row.cells[i]) > column_widths[i]) page.line(kNoteIndent + row.cells[i], Style::kNote);
    }
    for (const Note& note : row.notes) page.line(note.text, note.style);
  }
}

}  // namespace turnpike::report
