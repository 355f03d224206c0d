// Two runs side by side: units, kinds of change, ranks, findings, doubts.
#include "analyze/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/report_maker.h"

namespace turnpike::analyze {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> kinds_of(const Comparison& comparison) {
  std::vector<std::string> kinds;
  for (const ItemChange& change : comparison.items) {
    kinds.push_back(place_of(change.any()) + " " + name_of(change.kind));
  }
  return kinds;
}

TEST(Compare, IsPerStepWhereBothHaveSteps) {
  const Report before = report_with({site_of({.line = 30, .per_step = 2})});
  const Comparison comparison = compare(before, before);
  EXPECT_EQ(comparison.unit, Unit::kStep);
  EXPECT_DOUBLE_EQ(comparison.before.totals[0].count, 2);
  EXPECT_EQ(comparison.before.duration_ns, 4e6);
}

TEST(Compare, StepCountsNeedNotBeEqual) {
  const Report before = report_with({site_of({.line = 30})});
  Report after = before;
  after.steps->whole_count = 5 * kSteps;
  after.sites[0].in_steps.count *= 5;
  after.sites[0].in_steps.bytes *= 5;
  *after.sites[0].in_steps.host_blocked_ns *= 5;
  *after.sites[0].in_steps.exposed_ns *= 5;
  EXPECT_THAT(kinds_of(compare(before, after)), ElementsAre("train.py:30 same"));
}

TEST(Compare, WholeRunsWhereOneHasNoSteps) {
  const Report before = report_with({site_of({.line = 30})});
  Report after = before;
  after.steps.reset();
  const Comparison comparison = compare(before, after);
  EXPECT_EQ(comparison.unit, Unit::kRun);
  EXPECT_DOUBLE_EQ(comparison.before.totals[0].count, 11);
  EXPECT_EQ(comparison.before.duration_ns, 1e8);
  EXPECT_THAT(comparison.doubts, Contains(HasSubstr("The run after has no steps that could be found")));
}

TEST(Compare, RanksByWhatAChangeIsWorth) {
  const Report before = report_with({site_of({.line = 10}), site_of({.line = 20, .function = "gone"}),
                                     site_of({.line = 30, .blocked_ns = 500'000, .function = "slow"})});
  const Report after = report_with({site_of({.line = 11}), site_of({.line = 30, .blocked_ns = 0, .function = "slow"}),
                                    site_of({.line = 40, .blocked_ns = 90'000, .function = "new"})});
  EXPECT_THAT(kinds_of(compare(before, after)),
              ElementsAre("train.py:30 changed", "train.py:40 gained", "train.py:20 lost", "train.py:11 same"));
}

TEST(Compare, AMoveAloneIsNoChange) {
  const Comparison comparison = compare(report_with({site_of({.line = 30})}), report_with({site_of({.line = 34})}));
  EXPECT_EQ(comparison.items[0].kind, ChangeKind::kSame);
  EXPECT_TRUE(comparison.items[0].has_moved());
}

TEST(Compare, OtherMemoryIsAChange) {
  const Comparison comparison =
      compare(report_with({site_of({.line = 30})}), report_with({site_of({.line = 30, .src_kind = "pinned"})}));
  EXPECT_EQ(comparison.items[0].kind, ChangeKind::kChanged);
}

TEST(Compare, TimesOfEqualProgramsDifferALittle) {
  // 5 us of a step of 4 ms.
  const Comparison comparison = compare(report_with({site_of({.line = 30, .blocked_ns = 10'000})}),
                                        report_with({site_of({.line = 30, .blocked_ns = 15'000})}));
  EXPECT_EQ(comparison.items[0].kind, ChangeKind::kSame);
}

TEST(Compare, WaitsForTransfersCountOnce) {
  Report report = report_with({site_of({.line = 30, .blocked_ns = 50'000})});
  report.sync_sites = {sync_of(30, 1, 40'000, 40'000), sync_of(31, 1, 7'000)};
  const Comparison comparison = compare(report, report);
  EXPECT_EQ(comparison.before.blocked_ns, 57'000);
  EXPECT_DOUBLE_EQ(comparison.before.syncs.count, 2);
  EXPECT_EQ(comparison.before.syncs.blocked_ns, 7'000);
}

TEST(Compare, UnknownTimesStayUnknown) {
  Report before = report_with({site_of({.line = 30})});
  before.sites[0].in_steps.host_blocked_ns.reset();
  before.sites[0].in_steps.exposed_ns.reset();
  const Comparison comparison = compare(before, report_with({site_of({.line = 30})}));
  EXPECT_EQ(comparison.before.blocked_ns, std::nullopt);
  EXPECT_EQ(cost_change_ns(comparison.items[0]), std::nullopt);
}

TEST(Compare, FindingsGoByRuleAndFile) {
  Report before = report_with({});
  Report after = before;
  before.findings = {finding_of("implicit_sync", "train.py:30"), finding_of("pageable_async_copy", "a.py:1")};
  after.findings = {finding_of("implicit_sync", "train.py:34"), finding_of("late_loader", "a.py:1")};
  const Comparison comparison = compare(before, after);
  ASSERT_THAT(comparison.findings, SizeIs(3));
  EXPECT_EQ(comparison.findings[0].before->site, "train.py:30");
  EXPECT_EQ(comparison.findings[0].after->site, "train.py:34");
  EXPECT_FALSE(comparison.findings[1].before);
  EXPECT_EQ(comparison.findings[1].after->rule, "late_loader");
  EXPECT_EQ(comparison.findings[2].before->rule, "pageable_async_copy");
  EXPECT_FALSE(comparison.findings[2].after);
}

TEST(Compare, ComparableRunsRaiseNoDoubt) {
  Report after = report_with({});
  after.source.paths = {"other.tpk"};
  EXPECT_THAT(doubts_about(report_with({}), after), IsEmpty());
}

TEST(Compare, SaysWhatMakesItDoubtful) {
  const Report before = report_with({});
  Report after = before;
  after.source.devices = {{0, "NVIDIA A100", 0}};
  after.source.versions["torch"] = "2.12.0";
  after.source.process_count = 8;
  after.source.detail = "transfers";
  after.losses = {{"cupti_dropped", 7}};
  after.steps->source = "nvtx:step";
  after.steps->whole_count = 1;
  const auto doubts = doubts_about(before, after);
  for (const char* part : {"NVIDIA H100 80GB HBM3 before, NVIDIA A100 after", "torch 2.11.0 before and 2.12.0 after",
                           "processes differ: 1 before, 8 after", "full before, transfers after", "7 x cupti_dropped",
                           "backward pass before and by nvtx:step after", "Only 1 whole step in"}) {
    EXPECT_THAT(doubts, Contains(HasSubstr(part))) << part;
  }
}

}  // namespace
}  // namespace turnpike::analyze
