// What notebooks show: small, without script or source, and no name of a recording gets out of its place.
#include "report/html/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "base/shown_text.h"
#include "report/distinct_report.h"
#include "report/html/hostile.h"
#include "report/html/program.h"

namespace turnpike::report::html {
namespace {

using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::set<std::string> elements_of(const std::string& html) {
  std::set<std::string> names;
  const std::regex tag("<([A-Za-z!/][^\\s>]*)");
  for (auto found = std::sregex_iterator(html.begin(), html.end(), tag); found != std::sregex_iterator(); ++found) {
    names.insert((*found)[1]);
  }
  return names;
}

TEST(Overview, TellsVerdictFindingsAndTablesWithoutScript) {
  const analyze::Report report = distinct_report();
  const std::string html = overview_html(report, {});
  EXPECT_THAT(html, StartsWith("<div class=\"turnpike-overview\">"));
  EXPECT_THAT(html, EndsWith("</div>\n</div>\n"));
  EXPECT_THAT(html, HasSubstr("<h1>Your GPU is idle"));
  EXPECT_THAT(html, HasSubstr(report.findings.front().title));
  EXPECT_THAT(html, HasSubstr("<h2>Transfers by line</h2>"));
  EXPECT_THAT(html, Not(AnyOf(HasSubstr("<script"), HasSubstr("<iframe"), HasSubstr(" style="))));
}

TEST(Overview, NamesTheCallThatWritesThePageOrLinksIt) {
  const analyze::Report report = distinct_report();
  EXPECT_THAT(overview_html(report, {}), HasSubstr(".to_html(&quot;report.html&quot;)"));
  EXPECT_THAT(overview_html(report, {}), Not(HasSubstr("href=")));
  const std::string linked = overview_html(report, {.path = "/a/<b>.html", .address = "../a/%3Cb%3E.html"});
  EXPECT_THAT(linked, HasSubstr("<a href=\"../a/%3Cb%3E.html\" target=\"_blank\">/a/&lt;b&gt;.html</a>"));
  EXPECT_THAT(linked, Not(HasSubstr("to_html")));
}

TEST(Overview, StylesNothingBesidesItself) {
  const std::string html = overview_html(distinct_report(), {});
  const std::size_t from = html.find("<style>") + 7;
  const std::string style = html.substr(from, html.find("</style>") - from);
  std::size_t depth = 0;
  std::string selector;
  for (const char letter : style) {
    if (letter == '{' && depth++ == 0) {
      EXPECT_THAT(selector, AnyOf(StartsWith(".turnpike-overview"), EndsWith(" .turnpike-overview")));
      selector.clear();
    } else if (letter == '}') {
      ASSERT_GT(depth, 0u);
      --depth;
    } else if (depth == 0) {
      selector += letter;
    }
  }
  EXPECT_EQ(depth, 0u);
  EXPECT_EQ(selector, "");
  // The page follows the system; here that would be a dark report in a light notebook.
  EXPECT_THAT(std::string(page_style()), StartsWith(":root{color-scheme:light dark;--background"));
  EXPECT_THAT(style, HasSubstr(".turnpike-overview{&{--background"));
  EXPECT_THAT(style, Not(HasSubstr("color-scheme:light dark")));
}

TEST(Overview, ShowsTenRowsOfATableAndTenFindings) {
  analyze::Report report = distinct_report();
  report.sites.assign(23, report.sites.front());
  analyze::Finding finding = report.findings.front();
  finding.superseded_by.reset();
  report.findings.assign(12, finding);
  const std::string html = overview_html(report, {});
  EXPECT_THAT(html, HasSubstr("and 13 more"));
  EXPECT_THAT(html, HasSubstr("and 2 more"));
  EXPECT_EQ(count_of(html, "<article"), 10u);
}

TEST(Overview, LeavesOutWhatDoesNotFitAndSaysSo) {
  analyze::Report report = distinct_report();
  // Names are bounded; many that are long and to be escaped are too much all the same.
  analyze::Finding finding = report.findings.front();
  finding.superseded_by.reset();
  finding.site = finding.title = finding.evidence = finding.advice = std::string(kMaxShownBytes, '\x01');
  report.findings.assign(10, finding);
  const std::string html = overview_html(report, {});
  EXPECT_LE(html.size(), kMaxOverviewBytes);
  EXPECT_THAT(html, HasSubstr("Too large for a notebook: the findings."));
  EXPECT_THAT(html, HasSubstr("<h1>"));
  EXPECT_THAT(html, HasSubstr("<h2>Transfers by line</h2>"));
}

TEST(Overview, HostileNamesAddNoElement) {
  const auto known = elements_of(overview_html(distinct_report(), {.path = "p", .address = "a"}));
  for (const std::string& name : hostile_names()) {
    analyze::Report report = distinct_report();
    for (analyze::Finding& finding : report.findings) finding.site = finding.title = finding.advice = name;
    for (analyze::Site& site : report.sites) site.site = name;
    for (analyze::SyncSite& site : report.sync_sites) site.site = name;
    for (analyze::RangeVerdict& range : report.ranges) range.name = name;
    report.source.program = name;
    const std::string html = overview_html(report, {.path = name, .address = "a"});
    EXPECT_LE(html.size(), kMaxOverviewBytes);
    for (const std::string& element : elements_of(html)) EXPECT_TRUE(known.contains(element)) << element;
    EXPECT_THAT(html, Not(HasSubstr("\xE2\x80\xAE")));
  }
}

}  // namespace
}  // namespace turnpike::report::html
