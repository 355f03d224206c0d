#include "report/html/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::report::html {
namespace {

analyze::Finding finding(const std::string& site, double saving_pct) {
  analyze::Finding one;
  one.site = site;
  one.title = "the loader is late";
  one.saving_pct = saving_pct;
  return one;
}

TEST(HtmlHeadline, NamesTheLineOfTheLargestSaving) {
  analyze::Report report;
  report.verdict.gpu_idle_pct = 16.2;
  report.steps.emplace();
  report.findings = {finding("train.py:42", 14), finding("train.py:7", 3)};
  EXPECT_EQ(headline_of(report), "Your GPU is idle 16 % of each step. The largest saving is one line: train.py:42");
}

TEST(HtmlHeadline, NamesNoLineThatIsNotTheLargest) {
  analyze::Report report;
  report.verdict.gpu_idle_pct = 16.2;
  report.findings = {finding("", 14), finding("train.py:7", 3)};
  EXPECT_EQ(headline_of(report), "Your GPU is idle 16 % of the time. Mostly, the loader is late.");
}

TEST(HtmlHeadline, SaysOfATransferBoundRunThatItCopies) {
  analyze::Report report;
  report.steps.emplace();
  report.verdict.gpu_idle_pct = 0.4;
  report.verdict.exposed_transfer_pct = 81.3;
  EXPECT_EQ(headline_of(report), "Your GPU is idle <1 % of each step.");
  report.verdict.bound_by = analyze::Bound::kTransfer;
  EXPECT_EQ(headline_of(report), "Your GPU copies without computing for 81 % of each step.");
  report.verdict.gpu_idle_pct = 82;
  EXPECT_EQ(headline_of(report), "Your GPU is idle 82 % of each step.");
}

TEST(HtmlHeadline, PassesOverWhatAnotherFindingLeads) {
  analyze::Report report;
  report.verdict.gpu_idle_pct = 16.2;
  report.findings = {finding("train.py:42", 14), finding("train.py:7", 3)};
  report.findings.front().superseded_by = "other";
  EXPECT_THAT(headline_of(report), testing::EndsWith("train.py:7"));
}

TEST(HtmlHeadline, SaysThatTheGpuIsNotKnown) {
  EXPECT_EQ(headline_of({}), "What the GPU did is not in this recording.");
}

TEST(HtmlHeadline, TellsEachLossWithItsSentence) {
  analyze::Report report;
  report.losses = {{"unreadable_file", 2}, {"of_a_later_version", 3}};
  report.source.inputs.notes = {"The clocks differ."};
  EXPECT_THAT(
      missing_of(report),
      testing::ElementsAre(testing::StartsWith("of_a_later_version (3): "),
                           testing::StartsWith("unreadable_file (2): Files that were given"), "The clocks differ."));
}

}  // namespace
}  // namespace turnpike::report::html
