// Two runs side by side: units, kinds of change, ranks, findings, doubts.
#include "analyze/compare/compare.h"

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

TEST(Compare, TakesStepsOfTheDevicesWhereTheHostRunsAhead) {
  Report before = report_with({site_of({.line = 30})});
  Report after = before;
  before.steps->device_median_ns = 9'000'000;
  EXPECT_FALSE(compare(before, after).is_device_step) << "not known of the other";
  EXPECT_EQ(compare(before, after).before.duration_ns, 4e6);
  after.steps->device_median_ns = 4'100'000;
  for (const bool is_swapped : {false, true}) {
    const Comparison comparison = is_swapped ? compare(after, before) : compare(before, after);
    EXPECT_TRUE(comparison.is_device_step);
    EXPECT_EQ(comparison.before.duration_ns, is_swapped ? 4.1e6 : 9e6);
    EXPECT_EQ(comparison.after.duration_ns, is_swapped ? 9e6 : 4.1e6);
  }
  before.steps->device_median_ns = 4'300'000;
  EXPECT_FALSE(compare(before, after).is_device_step) << "no host runs ahead";
  before.steps->device_median_ns = 9'000'000;
  after.steps.reset();
  EXPECT_FALSE(compare(before, after).is_device_step) << "runs are compared";
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
  after.steps->source = StepSource::kRanges;
  after.steps->marker = "step";
  after.steps->whole_count = 1;
  const auto doubts = doubts_about(before, after);
  for (const char* part : {"NVIDIA H100 80GB HBM3 before, NVIDIA A100 after", "torch 2.11.0 before and 2.12.0 after",
                           "processes differ: 1 before, 8 after", "full before, transfers after", "7 x cupti_dropped",
                           "backward pass before and by nvtx:step after", "Only 1 whole step in"}) {
    EXPECT_THAT(doubts, Contains(HasSubstr(part))) << part;
  }
}

// What became of one place.
ChangeKind kind_of(const RowSpec& before, const RowSpec& after, std::int64_t step_ns = 4'000'000,
                   std::int64_t step_after_ns = 4'000'000) {
  return compare(report_with({site_of(before)}, step_ns), report_with({site_of(after)}, step_after_ns)).items[0].kind;
}

TEST(Compare, AmountsAreTheSameWithinOnePercent) {
  EXPECT_EQ(kind_of({.line = 1, .per_step = 100}, {.line = 1, .per_step = 99, .bytes = 1010}), ChangeKind::kSame);
  EXPECT_EQ(kind_of({.line = 1, .per_step = 100}, {.line = 1, .per_step = 98, .bytes = 1020}), ChangeKind::kChanged);
  EXPECT_EQ(kind_of({.line = 1, .per_step = 99, .bytes = 1010}, {.line = 1, .per_step = 100}), ChangeKind::kSame);
  EXPECT_EQ(kind_of({.line = 1, .bytes = 1000}, {.line = 1, .bytes = 990}), ChangeKind::kSame);
  EXPECT_EQ(kind_of({.line = 1, .bytes = 1000}, {.line = 1, .bytes = 989}), ChangeKind::kChanged);
  EXPECT_EQ(kind_of({.line = 1, .bytes = 989}, {.line = 1, .bytes = 1000}), ChangeKind::kChanged);
}

