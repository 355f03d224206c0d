#include "report/html/html_table.h"

#include <fmt/format.h>

#include <iterator>

#include "base/text.h"
#include "report/html/escape.h"

namespace turnpike::report::html {
void HtmlTable::add_row(const std::vector<std::string>& cells) {
  ++count_;
  if (count_ > max_rows_) return;
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    rows_ += columns_[i].is_number ? "<td class=\"number\">" : "<td>";
    rows_ += escaped(cells[i]) + "</td>";
  }
  rows_ += "</tr>\n";
}

void HtmlTable::add_code(const std::string& line) {
  if (count_ > max_rows_) return;
  fmt::format_to(std::back_inserter(rows_), "<tr><td class=\"code\" colspan=\"{}\"><code>{}</code></td></tr>\n",
                 columns_.size(), escaped_code(line));
}

std::string HtmlTable::html(const std::string& hint) const {
  if (count_ == 0) return "";
  std::string head;
  for (const TableColumn& column : columns_) {
    head += fmt::format("<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"number\"" : "", column.title);
  }
  std::string html = fmt::format("<section><h2>{}</h2>\n", title_);
  if (!hint.empty()) html += "<p class=\"hint\">" + escaped(hint) + "</p>\n";
  html += fmt::format("<table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table>\n", head, rows_);
  if (count_ > max_rows_) html += fmt::format("<p class=\"hint\">and {} more</p>\n", count_ - max_rows_);
  return html + "</section>\n";
}

}  // namespace turnpike::report::html
