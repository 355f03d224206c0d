// What is said where no finding says it.
#include "report/text/verdict_remark.h"

#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

using analyze::Bound;

constexpr const char* kMissingCalls =
    " Many of the transfers were started by calls that are not in the file, and no change can be tried on those: a "
    "longer recording knows more.";
constexpr const char* kNoSteps =
    " No steps were found, so start-up counts like the rest: mark each step, with profiler.step() under "
    "torch.profiler, "
    "else with torch.cuda.nvtx.range(\"step\"), and record again.";

analyze::Report report_bound_by(std::optional<Bound> bound_by) {
  analyze::Report report;
  report.steps.emplace();
  report.verdict.bound_by = bound_by;
  return report;
}

TEST(VerdictRemark, OfEachVerdict) {
  EXPECT_EQ(remark_on(report_bound_by(Bound::kGpu)),
            "The GPU computes nearly all the time: transfers and waits have little left to gain, and the kernels "
            "themselves are the thing to speed up.");
  EXPECT_EQ(remark_on(report_bound_by(Bound::kTransfer)),
            "The time is in the transfers below, but no change that Turnpike knows would gain much at any one line.");
  EXPECT_EQ(remark_on(report_bound_by(Bound::kSync)),
            "The CPU stands still in synchronisations and allocations, but none of them is known to be needless, or "
            "leaving it out would only move the wait.");
  EXPECT_EQ(remark_on(report_bound_by(Bound::kLaunch)),
            "The GPU waits for the CPU to issue its work, more than for any transfer or synchronisation.");
  EXPECT_EQ(remark_on(report_bound_by(Bound::kInput)),
            "For 0 % of the time the GPU waits for the next batch, but too seldom or too irregularly to tell what "
            "better loading would gain: record more steps.");
  EXPECT_EQ(remark_on(report_bound_by(Bound::kMixed)), "No single cause stands out.");
  EXPECT_EQ(remark_on(report_bound_by(std::nullopt)), "No single cause stands out.");
}

TEST(VerdictRemark, CopiesAreTooManyOnlyWhereTheyAreMoreThanTheComputing) {
  analyze::Report report = report_bound_by(Bound::kTransfer);
  report.verdict.exposed_transfer_pct = 30;
  EXPECT_EQ(remark_on(report),
            "The copies themselves are most of the time, and there is too little computing (?) to hide them behind. "
            "What helps is to copy less: keep on the GPU what goes up again, and send smaller types.");
  report.verdict.gpu_busy_pct = 30;
  EXPECT_TRUE(remark_on(report).starts_with("The time is in the transfers below"));
  report.verdict.gpu_busy_pct = 29;
  EXPECT_TRUE(
      remark_on(report).starts_with("The copies themselves are most of the time, and there is too little "
                                    "computing (29 %)"));
}

TEST(VerdictRemark, OfCommunicationAndOfUnrecordedWorkNamesTheShare) {
  analyze::Report report = report_bound_by(Bound::kCommunication);
  report.verdict.exposed_collective_pct = 26;
  EXPECT_EQ(remark_on(report),
            "For 26 % of the time the GPU runs only collectives: they wait for other ranks, or are too large to hide "
            "behind computing. Record all ranks to learn who waits for whom.");
  report.verdict.idle = analyze::IdleShares{.other_devices_pct = 27};
  EXPECT_EQ(remark_on(report),
            "For 27 % of the time a GPU waits for another GPU of the program: what they do in turns is the thing to do "
            "at the same time.");
  report = report_bound_by(Bound::kUnrecorded);
  report.verdict.idle = analyze::IdleShares{.quiet_pct = 20, .unrecorded_pct = 54};
  EXPECT_EQ(remark_on(report),
            "For 54 % of the time the GPU waits for work that is not in this recording, so nothing can be said about "
            "its cause: record the whole program, all of its processes and CUDA graphs included.");
}

TEST(VerdictRemark, OfTheHostIsOfAllocationsWhereTheyAreMore) {
  analyze::Report report = report_bound_by(Bound::kHost);
  report.verdict.idle = analyze::IdleShares{.quiet_pct = 20};
  report.verdict.idle->allocations_pct = 20;
  EXPECT_TRUE(remark_on(report).starts_with("For 20 % of the time the GPU has nothing to do because the program"));
  report.verdict.idle->allocations_pct = 21;
  EXPECT_EQ(remark_on(report),
            "For 21 % of the time the GPU has nothing to do because the CPU allocates, frees or page-locks memory: "
            "start-up does so once, and a loop should keep its memory.");
}

