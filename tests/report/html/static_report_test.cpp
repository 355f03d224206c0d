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

enum class Part { kFindings, kSource };

std::string part_of(const analyze::Report& report, Part part, const std::vector<Excerpt>& excerpts = {}) {
  const LineChanges changes(report.findings.size());
  const std::string nothing;
  const std::vector<std::string> missing;
  const StaticReport parts{.report = report,
                           .headline = nothing,
                           .details = nothing,
                           .missing = missing,
                           .changes = changes,
                           .excerpts = excerpts,
                           .no_source = nothing,
                           .picture = nothing};
  return part == Part::kFindings ? findings_html(parts) : source_html(parts);
}

std::string findings_of(const analyze::Report& report) {
  return part_of(report, Part::kFindings);
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

TEST(StaticReport, TakesASavingFromAStepOfTheGpuWhereTheCpuRunsAhead) {
  analyze::Report report = report_with_finding("train.py:3");
  report.steps = analyze::Steps{.count = 9, .median_ns = 66'500, .device_median_ns = 1'750'000};
  report.findings.front().saving_pct = 20;
  report.findings.front().saving_step_ns = 350'000;
  EXPECT_THAT(findings_of(report), HasSubstr("saves 350 us a step (20 %) →\u00a01.40 ms</strong>"));
}

TEST(StaticReport, ALineCostsTheTimeThatPassedAndSaysWhatWasAtOnce) {
  analyze::Report report;
  report.steps = analyze::Steps{.count = 2, .median_ns = 9'000'000};
  report.lines = {{.file = "/a/train.py",
                   .line = 7,
                   .time_ns = 6'000'000,
                   .waits_ns = 5'000'000,
                   .copies_ns = 4'000'000,
                   .gpu_idle_ns = std::nullopt},
                  {.file = "/a/train.py", .line = 9, .time_ns = 2'000'000, .waits_ns = 2'000'000}};
  const std::string html = part_of(report, Part::kSource, {{"/a/train.py", 7, {"x.cuda()", "", "y.item()"}}});
  EXPECT_THAT(html, HasSubstr("title=\"the CPU waits 2.50 ms, copies take 2.00 ms, 1.50 ms of it at the same time\""));
  EXPECT_THAT(html, HasSubstr("</svg> 3.00 ms</span>"));
  EXPECT_THAT(html, HasSubstr("width=\"83.3%\" height=\"11\"/><rect class=\"p-copy\" fill=\"#1e8569\" "
                              "x=\"83.3%\" width=\"16.7%\""));
  EXPECT_THAT(html, HasSubstr("title=\"the CPU waits 1.00 ms\""));
}

TEST(StaticReport, NamesCausesOfIdleTimeInWords) {
  analyze::Report report;
  for (const analyze::IdleCause cause : analyze::kIdleCauses) report.idle.push_back(idle_site(cause, 5, 5));
  const std::string html = table_parts(report, 100).front();
  for (const char* words :
       {"only copies", "copies", "synchronisations", "allocations", "next batch", "CPU issues work",
        "other work on the CPU", "between kernels", "another GPU", "unrecorded work", "another rank"}) {
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
