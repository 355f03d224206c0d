#include "report/text/table.h"

#include <algorithm>
#include <numeric>

#include "report/text/text_width.h"

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

// Code is cut where the page ends; words go on below, as far in as they began.
void print_note(const std::string& text, Style style, Page& page) {
  if (style == Style::kCode) return page.line(text, style);
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  page.paragraph(text.substr(0, indent), text.substr(indent), style);
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

std::vector<std::size_t> Table::natural_widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(row.cells[i]));
  }
  return widths;
}

std::vector<std::size_t> Table::visible_columns(const std::vector<std::size_t>& natural, std::size_t page_width) const {
  std::vector<std::size_t> visible(columns_.size());
  std::iota(visible.begin(), visible.end(), std::size_t{0});
  const auto needed = [&] {
    std::size_t sum = kGap * (visible.size() - 1);
    for (const std::size_t i : visible) {
      sum += columns_[i].is_flexible ? std::min(natural[i], kMinFlexibleWidth) : natural[i];
    }
    return sum;
  };
  while (needed() > page_width) {
    const auto least = std::max_element(visible.begin(), visible.end(), [&](std::size_t a, std::size_t b) {
      return columns_[a].leaves_as < columns_[b].leaves_as;
    });
    if (columns_[*least].leaves_as == 0) break;
    visible.erase(least);
  }
  return visible;
}

std::vector<std::size_t> Table::widths(std::vector<std::size_t> natural, const std::vector<std::size_t>& visible,
                                       std::size_t page_width) const {
  std::size_t total = kGap * (visible.size() - 1);
  for (const std::size_t i : visible) total += natural[i];
  const auto narrow = [&](std::size_t i, std::size_t least) {
    const std::size_t excess = total > page_width ? total - page_width : 0;
    const std::size_t taken = std::min(excess, natural[i] > least ? natural[i] - least : 0);
    natural[i] -= taken;
    total -= taken;
  };
  for (const std::size_t i : visible) {
    if (columns_[i].is_flexible) narrow(i, kMinFlexibleWidth);
  }
  // Texts where numbers are usual: the widest gives way too.
  const auto widest = std::max_element(visible.begin(), visible.end(),
                                       [&](std::size_t a, std::size_t b) { return natural[a] < natural[b]; });
  narrow(*widest, kMinFlexibleWidth);
  return natural;
}

std::string Table::row_text(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                            const std::vector<std::size_t>& visible) const {
  std::string text;
  for (const std::size_t i : visible) {
    if (i != visible.front()) text.append(kGap, ' ');
    text += padded(shortened_middle(cells[i], widths[i]), widths[i], columns_[i].align);
  }
  return text;
}

void Table::print(Page& page) const {
  const std::vector<std::size_t> natural = natural_widths();
  const std::vector<std::size_t> visible = visible_columns(natural, page.width());
  const std::vector<std::size_t> column_widths = widths(natural, visible, page.width());
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  page.line(row_text(titles, column_widths, visible), Style::kNote);
  for (const Row& row : rows_) {
    page.line(row_text(row.cells, column_widths, visible));
    for (const std::size_t i : visible) {
      if (display_width(row.cells[i]) > column_widths[i]) page.paragraph(kNoteIndent, row.cells[i], Style::kNote);
    }
    for (const Note& note : row.notes) print_note(note.text, note.style, page);
  }
  if (visible.size() == columns_.size()) return;
  std::string missing;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::find(visible.begin(), visible.end(), i) != visible.end()) continue;
    missing += (missing.empty() ? "" : ", ") + columns_[i].title;
  }
  page.paragraph("  ", "no room for: " + missing, Style::kNote);
}

}  // namespace turnpike::report
