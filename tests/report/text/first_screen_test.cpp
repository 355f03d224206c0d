// The first screen: it fits, whatever the report holds, and says first what matters.
#include "report/text/first_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/distinct_report.h"
#include "report/golden.h"
#include "report/sample_report.h"
#include "report/text/screen_parts.h"
#include "report/text/terminal.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string screen_of(const analyze::Report& report, std::size_t width = 100) {
  return to_text(report, {.width = width});
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// A report with more of everything than a screen holds.
analyze::Report full_report(std::size_t findings) {
  analyze::Report report = distinct_report();
  report.verdict.idle = analyze::IdleShares{.copies_pct = 9,
                                            .syncs_pct = 8,
                                            .allocations_pct = 7,
                                            .input_pct = 6,
                                            .launch_pct = 5,
                                            .quiet_pct = 4,
                                            .between_kernels_pct = 3,
                                            .other_devices_pct = 2,
                                            .unrecorded_pct = 1};
  const analyze::Finding like = report.findings[0];
  report.findings.assign(findings, like);
  for (std::size_t i = 0; i < findings; ++i) report.findings[i].site = "finding.py:" + std::to_string(i + 1);
  report.source.inputs.notes.assign(5, "A note that is longer than a line, " + std::string(300, 'n'));
  report.source.unusable.assign(5, "A reason that is longer than a line, " + std::string(300, 'r'));
  return report;
}

TEST(FirstScreen, IsWhatTheReportOfAnOrdinaryRunBeginsWith) {
  expect_golden(screen_of(ordinary_report()), "screen_ordinary.txt");
}

TEST(FirstScreen, HasEveryFigureInItsPlace) {
  expect_golden(screen_of(distinct_report()), "screen_distinct.txt");
}

TEST(FirstScreen, SaysThatAnEmptyRunIsEmpty) {
  expect_golden(screen_of(analyze::Report{}), "screen_empty.txt");
}

TEST(FirstScreen, SaysWhatIsUnknown) {
  expect_golden(screen_of(bare_report()), "screen_bare.txt");
}

TEST(FirstScreen, HasAtMostFortyLinesWhateverTheReportHolds) {
  for (const std::size_t width : {60u, 80u, 100u, 300u}) {
    for (std::size_t findings = 0; findings < 30; ++findings) {
      EXPECT_LE(lines_in(screen_of(full_report(findings), width)), kScreenLines) << findings << " at " << width;
    }
    EXPECT_LE(lines_in(screen_of(hostile_report(), width)), kScreenLines) << width;
  }
}

TEST(FirstScreen, IsNeverWiderThanItsWidthAndObeysNothing) {
  for (const std::size_t width : {40u, 60u, 80u, 100u}) {
    for (const analyze::Report& report : {hostile_report(), full_report(9), ordinary_report()}) {
      std::istringstream stream(screen_of(report, width));
      for (std::string line; std::getline(stream, line);) {
        EXPECT_LE(display_width(line), width) << line;
        EXPECT_EQ(cleaned(line), line);
      }
    }
  }
}

TEST(FirstScreen, CountsTheFindingsThatHaveNoRoom) {
  const std::string text = screen_of(full_report(29));
  std::size_t shown = 0;
  while (text.find("finding.py:" + std::to_string(shown + 1) + " ") != std::string::npos) ++shown;
  ASSERT_GT(shown, 0u);
  EXPECT_THAT(text, HasSubstr("and " + std::to_string(29 - shown) + " more: --findings\n"));
  EXPECT_GE(lines_in(text) + 2, kScreenLines) << "there was room for another one";
}

TEST(FirstScreen, FindingsThatSaveLessThanOnePerCentAreOneLine) {
  analyze::Report report = full_report(5);
  for (std::size_t i = 1; i < 5; ++i) {
    report.findings[i].saving_step_expected_ns = 100;
    report.findings[i].saving_step_low_ns = 0;
  }
  const std::string text = screen_of(report);
  EXPECT_THAT(text, HasSubstr("\n  small  finding.py:2"));
  EXPECT_THAT(text, HasSubstr(": less than 1 % of a step each\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n  2  ")));
}

TEST(FirstScreen, SortsThePartsOfAStepBySizeAndNamesTheirLines) {
  analyze::Report report = ordinary_report();
  analyze::IdleSite idle;
  idle.site = "train.py:31";
  idle.cause = analyze::IdleCause::kSync;
  idle.in_steps_ns = 7;
  report.idle = {idle};
  idle.site = "train.py:32";
  idle.in_steps_ns = 5;
  report.idle.push_back(idle);
  idle.site = "";
  report.idle.push_back(idle);
  const std::string text = screen_of(report);
  EXPECT_THAT(text, HasSubstr("  idle: synchronisations   30 %  ######                train.py:31, train.py:32\n"));
  EXPECT_LT(text.find("GPU computes"), text.find("idle: synchronisations"));
  EXPECT_LT(text.find("idle: synchronisations"), text.find("only copies"));
}

TEST(FirstScreen, AShortenedPlaceKeepsTheEndOfItsNameAndItsLine) {
  const std::string long_name = std::string(80, 'd') + "/train_the_language_model.py:1234";
  EXPECT_EQ(screen_place("train.py:1", 40), "train.py:1");
  const std::string shortened = screen_place(long_name, 40);
  EXPECT_EQ(display_width(shortened), 40u);
  EXPECT_TRUE(shortened.ends_with("/train_the_language_model.py:1234"));
  EXPECT_TRUE(shortened.starts_with("..."));
}

TEST(FirstScreen, TheFirstSentenceOfAnAdviceIsItsAction) {
  EXPECT_EQ(first_sentence("Load ahead: f(..., n=2). Or else."), "Load ahead: f(..., n=2)");
  EXPECT_EQ(first_sentence("One sentence."), "One sentence");
  EXPECT_EQ(first_sentence("No stop"), "No stop");
  EXPECT_EQ(first_sentence("Use a. b is no sentence. It is not."), "Use a. b is no sentence");
  EXPECT_EQ(first_sentence(""), "");
}

TEST(FirstScreen, AGpuThatTheRecordingDoesNotNameWasUsedAllTheSame) {
  analyze::Report report = ordinary_report();
  report.source.devices.clear();
  EXPECT_THAT(screen_of(report), HasSubstr("\nGPU not named in the recording; "));
  EXPECT_THAT(to_text(report, {}, every_section()), HasSubstr("  device    not named in the recording\n"));
}

TEST(FirstScreen, TheChangeOfALineStandsInPlaceOfTheAdvice) {
  analyze::Report report = ordinary_report();
  analyze::Finding& finding = report.findings[0];
  finding.rule = "pageable_async_copy";
  finding.site = "train.py:23";
  finding.advice = "tp.to(batch, device) stages it on threads of its own.";
  report.source_text.add("/home/me/project/train.py", "1", 22, "for x in loader:\n    x = x.to(device)\n");
  report.findings[0].edit.kind = analyze::LineEdit::Kind::kStageUpload;
  EXPECT_THAT(screen_of(report), HasSubstr("\n      write  x = tp.to(x, device)   (import turnpike as tp)\n"));
}

}  // namespace
}  // namespace turnpike::report
