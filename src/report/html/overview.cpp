#include "report/html/overview.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "report/html/escape.h"
#include "report/html/headline.h"
#include "report/html/patterns.h"
#include "report/html/program.h"
#include "report/html/static_report.h"
#include "report/html/static_tables.h"
#include "report/html/step_bar.h"
#include "report/html/step_picture.h"
#include "report/html/whole_figures.h"

namespace turnpike::report::html {
namespace {

// As many findings as the text report tells, and so few rows that the next cell is not far.
constexpr std::size_t kMaxFindings = 10;
constexpr std::size_t kMaxRows = 10;

// The page's style, of which nothing reaches beyond the <div>. light-dark() goes by color-scheme, which JupyterLab 4.3
// and later pass on; the other selectors are those of older ones, VS Code, Colab and documentation sites. The
// background comes with the text's colour: in a theme that is not known, both are those of the light one.
std::string scoped_style() {
  constexpr std::string_view kRoot = ":root{color-scheme:light dark;";
  std::string_view style = page_style();
  style.remove_prefix(kRoot.size());
  return fmt::format(
      ".turnpike-overview{{&{{{}}}"
      ".turnpike-overview{{color-scheme:inherit;background:var(--background);color:var(--text);padding:10px 14px;"
      "border-radius:6px;overflow-x:auto}}"
      ":is(body[data-jp-theme-light=false],body.vscode-dark,body.vscode-high-contrast:not(.vscode-high-contrast-light),"
      "html[theme=dark],[data-theme=dark]) .turnpike-overview{{color-scheme:dark}}"
      "body.vscode-light .turnpike-overview{{color-scheme:light}}",
      style);
}

std::string page_html(const WrittenPage& page) {
  if (page.path.empty()) {
    return "<p>The whole report, with its timeline, in a file for browsers: "
           "<code>.to_html(&quot;report.html&quot;)</code> of this object.</p>\n";
  }
  return fmt::format("<p>The whole report, with its timeline: <a href=\"{}\" target=\"_blank\">{}</a></p>\n",
                     escaped_whole(page.address), escaped(page.path));
}

// Parts of the document as far as they fit.
class Fragment {
 public:
  // `name`: what the part is called where it is left out.
  void add(std::string_view name, std::string_view html) {
    const std::string part = with_whole_figures(html);
    constexpr std::size_t kRoomForEnd = 2000;
    if (html_.size() + part.size() + kRoomForEnd <= kMaxOverviewBytes) {
      html_ += part;
    } else {
      left_out_ += (left_out_.empty() ? "" : ", ") + std::string(name);
    }
  }
  // What is short and always there.
  void add(std::string_view markup) { html_ += markup; }

  std::string done() && {
    if (!left_out_.empty()) html_ += "<p class=\"missing\">Too large for a notebook: " + left_out_ + ".</p>\n";
    return std::move(html_);
  }

 private:
  std::string html_;
  std::string left_out_;
};

void add_findings_and_lines(const analyze::Report& report, const WrittenPage& page, Fragment& fragment) {
  const std::string headline = headline_of(report);
  const std::string details = details_of(report);
  const std::vector<std::string> missing = missing_of(report);
  const LineChanges no_changes(report.findings.size());
  const std::vector<Excerpt> no_excerpts;
  const std::string no_source = "The whole report shows their code.";
  const std::string no_picture;
  const StaticReport document{.report = report,
                              .headline = headline,
                              .details = details,
                              .missing = missing,
                              .changes = no_changes,
                              .excerpts = no_excerpts,
                              .no_source = no_source,
                              .picture = no_picture};
  fragment.add("the verdict", verdict_html(document));
  fragment.add("the bar of a step", bar_of_step(report, report.steps ? "A step" : "The run"));
  fragment.add("the link to the whole report", page_html(page));
  fragment.add("the findings", findings_html(document, kMaxFindings));
  fragment.add("the lines that cost time", source_html(document));
}

}  // namespace

std::string overview_html(const analyze::Report& report, const WrittenPage& page) {
  Fragment fragment;
  fragment.add("<div class=\"turnpike-overview\"><style>" + scoped_style() +
               "</style>\n<div id=\"tp-static\" class=\"document\">\n" + pattern_definitions());
  add_findings_and_lines(report, page, fragment);
  fragment.add("<details><summary>Transfers, waits and the run in tables</summary>\n");
  for (const std::string& table : table_parts(report, kMaxRows)) fragment.add("a table", table);
  fragment.add("</details>\n");
  return std::move(fragment).done() + "</div>\n</div>\n";
}

}  // namespace turnpike::report::html
