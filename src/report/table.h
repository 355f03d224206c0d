// A table on a page: columns as wide as their content, one of which gives way when the page is too narrow.
#pragma once

#include <string>
#include <vector>

#include "report/page.h"

namespace turnpike::report {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
  // Shortened in the middle when there is no room; a note below the row then has the whole. At most one column of a
  // table.
  bool is_flexible = false;
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

  std::vector<std::size_t> widths(std::size_t page_width) const;
  std::string row_text(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace turnpike::report
