// A table on a page: columns as wide as their content. When the page is too narrow one gives way, then the least needed
// go.
#pragma once

#include <string>
#include <vector>

#include "report/text/page.h"

namespace turnpike::report {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
  // Shortened in the middle when there is no room; a note below the row then has the whole. At most one column of a
  // table.
  bool is_flexible = false;
  // 0: always there. Of the others, the highest goes first when there is no room for all; the table says which went.
  int leaves_as = 0;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void add_row(std::vector<std::string> cells);
  // A line of its own below the last row.
  void add_note(std::string text, Style style = Style::kNote);
  void print(Page& page) const;

 private:
  struct Note {
    std::string text;
    Style style;
  };
  struct Row {
    std::vector<std::string> cells;
    std::vector<Note> notes;
  };

  // As wide as the content needs.
  std::vector<std::size_t> natural_widths() const;
  // Those that there is room for, as indices, rising.
  std::vector<std::size_t> visible_columns(const std::vector<std::size_t>& natural, std::size_t page_width) const;
  // Of the visible columns; others stay as they are.
  std::vector<std::size_t> widths(std::vector<std::size_t> natural, const std::vector<std::size_t>& visible,
                                  std::size_t page_width) const;
  std::string row_text(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                       const std::vector<std::size_t>& visible) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace turnpike::report