TEST(VerdictRemark, OfOtherWorkOnTheCpuNamesTheLine) {
  analyze::Report report = report_bound_by(Bound::kHost);
  report.verdict.idle =
      analyze::IdleShares{.copies_pct = 1, .syncs_pct = 2, .input_pct = 3, .launch_pct = 20, .quiet_pct = 21};
  const std::string sentence =
      "For 21 % of the time the GPU has nothing to do because the program is busy on the CPU without calling CUDA";
  EXPECT_EQ(remark_on(report), sentence + ": what it does there is the thing to speed up.");
  report.verdict.threads.resize(2);
  report.verdict.threads[1].busiest_lines = {"other.py:1"};
  EXPECT_EQ(remark_on(report), sentence + ": what it does there is the thing to speed up.");
  report.verdict.threads[0].busiest_lines = {"train.py:1 (40 %)", "train.py:2 (30 %)"};
  EXPECT_EQ(remark_on(report),
            sentence + ", mostly at train.py:1 (40 %): what it does there is the thing to speed up.");
}

TEST(VerdictRemark, NamesTheShareOfTheInput) {
  analyze::Report report = report_bound_by(Bound::kInput);
  report.verdict.idle =
      analyze::IdleShares{.copies_pct = 1, .syncs_pct = 2, .input_pct = 3, .launch_pct = 4, .quiet_pct = 5};
  EXPECT_TRUE(remark_on(report).starts_with("For 3 % of the time the GPU waits for the next batch"));
}

TEST(VerdictRemark, ManyCallsAreMissingFromMoreThanAQuarterOfTheBytesOn) {
  analyze::Report report = report_bound_by(Bound::kMixed);
  report.sites.resize(2);
  report.sites[0].bytes = 75;
  report.sites[1].bytes = 25;
  report.sites[1].missing_call = analyze::MissingCall::kUnknown;
  EXPECT_EQ(remark_on(report), "No single cause stands out.");
  report.sites[1].bytes = 26;
  EXPECT_EQ(remark_on(report), std::string("No single cause stands out.") + kMissingCalls);
}

TEST(VerdictRemark, StepsAreAskedForUnlessTheGpuIsTheLimit) {
  analyze::Report report = report_bound_by(Bound::kMixed);
  report.steps.reset();
  EXPECT_EQ(remark_on(report), std::string("No single cause stands out.") + kNoSteps);
  report.verdict.bound_by = analyze::Bound::kGpu;
  EXPECT_TRUE(remark_on(report).ends_with("the thing to speed up."));
}

// The CPU waits 500 ms of 2 s for a small download, while the GPU has other work for all but 20 ms.
analyze::Report report_with_a_wait() {
  analyze::Report report;
  report.span_ns = 2'000'000'000;
  analyze::Site site;
  site.site = "ddp.py:40";
  site.host_blocked_ns = 500'000'000;
  site.gpu_idle_ns = 20'000'000;
  site.device_time_ns = 3'000;
  report.sites = {analyze::Site{}, site};
  return report;
}

TEST(VerdictRemark, AWaitForAGpuThatIsBehindIsNoCause) {
  analyze::Report report = report_with_a_wait();
  EXPECT_EQ(wait_remark_on(report),
            "Not a problem: the CPU waits 500 ms at ddp.py:40. The GPU is at work for 96 % of it.");
  report.sites[1].library_site = "torch: optim/adam.py:7";
  EXPECT_TRUE(wait_remark_on(report).starts_with(
      "Not a problem: the CPU waits 500 ms at ddp.py:40 > torch: optim/adam.py:7. "));
  analyze::SyncSite sync;
  sync.site = "ddp.py:50";
  sync.host_blocked_ns = 600'000'000;
  sync.gpu_idle_ns = 0;
  report.sync_sites = {sync};
  EXPECT_TRUE(wait_remark_on(report).starts_with("Not a problem: the CPU waits 600 ms at ddp.py:50."));
  report.sync_sites[0].of_transfers_count = 1;
  EXPECT_TRUE(wait_remark_on(report).starts_with("Not a problem: the CPU waits 500 ms at ddp.py:40"));
}

TEST(VerdictRemark, NothingIsSaidOfAWaitThatMayCost) {
  EXPECT_EQ(wait_remark_on(analyze::Report{}), "");
  analyze::Report report = report_with_a_wait();
  report.sites[1].gpu_idle_ns = 50'000'000;
  EXPECT_EQ(wait_remark_on(report), "") << "the GPU idles for a tenth of it";
  report = report_with_a_wait();
  report.sites[1].device_time_ns = 40'000'000;
  EXPECT_EQ(wait_remark_on(report), "") << "it waits for its own bytes";
  report = report_with_a_wait();
  report.span_ns = 5'000'000'010;
  EXPECT_EQ(wait_remark_on(report), "") << "less than a tenth of the time";
  report = report_with_a_wait();
  report.findings.emplace_back().site = "ddp.py:40";
  EXPECT_EQ(wait_remark_on(report), "") << "a finding tells of it";
}

}  // namespace
}  // namespace turnpike::report
