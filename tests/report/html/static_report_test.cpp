// The document without script: its bar, its findings and its tables.
#include "report/html/static_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/html/static_tables.h"
#include "report/html/step_bar.h"

namespace turnpike::report::html {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string findings_of(const analyze::Report& report) {
  const LineChanges changes(report.findings.size());
  const std::string nothing;
  const std::vector<std::string> missing;
  const std::vector<Excerpt> excerpts;
  return findings_html({.report = report,
                        .headline = nothing,
                        .details = nothing,
                        .missing = missing,
                        .changes = changes,
                        .excerpts = excerpts,
                        .no_source = nothing,
                        .picture = nothing});
}

analyze::Report report_with_finding(const std::string& site) {
  analyze::Report report;
  analyze::Finding finding;
  finding.site = site;
  finding.title = "the CPU cannot launch work";
  finding.evidence = "none waits in line";
  finding.advice = "Launch less often.";
  report.findings = {finding};
  return report;
}

analyze::IdleSite idle_site(analyze::IdleCause cause, std::int64_t time_ns, std::int64_t in_steps_ns) {
  analyze::IdleSite site;
  site.cause = cause;
  site.time_ns = time_ns;
  site.in_steps_ns = in_steps_ns;
  return site;
}

TEST(StaticReport, SaysTheFixBeforeItsReasons) {
  EXPECT_THAT(findings_of(report_with_finding("train.py:3")),
              HasSubstr("<p class=\"advice\">Fix: Launch less often.</p>\n<p>Why: none waits in line</p>"));
}

TEST(StaticReport, BeginsAFindingWithoutALineWithACapital) {
  EXPECT_THAT(findings_of(report_with_finding("")), HasSubstr("</span> The CPU cannot launch work</h2>"));
  EXPECT_THAT(findings_of(report_with_finding("train.py:3")), HasSubstr("</code> the CPU cannot launch work</h2>"));
}

TEST(StaticReport, CallsASavingLongerThanTheMedianStepAnAverage) {
  analyze::Report report = report_with_finding("train.py:3");
  report.steps.emplace().median_ns = 3'000'000;
  analyze::Finding& finding = report.findings.front();
  finding.saving_pct = 30;
  finding.saving_step_ns = 4'000'000;
  EXPECT_THAT(findings_of(report), HasSubstr("saves 4.00 ms a step on average (30 %)</strong>"));
  finding.saving_step_ns = 1'000'000;
  EXPECT_THAT(findings_of(report), HasSubstr("saves 1.00 ms a step (30 %) →\u00a02.00 ms</strong>"));
}

TEST(StaticReport, NamesCausesOfIdleTimeInWords) {
  analyze::Report report;
  for (const analyze::IdleCause cause : analyze::kIdleCauses) report.idle.push_back(idle_site(cause, 5, 5));
  const std::string html = table_parts(report, 100).front();
  for (const char* words : {"copies only", "held by copies", "held by syncs", "input", "CPU issues work",
                            "no call to CUDA", "another rank"}) {
    EXPECT_THAT(html, HasSubstr("<td>" + std::string(words) + "</td>"));
  }
}

// The table is sorted by the time in the steps, so it must show that time.
TEST(StaticReport, ShowsIdleTimeInTheStepsBesideThatOfTheWholeRun) {
  analyze::Report report;
  report.idle = {idle_site(analyze::IdleCause::kInput, 7'000, 6'000),
                 idle_site(analyze::IdleCause::kLaunch, 9'000, 2'000)};
  EXPECT_THAT(table_parts(report, 100).front(), Not(HasSubstr("6.00 us")));
  report.steps.emplace();
  const std::string html = table_parts(report, 100).front();
  EXPECT_THAT(html, HasSubstr("time in the steps"));
  EXPECT_THAT(html, HasSubstr("6.00 us</td><td class=\"number\">7.00 us"));
}

TEST(StaticReport, PartsTheBarOfAStepVisibly) {
  analyze::Report report;
  report.verdict.gpu_busy_pct = 40;
  report.verdict.idle = analyze::IdleShares{.copies_pct = 20, .syncs_pct = 20, .input_pct = 20};
  EXPECT_THAT(bar_of_step(report, "A step", 100),
              testing::AllOf(HasSubstr("class=\"p-cut\" fill=\"#ffffff\" x=\"60.00%\""),
                             HasSubstr("class=\"p-cut\" fill=\"#ffffff\" x=\"80.00%\"")));
}

}  // namespace
}  // namespace turnpike::report::html
