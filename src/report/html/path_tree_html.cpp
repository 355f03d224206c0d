#include "report/html/path_tree_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/units.h"
#include "report/html/escape.h"
#include "report/html/format.h"
#include "report/text/path_tree.h"

namespace turnpike::report::html {
namespace {

// Who needs more has `turnpike report --tree`. Browsers bear some 500 elements inside each other.
constexpr std::size_t kMaxTreeRows = 1000;
constexpr std::size_t kMaxDepth = 60;
constexpr std::size_t kMaxTextBytes = 300;
constexpr double kOpenPct = 10;

class Tree {
 public:
  explicit Tree(std::vector<PathRow> rows) : rows_(std::move(rows)) {
    for (PathRow& row : rows_) row.depth = std::min(row.depth, kMaxDepth);
  }

  std::string html() {
    const std::size_t shown = std::min(rows_.size(), kMaxTreeRows);
    for (std::size_t i = 0; i < shown; ++i) {
      close_down_to(rows_[i].depth);
      add(rows_[i], i + 1 < shown && rows_[i + 1].depth > rows_[i].depth);
    }
    close_down_to(0);
    std::string html = "<ul class=\"tree\">\n" + html_ + "</ul>\n";
    if (shown < rows_.size()) html += fmt::format("<p class=\"hint\">and {} more</p>\n", rows_.size() - shown);
    return html;
  }

 private:
  void add(const PathRow& row, bool has_below) {
    const std::string words = fmt::format("<b>{}</b> <i>{}</i> {}", duration_text(row.cost_ns),
                                          percent_text(row.share_pct), escaped(cut(row.text, kMaxTextBytes)));
    if (!has_below) {
      html_ += "<li>" + words + "</li>\n";
      return;
    }
    const bool is_open = row.share_pct.value_or(0) >= kOpenPct;
    fmt::format_to(std::back_inserter(html_), "<li><details{}><summary>{}</summary><ul>\n", is_open ? " open" : "",
                   words);
    open_depths_.push_back(row.depth);
  }

  // Ends what does not hold a row of this depth.
  void close_down_to(std::size_t depth) {
    while (!open_depths_.empty() && open_depths_.back() >= depth) {
      html_ += "</ul></details></li>\n";
      open_depths_.pop_back();
    }
  }

  std::vector<PathRow> rows_;
  std::vector<std::size_t> open_depths_;
  std::string html_;
};

}  // namespace

std::string path_tree_html(const analyze::CallPaths& paths) {
  if (path_cost_of_all(paths) == 0) return "";
  return fmt::format(
      "<section id=\"{}\"><h2>Call paths</h2>\n<p class=\"hint\">The ways to the transfers and waits, "
      "through libraries too; {}.</p>\n{}</section>\n",
      kPathsId, kPathCostNote, Tree(path_rows(paths)).html());
}

}  // namespace turnpike::report::html
