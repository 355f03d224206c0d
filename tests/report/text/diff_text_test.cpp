// The comparison of two runs as text and JSON.
#include "report/text/diff_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyze/report_maker.h"
#include "report/golden.h"
#include "report/json/diff_json.h"
#include "report/sample_report.h"
#include "report/text/terminal.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::report_with;
using analyze::site_of;
using analyze::sync_of;
using testing::HasSubstr;
using testing::Not;

analyze::Report before_the_fix() {
  analyze::Report report = report_with({site_of({.line = 30, .bytes = 200'000, .blocked_ns = 900'000}),
                                        site_of({.line = 31, .bytes = 512, .blocked_ns = 5'000}),
                                        site_of({.line = 40,
                                                 .bytes = 4,
                                                 .blocked_ns = 300'000,
                                                 .direction = analyze::Direction::kDeviceToHost,
                                                 .op = "aten::item",
                                                 .src_kind = "device",
                                                 .dst_kind = "pinned"})},
                                       4'100'000);
  report.sync_sites = {sync_of(40, 1, 250'000, 250'000), sync_of(41, 1, 20'000)};
  report.source.paths = {"before.tpk"};
  report.findings = {analyze::finding_of("pageable_async_copy", "train.py:30", 20.0),
                     analyze::finding_of("late_loader", "train.py:12", 4.0)};
  return report;
}

analyze::Report after_the_fix() {
  analyze::Report report = report_with({site_of({.line = 34, .bytes = 200'000, .blocked_ns = 0, .src_kind = "pinned"}),
                                        site_of({.line = 35, .bytes = 512, .blocked_ns = 5'000}),
                                        site_of({.line = 60,
                                                 .bytes = 8,
                                                 .blocked_ns = 30'000,
                                                 .direction = analyze::Direction::kDeviceToHost,
                                                 .function = "log"})},
                                       2'900'000);
  report.source.paths = {"after.tpk"};
  report.verdict.bound_by = analyze::Bound::kLaunch;
  report.verdict.gpu_busy_pct = 42.0;
  report.verdict.gpu_idle_pct = 58.0;
  report.verdict.exposed_transfer_pct = 1.0;
  report.findings = {analyze::finding_of("late_loader", "train.py:14", 6.0),
                     analyze::finding_of("many_small_copies", "train.py:60", 1.0)};
  return report;
}

std::string text_of(const analyze::Report& before, const analyze::Report& after, std::size_t width = 100) {
  return to_text(analyze::compare(before, after), before, after, {.width = width});
}

std::string summary(const analyze::Report& before, const analyze::Report& after) {
  return summary_of(analyze::compare(before, after), before, after);
}

TEST(DiffText, SaysEverythingOfAFix) {
  expect_golden(text_of(before_the_fix(), after_the_fix()), "diff_fix.txt");
}

TEST(DiffText, FindingsSaveWhatTheReportSaysThatTheySave) {
  analyze::Report before = before_the_fix();
  analyze::Finding& finding = before.findings[0];
  finding.saving_step_ns = 800'000;
  finding.saving_step_low_ns = 0;
  finding.saving_step_high_ns = 600'000;
  finding.saving_step_expected_ns = 400'000;
  before.findings.resize(1);
  const std::string words = "saves 400 us a step (10 %; up to 600 us)";
  EXPECT_THAT(to_text(before, {.width = 200}), HasSubstr(words));
  EXPECT_THAT(text_of(before, after_the_fix(), 200), HasSubstr("(pageable_async_copy); predicted: " + words));
  before.steps.reset();
  EXPECT_THAT(text_of(before, after_the_fix(), 200), HasSubstr("predicted: saves 400 us (10 %; up to 600 us)"));
  before.findings[0].saving_pct.reset();
  EXPECT_THAT(text_of(before, after_the_fix(), 200), HasSubstr("(pageable_async_copy); gain unknown"));
}

TEST(DiffText, SaysThatNothingChanged) {
  expect_golden(text_of(before_the_fix(), before_the_fix()), "diff_same.txt");
}

TEST(DiffText, OfEmptyRunsSaysSo) {
  expect_golden(text_of(analyze::Report{}, analyze::Report{}), "diff_empty.txt");
}

TEST(DiffText, TheSummaryNamesTheLargestChanges) {
  EXPECT_EQ(summary(before_the_fix(), after_the_fix()),
            "A step takes 2.90 ms instead of 4.10 ms (-29 %). 2 fewer synchronisations per step; the upload at "
            "train.py:34 no longer blocks the CPU; the download at train.py:40 is gone; a new download at train.py:60. "
            "Now launch-bound (before: sync-bound).");
}

TEST(DiffText, TheSummaryOfARegressionSaysWhatBlocksNow) {
  EXPECT_THAT(summary(after_the_fix(), before_the_fix()),
              HasSubstr("the upload at train.py:30 now blocks the CPU for 900 us per step"));
}

TEST(DiffText, NoiseIsNoChange) {
  analyze::Report after = before_the_fix();
  after.steps->median_ns = 4'150'000;
  EXPECT_THAT(summary(before_the_fix(), after),
              HasSubstr("A step takes about as long as before: 4.15 ms, before 4.10 ms. No transfer changed. Still"));
}

TEST(DiffText, NeverWiderThanItsWidthWhateverTheNames) {
  analyze::Report hostile = hostile_report();
  hostile.steps->whole_count = 3;
  hostile.sites[0].in_steps.count = ~std::uint64_t{0};
  hostile.findings = {analyze::finding_of(hostile_text(), hostile_text(), 1.0)};
  for (const std::size_t width : {60u, 80u, 100u}) {
    for (const std::string& text : {text_of(hostile, before_the_fix(), width), text_of(hostile, hostile, width),
                                    text_of(analyze::Report{}, hostile, width)}) {
      std::istringstream stream(text);
      for (std::string line; std::getline(stream, line);) {
        EXPECT_LE(display_width(line), width) << line;
        EXPECT_EQ(cleaned(line), line);
      }
    }
  }
}

TEST(DiffJson, IsTheWholeComparison) {
  const analyze::Report before = before_the_fix();
  const analyze::Report after = after_the_fix();
  const auto json = nlohmann::json::parse(to_json(analyze::compare(before, after), before, after));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["unit"], "step");
  EXPECT_EQ(json["before"]["duration_ns"], 4'100'000);
  EXPECT_EQ(json["after"]["totals"]["h2d"]["bytes"], 200'512);
  EXPECT_EQ(json["sites"][0]["change"], "changed");
  EXPECT_EQ(json["sites"][0]["before"]["site"], "train.py:30");
  EXPECT_EQ(json["sites"][0]["after"]["src_kind"], "pinned");
  EXPECT_EQ(json["sites"][0]["cost_change_ns"], -900'000);
  EXPECT_EQ(json["findings"].size(), 3u);
  EXPECT_EQ(json["findings"][2]["change"], "solved");
}

TEST(DiffJson, OfHostileNamesAndNumbersIsValid) {
  const analyze::Report hostile = hostile_report();
  const std::string text = to_json(analyze::compare(hostile, hostile), hostile, hostile);
  EXPECT_TRUE(nlohmann::json::accept(text));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(DiffJson, WhatIsNoNumberIsNull) {
  analyze::Comparison comparison;
  comparison.before.duration_ns = std::numeric_limits<double>::infinity();
  comparison.after.duration_ns = 2.6;
  comparison.before.blocked_ns = std::numeric_limits<double>::quiet_NaN();
  const auto json = nlohmann::json::parse(to_json(comparison, analyze::Report{}, analyze::Report{}));
  EXPECT_TRUE(json["before"]["duration_ns"].is_null());
  EXPECT_TRUE(json["before"]["blocked_ns"].is_null());
  EXPECT_TRUE(json["after"]["blocked_ns"].is_null());
  EXPECT_EQ(json["after"]["duration_ns"], 3);
  EXPECT_EQ(json["unit"], "run");
}

TEST(DiffText, NamesEveryModelOnce) {
  analyze::Report report = before_the_fix();
  const auto devices = [&] {
    const std::string text = text_of(report, report, 200);
    const std::size_t at = text.find("100 ms, ") + 8;
    return text.substr(at, text.find('\n', at) - at);
  };
  report.source.devices = {{0, "A", 0}, {1, "", 0}, {2, "A", 0}, {3, "\x1b", 0}};
  EXPECT_EQ(devices(), "2 x A, unknown model, \\x1b");
  report.source.devices = {{0, "A", 0}, {1, "B", 0}};
  EXPECT_EQ(devices(), "A, B");
}

}  // namespace
}  // namespace turnpike::report