TEST(Compare, CostsAreTheSameWithinTenPercent) {
  const auto with_blocked = [](std::int64_t blocked_ns) {
    return RowSpec{.line = 1, .blocked_ns = blocked_ns, .exposed_ns = 0};
  };
  EXPECT_EQ(kind_of(with_blocked(900'000), with_blocked(1'000'000)), ChangeKind::kSame);
  EXPECT_EQ(kind_of(with_blocked(899'000), with_blocked(1'000'000)), ChangeKind::kChanged);
  EXPECT_EQ(kind_of(with_blocked(1'000'000), with_blocked(899'000)), ChangeKind::kChanged);
}

TEST(Compare, CostsAreTheSameWithinAHalfPercentOfTheShorterStep) {
  const auto with = [](std::int64_t blocked_ns, std::int64_t exposed_ns) {
    return RowSpec{.line = 1, .blocked_ns = blocked_ns, .exposed_ns = exposed_ns};
  };
  EXPECT_EQ(kind_of(with(10'000, 0), with(20'000, 10'000)), ChangeKind::kSame);  // 20 us of 4 ms
  EXPECT_EQ(kind_of(with(10'000, 0), with(20'000, 10'100)), ChangeKind::kChanged);
  EXPECT_EQ(kind_of(with(10'000, 0), with(20'000, 0), 2'000'000), ChangeKind::kSame);
  EXPECT_EQ(kind_of(with(10'000, 0), with(20'000, 100), 2'000'000), ChangeKind::kChanged);
  EXPECT_EQ(kind_of(with(10'000, 0), with(20'000, 100), 4'000'000, 2'000'000), ChangeKind::kChanged);
}

TEST(Compare, ACostThatIsKnownInOneRunAloneIsAChange) {
  Report before = report_with({site_of({.line = 30})});
  before.sites[0].in_steps.host_blocked_ns.reset();
  EXPECT_EQ(compare(before, report_with({site_of({.line = 30})})).items[0].kind, ChangeKind::kSame);  // 2 and 12 us
  before.sites[0].in_steps.exposed_ns.reset();
  EXPECT_EQ(compare(before, report_with({site_of({.line = 30})})).items[0].kind, ChangeKind::kChanged);
  EXPECT_EQ(compare(before, before).items[0].kind, ChangeKind::kSame);
}

TEST(Compare, ACostIsTheWaitAndTheExposedTime) {
  Figures figures{.blocked_ns = 30, .exposed_ns = 4};
  EXPECT_EQ(cost_ns(figures), 34);
  figures.blocked_ns.reset();
  EXPECT_EQ(cost_ns(figures), 4);
  figures.exposed_ns.reset();
  EXPECT_EQ(cost_ns(figures), std::nullopt);
  const Comparison comparison = compare(report_with({site_of({.line = 1, .function = "a"})}),
                                        report_with({site_of({.line = 2, .blocked_ns = 7000, .function = "b"})}));
  ASSERT_THAT(comparison.items, SizeIs(2));
  EXPECT_EQ(cost_change_ns(comparison.items[0]), -12'000);
  EXPECT_EQ(cost_change_ns(comparison.items[1]), 9000);
  EXPECT_FALSE(comparison.items[0].has_moved());
}

TEST(Compare, RanksByTimeThenBytesThenCountThenPlace) {
  const auto row = [](const char* function, std::uint32_t line, std::uint64_t per_step, std::uint64_t bytes,
                      std::int64_t blocked_ns) {
    return site_of({.line = line,
                    .per_step = per_step,
                    .bytes = bytes,
                    .blocked_ns = blocked_ns,
                    .exposed_ns = 0,
                    .function = function});
  };
  const Report after = report_with({row("d", 9, 2, 50, 1000), row("e", 8, 2, 50, 1000), row("c", 7, 4, 25, 1000),
                                    row("b", 6, 1, 200, 1000), row("a", 5, 1, 10, 2000)});
  EXPECT_THAT(kinds_of(compare(report_with({}), after)),
              ElementsAre("train.py:5 gained", "train.py:6 gained", "train.py:7 gained", "train.py:8 gained",
                          "train.py:9 gained"));
}

TEST(Compare, AddsUpBothSidesByDirection) {
  Report before = report_with({site_of({.line = 1, .per_step = 2, .bytes = 100, .blocked_ns = 500, .exposed_ns = 30}),
                               site_of({.line = 2, .bytes = 7, .blocked_ns = 40, .exposed_ns = 3}),
                               site_of({.line = 3, .bytes = 9, .direction = Direction::kDeviceToHost})});
  const Report after =
      report_with({site_of({.line = 3, .bytes = 8, .direction = Direction::kDeviceToHost})}, 3'000'000);
  before.sync_sites = {sync_of(4, 3, 900)};
  const Comparison comparison = compare(before, after);
  EXPECT_DOUBLE_EQ(comparison.before.totals[0].count, 3);
  EXPECT_DOUBLE_EQ(comparison.before.totals[0].bytes, 207);
  EXPECT_EQ(comparison.before.totals[0].blocked_ns, 540);
  EXPECT_EQ(comparison.before.totals[0].exposed_ns, 33);
  EXPECT_EQ(comparison.before.totals[0].device_time_ns, 33);
  EXPECT_DOUBLE_EQ(comparison.before.totals[1].bytes, 9);
  EXPECT_DOUBLE_EQ(comparison.before.syncs.count, 3);
  EXPECT_EQ(comparison.before.blocked_ns, 540 + 10'000 + 900);
  EXPECT_EQ(comparison.before.duration_ns, 4e6);
  EXPECT_DOUBLE_EQ(comparison.after.totals[0].count, 0);
  EXPECT_DOUBLE_EQ(comparison.after.totals[1].bytes, 8);
  EXPECT_EQ(comparison.after.blocked_ns, 10'000);
  EXPECT_EQ(comparison.after.duration_ns, 3e6);
}

TEST(Compare, FindingsOfOneRuleAndFileGoInTheirOrder) {
  Report before = report_with({});
  Report after = before;
  before.findings = {finding_of("pin", "a.py:1"), finding_of("pin", "a.py:2"), finding_of("pin", "a.py:3")};
  after.findings = {finding_of("pin", "a.py:11"), finding_of("pin", "a.py:12")};
  const Comparison comparison = compare(before, after);
  ASSERT_THAT(comparison.findings, SizeIs(3));
  EXPECT_EQ(comparison.findings[0].before->site, "a.py:1");
  EXPECT_EQ(comparison.findings[0].any().site, "a.py:11");
  EXPECT_EQ(comparison.findings[1].before->site, "a.py:2");
  EXPECT_EQ(comparison.findings[1].after->site, "a.py:12");
  EXPECT_EQ(comparison.findings[2].any().site, "a.py:3");
  EXPECT_FALSE(comparison.findings[2].after);
}

TEST(Compare, KindsOfChangesHaveNames) {
  EXPECT_EQ(name_of(ChangeKind::kGained), std::string("gained"));
  EXPECT_EQ(name_of(ChangeKind::kLost), std::string("lost"));
  EXPECT_EQ(name_of(ChangeKind::kChanged), std::string("changed"));
  EXPECT_EQ(name_of(ChangeKind::kSame), std::string("same"));
}

TEST(Compare, FewStepsAreFewerThanTen) {
  const auto said = [](std::uint64_t before_steps, std::uint64_t after_steps) {
    Report before = report_with({site_of({.line = 1})});
    Report after = before;
    after.source.paths = {"other.tpk"};
    before.steps->whole_count = before_steps;
    after.steps->whole_count = after_steps;
    return doubts_about(before, after);
  };
  EXPECT_THAT(said(10, 10), IsEmpty());
  EXPECT_THAT(said(10, 9), ElementsAre("Only 9 whole steps in one of the runs: one slow step changes the figures."));
  EXPECT_THAT(said(1, 20), ElementsAre("Only 1 whole step in one of the runs: one slow step changes the figures."));
}

TEST(Compare, SaysWhichOfTheRunsHasNoSteps) {
  const Report with = report_with({site_of({.line = 1})});
  Report without = with;
  without.steps->whole_count = 0;
  without.source.paths = {"other.tpk"};
  Report neither = without;
  neither.source.paths = {"third.tpk"};
  EXPECT_THAT(doubts_about(with, without), ElementsAre(HasSubstr("The run after has no steps")));
  EXPECT_THAT(doubts_about(without, with), ElementsAre(HasSubstr("The run before has no steps")));
  EXPECT_THAT(doubts_about(without, neither), ElementsAre(HasSubstr("Neither run has steps")));
}

TEST(Compare, ALineOfStepsMayMove) {
  Report before = report_with({site_of({.line = 1})});
  Report after = before;
  after.source.paths = {"other.tpk"};
  before.steps->source = after.steps->source = StepSource::kTransfers;
  before.steps->marker = "train.py:30";
  after.steps->marker = "train.py:31";
  EXPECT_THAT(doubts_about(before, after), IsEmpty());
  after.steps->marker = "model.py:30";
  EXPECT_THAT(doubts_about(before, after), SizeIs(1));
}

TEST(Compare, SaysWhatWasLostAndOfWhich) {
  Report before = report_with({site_of({.line = 1})});
  Report after = before;
  after.source.paths = {"other.tpk"};
  before.losses = {{"cupti_dropped", 7}, {"stack_truncated", 1}};
  after.source.unusable = {"no CUPTI"};
  EXPECT_THAT(doubts_about(before, after),
              ElementsAre(HasSubstr("The run before is incomplete (7 x cupti_dropped, 1 x stack_truncated): "),
                          HasSubstr("The run after is incomplete (processes that could not be recorded): ")));
}

TEST(Compare, OfTheSameRunOrWithoutWorkSaysThatAlone) {
  Report report = report_with({site_of({.line = 1})});
  EXPECT_THAT(doubts_about(report, report), ElementsAre("Both are the same run."));
  Report empty;
  EXPECT_TRUE(is_without_work(empty));
  EXPECT_THAT(doubts_about(empty, report), IsEmpty());
  empty.syncs.count = 1;
  EXPECT_FALSE(is_without_work(empty));
  Report counted;
  counted.totals[5].count = 1;
  EXPECT_FALSE(is_without_work(counted));
  Report busy;
  busy.verdict.gpu_busy_pct = 0;
  EXPECT_FALSE(is_without_work(busy));
}

TEST(Compare, VersionsThatBothKnowAreCompared) {
  Report before = report_with({site_of({.line = 1})});
  Report after = before;
  after.source.paths = {"other.tpk"};
  before.source.versions = {{"torch", "2.10"}, {"python", "3.12"}, {"only_before", "1"}};
  after.source.versions = {{"torch", "2.11"}, {"python", "3.13"}, {"only_after", "1"}};
  after.source.hosts = {"a", "b"};
  after.source.program = "train.py --big";
  before.source.program = "train.py";
  after.source.devices = {{0, "", 0}, {1, "H100", 0}};
  EXPECT_THAT(doubts_about(before, after),
              ElementsAre("The devices differ: NVIDIA H100 80GB HBM3 before, unknown model, H100 after.",
                          "The machines differ: box before, a, b after.",
                          "The command lines differ: train.py before, train.py --big after.",
                          "Versions differ: python 3.12 before and 3.13 after, torch 2.10 before and 2.11 after."));
}

}  // namespace
}  // namespace turnpike::analyze
