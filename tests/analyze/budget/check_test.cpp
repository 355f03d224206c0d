// Runs against budgets.
#include "analyze/budget/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/budget/budget_file.h"
#include "analyze/report_maker.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CheckResult checked(const Report& report, const std::string& budget) {
  const auto parsed = parse_budget(budget, "b.toml");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? check(report, *parsed) : CheckResult{};
}

// Of a budget with one limit.
LimitResult checked_one(const Report& report, const std::string& budget) {
  const CheckResult result = checked(report, budget);
  return result.limits.empty() ? LimitResult{} : result.limits.front();
}

Report two_uploads_and_a_download() {
  Report report = report_with({site_of({.line = 30, .bytes = 5000, .blocked_ns = 100'000}), site_of({.line = 31}),
                               site_of({.line = 40, .bytes = 4, .direction = Direction::kDeviceToHost}),
                               site_of({.line = 50, .bytes = 1'000'000, .direction = Direction::kMemset})});
  report.sync_sites = {sync_of(40, 1, 8'000, 8'000), sync_of(60, 2, 30'000)};
  return report;
}

TEST(Check, ALimitThatIsMetIsKept) {
  const LimitResult limit = checked_one(two_uploads_and_a_download(), "[per_step]\nh2d_count = 2\n");
  EXPECT_EQ(limit.outcome, Outcome::kWithin);
  EXPECT_EQ(limit.measured, 2.0);
  EXPECT_THAT(limit.culprits, IsEmpty());
}

TEST(Check, ABreachNamesItsPlacesLargestFirst) {
  const LimitResult limit = checked_one(two_uploads_and_a_download(), "[per_step]\nh2d_bytes = \"5 kB\"\n");
  EXPECT_EQ(limit.outcome, Outcome::kExceeded);
  EXPECT_EQ(limit.measured, 6000.0);
  ASSERT_THAT(limit.culprits, SizeIs(2));
  EXPECT_EQ(limit.culprits[0].item.line, 30u);
  EXPECT_EQ(limit.culprits[0].share, 5000);
}

TEST(Check, MemsetCountsOnlyWhereItIsNamed) {
  const Report report = two_uploads_and_a_download();
  EXPECT_EQ(checked_one(report, "[per_step]\ncount = 9\n").measured, 3.0);
  EXPECT_EQ(checked_one(report, "[per_step]\nmemset_count = 9\n").measured, 1.0);
}

TEST(Check, BlockedTimeCountsEachWaitOnce) {
  // 100 + 10 + 10 of copies, and 60 of synchronisations; 8 of these belong to a copy.
  EXPECT_EQ(checked_one(two_uploads_and_a_download(), "[per_step]\nblocked = \"1 s\"\n").measured, 150'000.0);
  EXPECT_EQ(checked_one(two_uploads_and_a_download(), "[per_step]\nh2d_blocked = \"1 s\"\n").measured, 110'000.0);
}

TEST(Check, SynchronisationsAreCounted) {
  const LimitResult limit = checked_one(two_uploads_and_a_download(), "[per_step]\nsyncs = 1\n");
  EXPECT_EQ(limit.measured, 3.0);
  EXPECT_EQ(limit.culprits[0].item.line, 60u);
}

TEST(Check, AllowedPlacesAreNotCounted) {
  const LimitResult limit =
      checked_one(two_uploads_and_a_download(), "[per_step]\nh2d_count = 1\n[[allow]]\nsite = \"train.py:30\"\n");
  EXPECT_EQ(limit.outcome, Outcome::kWithin);
  EXPECT_EQ(limit.measured, 1.0);
}

TEST(Check, AnAllowanceCanBeOfOneDirection) {
  const std::string allow = "[[allow]]\nsite = \"train.py\"\ndirection = \"d2h\"\n";
  EXPECT_EQ(checked_one(two_uploads_and_a_download(), "[per_step]\ncount = 9\n" + allow).measured, 2.0);
  EXPECT_EQ(checked_one(two_uploads_and_a_download(), "[per_step]\nd2h_count = 9\n" + allow).measured, 0.0);
}

TEST(Check, ALimitForOnePlaceIsAboutThatPlace) {
  EXPECT_EQ(checked_one(two_uploads_and_a_download(), "[[limit]]\nsite = \"train.py:40\"\ncount = 0\n").outcome,
            Outcome::kExceeded);
  EXPECT_EQ(checked_one(two_uploads_and_a_download(), "[[limit]]\nsite = \"train.py:41\"\ncount = 0\noptional = true\n")
                .outcome,
            Outcome::kWithin);
}

TEST(Check, APatternThatFitsNothingFailsUnlessItIsOptional) {
  const std::string limit = "[[limit]]\nsite = \"train.py:41\"\ncount = 0\n";
  const std::string allow = "[[allow]]\nsite = \"train.py:30\"\n[[allow]]\nsite = \"gone.py\"\n";
  const CheckResult missed = checked(two_uploads_and_a_download(), limit + allow);
  EXPECT_EQ(missed.unknown_count, 2u);
  std::vector<std::pair<std::string, std::uint32_t>> named;
  for (const LimitResult& one : missed.limits) {
    if (one.outcome == Outcome::kUnknown) named.emplace_back(one.name, one.line);
  }
  EXPECT_THAT(named, ElementsAre(std::pair("limit 1 (train.py:41): site", 3u), std::pair("allow (gone.py): site", 6u)));
  const std::string optional = "optional = true\n";
  const CheckResult fine = checked(two_uploads_and_a_download(), limit + optional + allow + optional);
  EXPECT_TRUE(fine.is_passed());
  EXPECT_THAT(fine.notes, ElementsAre("optional: nothing in this run is at gone.py.",
                                      "optional: nothing in this run is at train.py:41."));
}

TEST(Check, ARuleThatIsNoneFailsUnlessItIsOptional) {
  const std::string budget = "[findings]\nforbid = [\"implicit_snyc\", \"implicit_*\"]\n";
  const CheckResult missed = checked(report_with({}), budget);
  EXPECT_EQ(missed.unknown_count, 1u);
  EXPECT_THAT(missed.notes, IsEmpty());
  const CheckResult fine = checked(report_with({}), budget + "optional = true\n");
  EXPECT_TRUE(fine.is_passed());
  EXPECT_THAT(fine.notes, ElementsAre(HasSubstr("implicit_snyc")));
}

TEST(Check, LimitsOfAStepFailWithoutSteps) {
  Report report = two_uploads_and_a_download();
  report.steps.reset();
  const LimitResult limit = checked_one(report, "[per_step]\nh2d_count = 100\n");
  EXPECT_EQ(limit.outcome, Outcome::kUnknown);
  EXPECT_EQ(limit.measured, std::nullopt);
  EXPECT_THAT(limit.why, HasSubstr("range_push(\"step\")"));
  EXPECT_THAT(limit.why, HasSubstr("[per_run]"));
}

TEST(Check, LimitsOfARunNeedNoSteps) {
  Report report = two_uploads_and_a_download();
  report.steps.reset();
  EXPECT_EQ(checked_one(report, "[per_run]\nh2d_count = 22\nduration = \"1 s\"\n").measured, 22.0);
  EXPECT_EQ(checked_one(report, "[per_run]\nduration = \"1 s\"\n").measured, 1e8);
}

TEST(Check, AStepTakesWhatTheDevicesTakeWhereTheHostRunsAhead) {
  Report report = two_uploads_and_a_download();
  report.steps->device_median_ns = 9'000'000;
  EXPECT_EQ(checked_one(report, "[per_step]\nduration = \"1 s\"\n").measured, 9e6);
  report.steps->device_median_ns = 4'100'000;
  EXPECT_EQ(checked_one(report, "[per_step]\nduration = \"1 s\"\n").measured, 4e6);
}

TEST(Check, WhatTheRunCannotTellFails) {
  Report report = two_uploads_and_a_download();
  report.sites[1].in_steps.host_blocked_ns.reset();
  const LimitResult limit = checked_one(report, "[per_step]\nblocked = \"1 s\"\n");
  EXPECT_EQ(limit.outcome, Outcome::kUnknown);
  EXPECT_THAT(limit.why, HasSubstr("train.py:31"));
  EXPECT_FALSE(checked(report, "[per_step]\nblocked = \"1 s\"\n").is_passed());
}

TEST(Check, WhatIsKnownCanBeTooMuchAlready) {
  Report report = two_uploads_and_a_download();
  report.sites[1].in_steps.host_blocked_ns.reset();
  EXPECT_EQ(checked_one(report, "[per_step]\nblocked = \"20 us\"\n").outcome, Outcome::kExceeded);
}

TEST(Check, TheVerdictIsOneOfThoseThatAreFine) {
  EXPECT_EQ(checked_one(report_with({}), "[verdict]\nbound_by = [\"gpu\", \"sync\"]\n").outcome, Outcome::kWithin);
  const LimitResult limit = checked_one(report_with({}), "[verdict]\nbound_by = [\"gpu\"]\n");
  EXPECT_EQ(limit.outcome, Outcome::kExceeded);
  EXPECT_EQ(limit.measured_text, "sync");
  EXPECT_EQ(limit.why, "Why.");
}

TEST(Check, AnUnknownVerdictFails) {
  Report report = report_with({});
  report.verdict = {};
  EXPECT_EQ(checked_one(report, "[verdict]\nbound_by = [\"gpu\"]\n").outcome, Outcome::kUnknown);
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_exposed_transfer_pct = 100\n").outcome, Outcome::kUnknown);
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_gpu_idle_pct = 100\n").outcome, Outcome::kUnknown);
}

TEST(Check, ForbiddenFindingsFail) {
  Report report = two_uploads_and_a_download();
  report.findings = {finding_of("implicit_sync", "train.py:40", 12.0), finding_of("late_loader", "train.py:30", 2.0)};
  const LimitResult limit = checked_one(report, "[findings]\nforbid = [\"implicit_*\"]\n");
  EXPECT_EQ(limit.outcome, Outcome::kExceeded);
  EXPECT_EQ(limit.measured_text, "implicit_sync at train.py:40");
  ASSERT_THAT(limit.culprits, SizeIs(1));
  EXPECT_EQ(limit.culprits[0].item.file, "/home/me/train.py");
  EXPECT_EQ(checked_one(report, "[findings]\nforbid = [\"many_small_copies\"]\n").outcome, Outcome::kWithin);
  EXPECT_EQ(checked_one(report, "[findings]\nforbid = [\"*\"]\n[[allow]]\nsite = \"train.py:*\"\n").outcome,
            Outcome::kWithin);
}

TEST(Check, ASavingLeftIsLimited) {
  Report report = two_uploads_and_a_download();
  report.findings = {finding_of("implicit_sync", "train.py:40", 12.0), finding_of("unsafe_use", "train.py:30")};
  const LimitResult limit = checked_one(report, "[findings]\nmax_saving_pct = 5\n");
  EXPECT_EQ(limit.outcome, Outcome::kExceeded);
  EXPECT_EQ(limit.measured, 12.0);
  EXPECT_EQ(checked_one(report, "[findings]\nmax_saving_pct = 12\n").outcome, Outcome::kWithin);
}

TEST(Check, LossesFailUnlessTheyAreAllowed) {
  Report report = report_with({});
  report.losses = {{"cupti_dropped", 7}};
  const std::string limit = "[per_step]\ncount = 9\n";
  EXPECT_FALSE(checked(report, limit).is_passed());
  EXPECT_EQ(checked(report, limit).limits.back().measured_text, "7 x cupti_dropped");
  EXPECT_FALSE(checked(report, limit + "[losses]\nallow = false\n").is_passed());
  EXPECT_FALSE(checked(report, limit + "[losses]\nallow = [\"stack_truncated\"]\n").is_passed());
  EXPECT_TRUE(checked(report, limit + "[losses]\nallow = [\"cupti_dropped\"]\n").is_passed());
  EXPECT_TRUE(checked(report, limit + "[losses]\nallow = true\n").is_passed());
}

TEST(Check, AProcessThatCouldNotBeRecordedIsALoss) {
  Report report = report_with({});
  report.source.unusable = {"no CUPTI"};
  EXPECT_FALSE(checked(report, "[per_step]\ncount = 9\n").is_passed());
}

TEST(Check, ARunThatHoldsNothingKeepsToNoLimit) {
  Report report = report_with({});
  report.span_ns = 0;
  const std::string budget = "[per_run]\nd2h_count = 0\n[losses]\nallow = true\n";
  const CheckResult result = checked(report, budget);
  EXPECT_FALSE(result.is_passed());
  ASSERT_THAT(result.limits, SizeIs(3));
  EXPECT_EQ(result.limits.back().name, "recording");
  EXPECT_THAT(result.limits.back().why, HasSubstr("holds nothing of a GPU"));
  report.source.unusable = {"no CUPTI"};
  EXPECT_EQ(checked(report, budget).limits.back().why, "nothing was recorded: no CUPTI");
  report.span_ns = 1;
  EXPECT_TRUE(checked(report, budget).is_passed());
}

TEST(Check, WithoutKernelsAProcessThatHadCudaReadyMovedNothing) {
  Report report = report_with({});
  report.span_ns = 0;
  report.source.detail = kTransfersDetail;
  report.source.devices.clear();
  EXPECT_FALSE(checked(report, "[per_run]\nd2h_count = 0\n").is_passed());
  report.source.devices.emplace_back();
  EXPECT_TRUE(checked(report, "[per_run]\nd2h_count = 0\n").is_passed());
  report.source.detail = "full";
  EXPECT_FALSE(checked(report, "[per_run]\nd2h_count = 0\n").is_passed());
}

TEST(Check, ResultsStandAsInTheFile) {
  const CheckResult result =
      checked(two_uploads_and_a_download(), "[verdict]\nbound_by = \"sync\"\n[per_step]\nsyncs = 9\ncount = 9\n");
  std::vector<std::string> names;
  for (const LimitResult& limit : result.limits) names.push_back(limit.name);
  EXPECT_THAT(names, ElementsAre("verdict.bound_by", "per_step.syncs", "per_step.count", "losses.allow"));
}

TEST(Check, ALimitIsExceededByTheSmallestPart) {
  const Report report = two_uploads_and_a_download();
  EXPECT_EQ(checked_one(report, "[per_step]\nh2d_bytes = 6000\n").outcome, Outcome::kWithin);
  EXPECT_EQ(checked_one(report, "[per_step]\nh2d_bytes = 5999\n").outcome, Outcome::kExceeded);
  EXPECT_EQ(checked_one(report, "[per_step]\nduration = \"4 ms\"\n").outcome, Outcome::kWithin);
  EXPECT_EQ(checked_one(report, "[per_step]\nduration = \"3.999999 ms\"\n").outcome, Outcome::kExceeded);
  // But for what rounding makes: a billionth.
  Report third = report_with({site_of({.line = 30})});
  third.steps->whole_count = 3;
  EXPECT_EQ(checked_one(third, "[per_step]\ncount = 3.333333333\n").outcome, Outcome::kWithin);
  EXPECT_EQ(checked_one(third, "[per_step]\ncount = 3.33333\n").outcome, Outcome::kExceeded);
  EXPECT_EQ(checked_one(report_with({site_of({.line = 30})}), "[per_run]\ncount = 10.99999999\n").outcome,
            Outcome::kWithin);
}

TEST(Check, OfManyPlacesTheThreeLargestAreNamed) {
  const Report report = report_with({site_of({.line = 1, .bytes = 10}), site_of({.line = 2, .bytes = 40}),
                                     site_of({.line = 3, .bytes = 20}), site_of({.line = 4, .bytes = 30})});
  const LimitResult limit = checked_one(report, "[per_step]\nbytes = 99\n");
  EXPECT_EQ(limit.measured, 100.0);
  ASSERT_THAT(limit.culprits, SizeIs(3));
  EXPECT_EQ(limit.culprits[0].item.line, 2u);
  EXPECT_EQ(limit.culprits[0].share, 40);
  EXPECT_EQ(limit.culprits[1].item.line, 4u);
  EXPECT_EQ(limit.culprits[2].item.line, 3u);
}

TEST(Check, EachMeasureCountsItsOwnThings) {
  const Report report = two_uploads_and_a_download();
  const auto measured = [&](const std::string& limit) {
    return checked_one(report, "[per_step]\n" + limit + "\n").measured;
  };
  EXPECT_EQ(measured("count = 9"), 3.0);
  EXPECT_EQ(measured("d2h_count = 9"), 1.0);
  EXPECT_EQ(measured("bytes = 9"), 6004.0);
  EXPECT_EQ(measured("d2h_bytes = 9"), 4.0);
  EXPECT_EQ(measured("d2h_blocked = \"1 s\""), 10'000.0);
  EXPECT_EQ(measured("exposed = \"1 s\""), 6000.0);  // 2 us each, without the memset; synchronisations have none
  EXPECT_EQ(measured("h2d_exposed = \"1 s\""), 4000.0);
  EXPECT_EQ(measured("syncs = 9"), 3.0);
  EXPECT_EQ(measured("duration = \"1 s\""), 4e6);
  EXPECT_EQ(measured("p2p_count = 0"), 0.0);
}

TEST(Check, PageableTransfersAreThoseWithPageableMemoryOnTheHost) {
  Report report = two_uploads_and_a_download();
  report.sites[0].src_kind = "pageable";
  report.sites[1].src_kind = "pinned";
  report.sites[1].dst_kind = "pageable";  // the device's side says nothing
  report.sites[2].src_kind = "device";
  report.sites[2].dst_kind = "pageable";
  const LimitResult limit = checked_one(report, "[per_step]\npageable = 1\n");
  EXPECT_EQ(limit.measured, 2.0);
  EXPECT_EQ(limit.outcome, Outcome::kExceeded);
  EXPECT_EQ(limit.kind, ValueKind::kAmount);
  EXPECT_THAT(limit.culprits, SizeIs(2));
  report.sites[2].dst_kind = std::nullopt;
  const LimitResult unknown = checked_one(report, "[per_step]\npageable = 1\n");
  EXPECT_EQ(unknown.outcome, Outcome::kUnknown);
  EXPECT_THAT(unknown.why, HasSubstr("which memory of the host"));
}

TEST(Check, KindsOfValuesAreThoseOfTheirMeasures) {
  const auto kind_of = [](const std::string& budget) { return checked_one(two_uploads_and_a_download(), budget).kind; };
  EXPECT_EQ(kind_of("[per_step]\ncount = 9\n"), ValueKind::kAmount);
  EXPECT_EQ(kind_of("[per_step]\nsyncs = 9\n"), ValueKind::kAmount);
  EXPECT_EQ(kind_of("[per_step]\nbytes = 9\n"), ValueKind::kBytes);
  EXPECT_EQ(kind_of("[per_step]\nblocked = \"1 s\"\n"), ValueKind::kDuration);
  EXPECT_EQ(kind_of("[per_step]\nexposed = \"1 s\"\n"), ValueKind::kDuration);
  EXPECT_EQ(kind_of("[per_step]\nduration = \"1 s\"\n"), ValueKind::kDuration);
  EXPECT_EQ(kind_of("[verdict]\nmax_gpu_idle_pct = 3\n"), ValueKind::kPercent);
  EXPECT_EQ(kind_of("[verdict]\nbound_by = \"gpu\"\n"), ValueKind::kText);
  EXPECT_EQ(kind_of("[findings]\nmax_saving_pct = 3\n"), ValueKind::kPercent);
  EXPECT_EQ(kind_of("[findings]\nforbid = [\"late_loader\"]\n"), ValueKind::kText);
}

TEST(Check, SaysAllPlacesThatTheRunCannotTell) {
  Report report = two_uploads_and_a_download();
  report.sites[1].in_steps.exposed_ns.reset();
  EXPECT_EQ(checked_one(report, "[per_step]\nexposed = \"1 s\"\n").why,
            "the run does not tell how much of the copying was not overlapped at train.py:31. Record with --detail "
            "full, or [[allow]] these places.");
  for (Site& site : report.sites) site.in_steps.host_blocked_ns.reset();
  EXPECT_EQ(checked_one(report, "[per_step]\nblocked = \"1 s\"\n").why,
            "the run does not tell how long the CPU was blocked at train.py:30 and 2 other places. Record with "
            "--detail full, or [[allow]] these places.");
}

TEST(Check, AdvisesForTheToolThatRecorded) {
  Report report = report_with({});
  report.verdict = {};
  const auto advice_for = [&](const std::string& kind) {
    report.source.kind = kind;
    const std::string why = checked_one(report, "[verdict]\nmax_gpu_idle_pct = 3\n").why;
    return why.substr(why.find(". ") + 2);
  };
  EXPECT_EQ(advice_for("turnpike"), "Record with --detail full, on a program that uses the GPU.");
  EXPECT_EQ(advice_for("kineto"),
            "Profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], on a program that uses the GPU.");
  EXPECT_EQ(advice_for("nsys"), "Profile with nsys profile --trace=cuda,nvtx, on a program that uses the GPU.");
  EXPECT_EQ(advice_for("mixed"), "Record the kernels of every process, on a program that uses the GPU.");
}

TEST(Check, PercentagesOfTheVerdictAreLimited) {
  const Report report = report_with({});  // 5 % and 70 %
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_exposed_transfer_pct = 5\n").outcome, Outcome::kWithin);
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_exposed_transfer_pct = 4.9\n").outcome, Outcome::kExceeded);
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_exposed_transfer_pct = 4.9\n").measured, 5.0);
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_exposed_transfer_pct = 4.9\n").most, 4.9);
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_gpu_idle_pct = 70\n").outcome, Outcome::kWithin);
  EXPECT_EQ(checked_one(report, "[verdict]\nmax_gpu_idle_pct = 69\n").outcome, Outcome::kExceeded);
}

TEST(Check, CountsWhatIsExceededAndWhatIsUnknown) {
  Report report = two_uploads_and_a_download();
  report.verdict.gpu_idle_pct.reset();
  const CheckResult result = checked(report,
                                     "[per_step]\nh2d_count = 1\nd2h_count = 0\nbytes = 99999\n"
                                     "[verdict]\nmax_gpu_idle_pct = 99\n");
  EXPECT_EQ(result.exceeded_count, 2u);
  EXPECT_EQ(result.unknown_count, 1u);
  EXPECT_TRUE(result.has_steps);
  EXPECT_FALSE(result.is_passed());
  CheckResult exceeded;
  exceeded.exceeded_count = 1;
  EXPECT_FALSE(exceeded.is_passed());
  report.steps.reset();
  EXPECT_FALSE(checked(report, "[per_run]\ncount = 99\n").has_steps);
}

TEST(Check, LimitsOfOnePlaceAreOfItsDirection) {
  Report report = two_uploads_and_a_download();
  report.sites[2].line = 30;
  report.sites[2].site = "train.py:30";
  const auto measured = [&](const std::string& more) {
    return checked_one(report, "[[limit]]\nsite = \"train.py:30\"\ncount = 9\n" + more).measured;
  };
  EXPECT_EQ(measured(""), 2.0);
  EXPECT_EQ(measured("direction = \"d2h\"\n"), 1.0);
  EXPECT_EQ(measured("per = \"run\"\n"), 22.0);
}

TEST(Check, TheBestOfTheSavingsLeftIsMeasuredAndAllAreNamed) {
  Report report = two_uploads_and_a_download();
  for (const auto& [site, saving] :
       {std::pair("a.py:1", 4.0), {"train.py:30", 9.0}, {"b.py:1", 7.0}, {"c.py:1", 8.0}, {"d.py:1", 6.0}}) {
    report.findings.push_back(finding_of("implicit_sync", site, saving));
  }
  const LimitResult limit = checked_one(report, "[findings]\nmax_saving_pct = 5\n");
  EXPECT_EQ(limit.measured, 9.0);
  ASSERT_THAT(limit.culprits, SizeIs(3));
  EXPECT_EQ(limit.culprits[0].item.site, "train.py:30");
  EXPECT_EQ(limit.culprits[0].item.line, 30u);
  EXPECT_EQ(limit.culprits[0].share, 9.0);
  EXPECT_EQ(limit.culprits[1].item.site, "c.py:1");
  EXPECT_EQ(limit.culprits[2].item.site, "b.py:1");
  EXPECT_EQ(checked_one(report, "[findings]\nmax_saving_pct = 8\n[[allow]]\nsite = \"train.py:30\"\n").outcome,
            Outcome::kWithin);
}

TEST(Check, AllForbiddenFindingsAreNamedAndThreeOfTheirPlaces) {
  Report report = report_with({});
  for (const char* site : {"a.py:1", "", "b.py:1", "c.py:1", "d.py:1"}) {
    report.findings.push_back(finding_of("implicit_sync", site, 3.0));
  }
  const LimitResult limit = checked_one(report, "[findings]\nforbid = [\"implicit_sync\", \"late_loader\"]\n");
  EXPECT_EQ(limit.most_text, "no implicit_sync, late_loader");
  EXPECT_EQ(limit.measured_text,
            "implicit_sync at a.py:1, implicit_sync, implicit_sync at b.py:1, implicit_sync at c.py:1, implicit_sync "
            "at d.py:1");
  ASSERT_THAT(limit.culprits, SizeIs(3));
  EXPECT_EQ(limit.culprits[2].item.site, "c.py:1");
  EXPECT_EQ(checked_one(report_with({}), "[findings]\nforbid = [\"late_loader\"]\n").measured_text, "none");
}

TEST(Check, SaysWhichVerdictsAndLossesAreFine) {
  Report report = report_with({});
  report.losses = {{"cupti_dropped", 7}, {"stack_truncated", 2}};
  report.source.unusable = {"no CUPTI"};
  const auto losses = [&](const std::string& budget) { return checked(report, budget).limits.back(); };
  EXPECT_EQ(losses("[per_step]\ncount = 9\n").most_text, "none");
  EXPECT_EQ(losses("[per_step]\ncount = 9\n").measured_text,
            "7 x cupti_dropped, 2 x stack_truncated, processes that could not be recorded");
  EXPECT_EQ(losses("[losses]\nallow = [\"cupti_dropped\", \"stack_truncated\"]\n").most_text,
            "only cupti_dropped, stack_truncated");
  EXPECT_EQ(losses("[losses]\nallow = [\"cupti_dropped\", \"stack_truncated\"]\n").outcome, Outcome::kExceeded);
  EXPECT_EQ(losses("[losses]\nallow = true\n").most_text, "any");
  EXPECT_EQ(losses("[losses]\nallow = true\n").outcome, Outcome::kWithin);
  EXPECT_EQ(losses("[losses]\nallow = true\n").why, "");
  EXPECT_THAT(losses("[losses]\nallow = false\n").why, HasSubstr("may have exceeded a limit unseen"));
  EXPECT_EQ(checked(report_with({}), "[losses]\nallow = false\n").limits.back().measured_text, "none");
  const LimitResult bound = checked_one(report, "[verdict]\nbound_by = [\"gpu\", \"sync\"]\n");
  EXPECT_EQ(bound.most_text, "gpu or sync");
  EXPECT_EQ(bound.why, "");
  EXPECT_EQ(name_of(Outcome::kWithin), std::string("ok"));
  EXPECT_EQ(name_of(Outcome::kExceeded), std::string("exceeded"));
  EXPECT_EQ(name_of(Outcome::kUnknown), std::string("unknown"));
}

TEST(Check, AnUnknownVerdictSaysWhy) {
  Report report = report_with({});
  report.verdict = {};
  EXPECT_EQ(checked_one(report, "[verdict]\nbound_by = [\"gpu\"]\n").why,
            "what limits this run is unknown. Record with --detail full.");
  report.verdict.why = "Because.";
  EXPECT_EQ(checked_one(report, "[verdict]\nbound_by = [\"gpu\"]\n").why, "Because.");
}

// Two limits of one place miss it once.
TEST(Check, AMissingPlaceIsSaidOnce) {
  const CheckResult result = checked(
      report_with({}), "[[limit]]\nsite = \"a.py\"\ncount = 1\nbytes = 1\n[[limit]]\nsite = \"b.py\"\nsyncs = 1\n");
  EXPECT_EQ(result.unknown_count, 2u);
}

}  // namespace
}  // namespace turnpike::analyze
