// The comparison of two runs in a few sentences, and the rows that it stands on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/text/diff_text.h"
#include "report/text/diff_words.h"

namespace turnpike::report {
namespace {

using analyze::Bound;
using analyze::ChangeKind;
using analyze::Comparison;
using analyze::Direction;
using analyze::Item;
using analyze::ItemChange;
using testing::HasSubstr;
using testing::Not;

analyze::Report report_bound_by(std::optional<Bound> bound_by) {
  analyze::Report report;
  report.verdict.bound_by = bound_by;
  report.verdict.gpu_busy_pct = 1;
  return report;
}

Item item_at(const std::string& site, double blocked_ns, double bytes = 100, double count = 1) {
  Item item;
  item.site = site;
  item.file = "/home/me/" + site;
  item.direction = Direction::kHostToDevice;
  item.figures = {.count = count, .bytes = bytes, .device_time_ns = 5, .blocked_ns = blocked_ns, .exposed_ns = 0};
  return item;
}

ItemChange changed(const Item& before, const Item& after) {
  return {.kind = ChangeKind::kChanged, .before = before, .after = after};
}

Comparison comparison_of(std::vector<ItemChange> items, analyze::Unit unit = analyze::Unit::kStep) {
  Comparison comparison;
  comparison.unit = unit;
  comparison.items = std::move(items);
  return comparison;
}

std::string summary(const Comparison& comparison, std::optional<Bound> before = Bound::kSync,
                    std::optional<Bound> after = Bound::kSync) {
  return summary_of(comparison, report_bound_by(before), report_bound_by(after));
}

TEST(DiffSummary, DurationsDifferFromTwoPercentOn) {
  Comparison comparison;
  const std::tuple<analyze::Unit, double, double, const char*> cases[] = {
      {analyze::Unit::kStep, 1e6, 1.019e6, "A step takes about as long as before: 1.02 ms, before 1.00 ms. "},
      {analyze::Unit::kStep, 1e6, 1.02e6, "A step takes 1.02 ms instead of 1.00 ms (+2 %). "},
      {analyze::Unit::kStep, 1e6, 0.98e6, "A step takes 980 us instead of 1.00 ms (-2 %). "},
      {analyze::Unit::kRun, 2e6, 3e6, "The run takes 3.00 ms instead of 2.00 ms (+50 %). "},
      {analyze::Unit::kRun, 2e6, 2e6, "The run takes about as long as before: 2.00 ms, before 2.00 ms. "},
      {analyze::Unit::kRun, 0, 3e6, "The run takes about as long as before: 3.00 ms, before 0 ns. "}};
  for (const auto& [unit, before_ns, after_ns, sentence] : cases) {
    comparison.unit = unit;
    comparison.before.duration_ns = before_ns;
    comparison.after.duration_ns = after_ns;
    EXPECT_EQ(summary(comparison), std::string(sentence) + "No transfer changed. Still sync-bound.");
  }
  comparison.before.duration_ns.reset();
  EXPECT_EQ(summary(comparison), "No transfer changed. Still sync-bound.");
  comparison.before.duration_ns = 1;
  comparison.after.duration_ns.reset();
  EXPECT_EQ(summary(comparison), "No transfer changed. Still sync-bound.");
}

TEST(DiffSummary, SaysThatAStepIsThatOfTheGpu) {
  Comparison comparison;
  comparison.unit = analyze::Unit::kStep;
  comparison.is_device_step = true;
  comparison.before.duration_ns = 2e6;
  comparison.after.duration_ns = 1e6;
  EXPECT_EQ(
      summary(comparison),
      "The CPU runs ahead; on the GPU a step takes 1.00 ms instead of 2.00 ms (-50 %). No transfer changed. Still "
      "sync-bound.");
}

TEST(DiffSummary, SynchronisationsAreCountedFromAHundredthOn) {
  Comparison comparison = comparison_of({});
  const std::tuple<double, double, const char*> cases[] = {{1, 1.0099, "No transfer changed."},
                                                           {1, 1.011, "0.011 more synchronisations per step."},
                                                           {3, 2, "1 fewer synchronisation per step."},
                                                           {2, 3, "1 more synchronisation per step."},
                                                           {2, 0, "2 fewer synchronisations per step."}};
  for (const auto& [before, after, sentence] : cases) {
    comparison.before.syncs.count = before;
    comparison.after.syncs.count = after;
    EXPECT_EQ(summary(comparison), std::string(sentence) + " Still sync-bound.");
  }
  comparison.unit = analyze::Unit::kRun;
  EXPECT_EQ(summary(comparison), "2 fewer synchronisations. Still sync-bound.");
}

TEST(DiffSummary, OfAChangedPlaceTheMostTellingIsSaid) {
  const auto clause = [](const Item& before, const Item& after, analyze::Unit unit = analyze::Unit::kStep) {
    return summary(comparison_of({changed(before, after)}, unit));
  };
  const std::string still = " Still sync-bound.";
  EXPECT_EQ(clause(item_at("a.py:1", 1), item_at("a.py:2", 0)),
            "The upload at a.py:2 no longer blocks the CPU." + still);
  EXPECT_EQ(clause(item_at("a.py:1", 0), item_at("a.py:2", 1'500)),
            "The upload at a.py:2 now blocks the CPU for 1.50 us per step." + still);
  EXPECT_EQ(clause(item_at("a.py:1", 0), item_at("a.py:2", 1'500), analyze::Unit::kRun),
            "The upload at a.py:2 now blocks the CPU for 1.50 us." + still);
  EXPECT_EQ(clause(item_at("a.py:1", 4'000), item_at("a.py:2", 1'500)),
            "The upload at a.py:2 costs 2.50 us less per step." + still);
  EXPECT_EQ(clause(item_at("a.py:1", 1'500), item_at("a.py:2", 4'000)),
            "The upload at a.py:2 costs 2.50 us more per step." + still);
  EXPECT_EQ(clause(item_at("a.py:1", 0, 100), item_at("a.py:2", 0, 1'300)),
            "The upload at a.py:2 moves 1.20 kB more per step." + still);
  EXPECT_EQ(clause(item_at("a.py:1", 0, 1'300), item_at("a.py:2", 0, 100)),
            "The upload at a.py:2 moves 1.20 kB less per step." + still);
  EXPECT_EQ(clause(item_at("a.py:1", 7, 100, 1), item_at("a.py:2", 7, 100, 2)),
            "The upload at a.py:2 changed." + still);
  Item unknown = item_at("a.py:1", 0);
  unknown.figures.blocked_ns.reset();
  EXPECT_EQ(clause(unknown, item_at("a.py:2", 1'500)), "The upload at a.py:2 costs 1.50 us more per step." + still);
  EXPECT_EQ(clause(item_at("a.py:2", 1'500), unknown), "The upload at a.py:1 costs 1.50 us less per step." + still);
}

TEST(DiffSummary, ThreePlacesAreNamedAndNoSynchronisation) {
  Item sync = item_at("s.py:1", 10);
  sync.direction.reset();
  const Comparison comparison =
      comparison_of({{.kind = ChangeKind::kLost, .before = item_at("a.py:1", 1), .after = {}},
                     {.kind = ChangeKind::kLost, .before = sync, .after = {}},
                     {.kind = ChangeKind::kGained, .before = {}, .after = item_at("b.py:1", 1)},
                     changed(item_at("c.py:1", 1), item_at("c.py:1", 0)),
                     changed(item_at("d.py:1", 1), item_at("d.py:1", 0))});
  EXPECT_EQ(summary(comparison),
            "The upload at a.py:1 is gone; a new upload at b.py:1; the upload at c.py:1 no longer blocks the CPU. "
            "Still sync-bound.");
}

TEST(DiffSummary, WhatIsTheSameIsNotNamed) {
  const Comparison comparison =
      comparison_of({{.kind = ChangeKind::kSame, .before = item_at("a.py:1", 1), .after = item_at("a.py:1", 0)}});
  EXPECT_EQ(summary(comparison), "No transfer changed. Still sync-bound.");
}

TEST(DiffSummary, SaysWhatLimitsTheRuns) {
  const Comparison comparison = comparison_of({});
  EXPECT_EQ(summary(comparison, {}, {}), "No transfer changed. What limits the runs is unknown.");
  EXPECT_EQ(summary(comparison, Bound::kGpu, {}),
            "No transfer changed. Now unknown what limits this program (before: gpu-bound).");
  EXPECT_EQ(summary(comparison, {}, Bound::kGpu),
            "No transfer changed. Now gpu-bound (before: unknown what limits this program).");
}

TEST(DiffSummary, OfARunWithoutWorkThereIsNothingToCompare) {
  const analyze::Report some = report_bound_by(Bound::kGpu);
  const analyze::Report none;
  const std::string rest =
      " no work of CUDA, no transfer, no synchronisation and no kernel, so there is nothing to compare.";
  EXPECT_EQ(summary_of({}, none, none), "Both runs hold" + rest);
  EXPECT_EQ(summary_of({}, none, some), "The run before holds" + rest);
  EXPECT_EQ(summary_of({}, some, none), "The run after holds" + rest);
}

std::string text_of(const Comparison& comparison, std::size_t top = 15) {
  return to_text(comparison, report_bound_by(Bound::kGpu), report_bound_by(Bound::kGpu), {.top = top});
}

TEST(DiffRows, ChangesAreInPercentFromAHalfOn) {
  Comparison comparison = comparison_of({});
  const std::tuple<std::optional<double>, std::optional<double>, const char*> cases[] = {{1'000, 1'000, "=\n"},
                                                                                         {1'000, 1'004.9, "=\n"},
                                                                                         {1'000, 1'005, "+0 %\n"},
                                                                                         {1'000, 1'006, "+1 %\n"},
                                                                                         {1'000, 994, "-1 %\n"},
                                                                                         {1'000, 0, "-100 %\n"},
                                                                                         {0, 5, "new\n"},
                                                                                         {-1, 5, "new\n"},
                                                                                         {1, 999, "+99800 %\n"},
                                                                                         {1, 1'000.9, "+99990 %\n"},
                                                                                         {1, 1'001, "> +99999 %\n"},
                                                                                         {{}, 5, "?\n"},
                                                                                         {5, {}, "?\n"},
                                                                                         {1, 1'002, "> +99999 %\n"}};
  for (const auto& [before, after, change] : cases) {
    comparison.before.duration_ns = before;
    comparison.after.duration_ns = after;
    const std::string text = text_of(comparison);
    const std::size_t row = text.find("  one step (median)");
    const std::string line = text.substr(row, text.find('\n', row) + 1 - row);
    EXPECT_TRUE(line.ends_with(change)) << line << " " << change;
  }
}

TEST(DiffRows, PlacesThatAreAsBeforeAreCounted) {
  const ItemChange same{.kind = ChangeKind::kSame, .before = item_at("a.py:1", 1), .after = item_at("a.py:1", 1)};
  const ItemChange moved{.kind = ChangeKind::kSame, .before = item_at("a.py:1", 1), .after = item_at("a.py:2", 1)};
  EXPECT_THAT(text_of(comparison_of({same})), HasSubstr("  1 place is as before.\n"));
  EXPECT_THAT(text_of(comparison_of({same, same})), HasSubstr("  2 places are as before.\n"));
  EXPECT_THAT(text_of(comparison_of({moved})), HasSubstr("  1 place is as before, on another line.\n"));
  EXPECT_THAT(text_of(comparison_of({moved, moved})), HasSubstr("  2 places are as before, on other lines.\n"));
  EXPECT_THAT(text_of(comparison_of({same, moved, moved})),
              HasSubstr("  3 places are as before, 2 of them on another line.\n"));
  EXPECT_THAT(text_of(comparison_of({same, moved})),
              HasSubstr("  2 places are as before, 1 of them on another line.\n"));
  EXPECT_THAT(text_of(comparison_of({})), Not(HasSubstr("as before.\n")));
}

TEST(DiffRows, AMovedPlaceIsNamedByBothLines) {
  const auto text = [](const std::string& before, const std::string& after) {
    return text_of(comparison_of({changed(item_at(before, 9'000), item_at(after, 1'000))}));
  };
  EXPECT_THAT(text("a.py:1", "a.py:2"), HasSubstr("changed  a.py:1 -> :2  "));
  EXPECT_THAT(text("a.py:1", "b.py:2"), HasSubstr("changed  a.py:1 -> b.py:2  "));
  EXPECT_THAT(text("a.py:1", "a.py:1"), HasSubstr("changed  a.py:1  "));
  EXPECT_THAT(text("function", "other"), HasSubstr("changed  function -> other  "));
}

TEST(DiffRows, UnknownCostsAreSaidToBe) {
  Item unknown = item_at("a.py:1", 0);
  unknown.figures.blocked_ns.reset();
  unknown.figures.exposed_ns.reset();
  EXPECT_THAT(text_of(comparison_of({changed(unknown, item_at("a.py:1", 1'000))})),
              HasSubstr("? -> 1.00 us       ?\n"));
}

TEST(DiffRows, TopLimitsThem) {
  const ItemChange one = changed(item_at("a.py:1", 9'000), item_at("a.py:1", 1'000));
  const ItemChange same{.kind = ChangeKind::kSame, .before = item_at("b.py:1", 1), .after = item_at("b.py:1", 1)};
  EXPECT_THAT(text_of(comparison_of({one, one, one, same}), 1), HasSubstr("  2 more: --top 3 shows them all\n"));
  EXPECT_THAT(text_of(comparison_of({one, one, one, same}), 3), Not(HasSubstr("more: --top")));
  EXPECT_THAT(text_of(comparison_of({one})), Not(HasSubstr("as before.\n")));
}

TEST(DiffRows, SavingsAreOfAStepWhereTheyAreKnown) {
  analyze::Finding finding;
  finding.rule = "rule";
  finding.title = "Title";
  analyze::Report report;
  analyze::FindingChange change{.before = {}, .after = finding};
  EXPECT_EQ(finding_text(change, report, report), "Title (rule); gain unknown");
  change.after->saving_step_ns = 2'000;
  change.after->saving_pct = 4;
  EXPECT_EQ(finding_text(change, report, report), "Title (rule); saves 2.00 us (4 %)");
  report.steps = analyze::Steps{.count = 3, .median_ns = 50'000};
  change.after->site = "a.py:1";
  EXPECT_EQ(finding_text(change, report, report), "Title at a.py:1 (rule); saves 2.00 us a step (4 %)");
  change.before = change.after;
  change.before->saving_step_low_ns = 1'000;
  change.before->saving_step_high_ns = 3'000;
  change.before->saving_step_expected_ns = 2'000;
  EXPECT_EQ(finding_text(change, report, report),
            "Title at a.py:1 (rule); saves 2.00 us a step (4 %; 1.00 us to 3.00 us) -> saves 2.00 us a step (4 %)");
}

TEST(DiffRows, WhatNeitherRunHasIsNoRow) {
  Comparison comparison = comparison_of({changed(item_at("a.py:1", 9'000), item_at("a.py:1", 1'000))});
  comparison.before.totals[0].count = 1;
  EXPECT_THAT(text_of(comparison), HasSubstr("  CPU > GPU  1 -> 0"));
  EXPECT_THAT(text_of(comparison), Not(HasSubstr("GPU > CPU")));
  EXPECT_THAT(text_of(comparison), Not(HasSubstr("synchronisations")));
  comparison.after.syncs.count = 2;
  EXPECT_THAT(text_of(comparison), HasSubstr("  synchronisations  0 -> 2"));
  EXPECT_THAT(text_of(comparison), HasSubstr("CPU blocked of synchronisations"));
  comparison.after.syncs.count = 0;
  comparison.before.syncs.count = 0.5;
  EXPECT_THAT(text_of(comparison), HasSubstr("  synchronisations  0.5 -> 0"));
  EXPECT_THAT(text_of(comparison), HasSubstr("CPU blocked of synchronisations"));
}

}  // namespace
}  // namespace turnpike::report
