// A table of the document.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace turnpike::report::html {

// Who needs more rows has the page's own tables, or --json.
inline constexpr std::size_t kMaxTableRows = 100;

struct TableColumn {
  const char* title;
  bool is_number = false;
};

class HtmlTable {
 public:
  HtmlTable(const char* title, std::vector<TableColumn> columns, std::size_t max_rows = kMaxTableRows)
      : title_(title), columns_(std::move(columns)), max_rows_(max_rows) {}

  // Texts of the recording are escaped here and nowhere before.
  void add_row(const std::vector<std::string>& cells);
  // A line of code over the whole width, below the last row.
  void add_code(const std::string& line);
  // A section with the table and its hint; "" without rows.
  std::string html(const std::string& hint = "") const;

 private:
  const char* title_;
  std::vector<TableColumn> columns_;
  std::size_t max_rows_;
  std::string rows_;
  std::size_t count_ = 0;
};

}  // namespace turnpike::report::html
