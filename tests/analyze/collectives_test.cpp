// Collectives of two ranks: which met, who waited, and what a change gains when the other rank stays as it is.
#include "analyze/collectives.h"

#include <gtest/gtest.h>

#include "analyze/two_ranks.h"
#include "analyze/whatif_run.h"

namespace turnpike::analyze {
namespace {

constexpr int kSteps = 10;

TwoRanks playing(const RankWork& first, const RankWork& second) {
  TwoRanks program;
  for (int step = 0; step < kSteps; ++step) program.step(first, second);
  return program;
}

std::vector<RankCollectives> collectives_of(const std::vector<LoadedProcess>& processes) {
  std::vector<RankCollectives> ranks;
  for (const LoadedProcess& one : processes) ranks.push_back(collectives_of(one.process, one.timeline));
  return ranks;
}

// What a step takes with a change, over what it took; what both ranks do.
double change_of(const std::vector<LoadedProcess>& processes, Change change) {
  const auto answer = what_if(processes, {{change, ""}}, {});
  EXPECT_TRUE(answer && answer->predicted_step_ns);
  return answer && answer->predicted_step_ns ? *answer->predicted_step_ns - answer->measured_step_ns : 0;
}

TEST(Collectives, AreToldByTheNamesOfTheirKernels) {
  EXPECT_EQ(collective_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), "all-reduce");
  EXPECT_EQ(collective_of("ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)"), "reduce-scatter");
  EXPECT_EQ(collective_of("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), "all-gather");
  EXPECT_EQ(collective_of("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"), "");
  EXPECT_EQ(collective_of("void at::native::AllReduceLike<float>()"), "");
  EXPECT_EQ(collective_of(""), "");
}

TEST(Collectives, AreSplitIntoTheWaitForTheLastRankAndTheTransfer) {
  const auto processes = playing({.kernel_ns = 100'000}, {.kernel_ns = 400'000}).take();
  const auto meetings = match_collectives(collectives_of(processes));
  ASSERT_TRUE(meetings);
  ASSERT_EQ(meetings->size(), static_cast<std::size_t>(kSteps));
  for (const Meeting& meeting : *meetings) {
    EXPECT_EQ(meeting.collective, "all-reduce");
    EXPECT_EQ(meeting.last_rank, 1u);
    EXPECT_EQ(meeting.wait_ns(0), 300'000);
    EXPECT_EQ(meeting.wait_ns(1), 0);
    EXPECT_EQ(meeting.transfer_ns(0), TwoRanks::kTransferNs);
    EXPECT_EQ(meeting.transfer_ns(1), TwoRanks::kTransferNs);
  }
}

TEST(Collectives, OneThatOnlyOneFileHoldsIsPassedOver) {
  const auto processes = playing({.kernel_ns = 100'000}, {.kernel_ns = 200'000}).take();
  auto ranks = collectives_of(processes);
  ranks[1].streams[0].erase(ranks[1].streams[0].begin());
  const auto meetings = match_collectives(ranks);
  ASSERT_TRUE(meetings);
  EXPECT_EQ(meetings->size(), kSteps - 1u);
  for (const Meeting& meeting : *meetings) EXPECT_EQ(meeting.wait_ns(0), 100'000);
}

TEST(Collectives, OfClocksThatDisagreeAreNotMatched) {
  const auto processes = playing({.kernel_ns = 100'000}, {.kernel_ns = 200'000}).take();
  auto ranks = collectives_of(processes);
  for (auto& kernel : ranks[1].streams[0]) {
    kernel.start_ns += 3'600'000'000'000;
    kernel.end_ns += 3'600'000'000'000;
  }
  EXPECT_FALSE(match_collectives(ranks));
}

TEST(Collectives, OfDifferentKindsAreNotMatched) {
  const auto first = playing({.kernel_ns = 100'000}, {.kernel_ns = 200'000}).take();
  TwoRanks other("ncclDevKernel_AllGather_RING_LL(...)");
  for (int step = 0; step < kSteps; ++step) other.step({.kernel_ns = 100'000}, {.kernel_ns = 200'000});
  const auto second = other.take();
  auto ranks = collectives_of(first);
  ranks[1] = collectives_of(second)[1];
  EXPECT_FALSE(match_collectives(ranks));
}

TEST(Collectives, OfOneRankAloneAreNotMatched) {
  const auto processes = playing({.kernel_ns = 100'000}, {.kernel_ns = 200'000}).take();
  const auto ranks = collectives_of(processes);
  EXPECT_FALSE(match_collectives(std::span(ranks).first(1)));
}

TEST(WhatIfOfRanks, TheUnchangedGraphsTogetherGiveTheRecordingAgain) {
  const auto processes = playing({.kernel_ns = 100'000}, {.upload_ns = 250'000, .kernel_ns = 300'000}).take();
  const auto answer = what_if(processes, {}, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rank_count, 2u);
  EXPECT_EQ(answer->meeting_count, static_cast<std::size_t>(kSteps));
  EXPECT_FALSE(answer->has_lost_collectives);
  EXPECT_NEAR(answer->retimed_step_ns, answer->measured_step_ns, 0.001 * answer->measured_step_ns);
  EXPECT_NEAR(answer->typical_step_ns, answer->measured_step_ns, 0.02 * answer->measured_step_ns);
}

TEST(WhatIfOfRanks, ARankThatComesEarlierGainsNothingWhileItWaitsForTheOther) {
  // Rank 0 uploads and is there long before rank 1 all the same.
  const auto processes = playing({.upload_ns = 200'000, .kernel_ns = 100'000}, {.kernel_ns = 900'000}).take();
  EXPECT_NEAR(change_of(processes, Change::kHoistUpload), 0, 3000);
  // Alone its collective keeps its duration, wait and all, so the gain would be that of the upload.
  EXPECT_LT(change_of({processes[0]}, Change::kHoistUpload), -190'000);
}

TEST(WhatIfOfRanks, TheLastRankGainsUntilTheOtherIsTheLast) {
  // Without its upload of 500 us rank 1 would be there 400 us earlier than rank 0, so 100 us are gained.
  const auto processes = playing({.kernel_ns = 500'000}, {.upload_ns = 500'000, .kernel_ns = 100'000}).take();
  EXPECT_NEAR(change_of(processes, Change::kHoistUpload), -108'000, 8000);
}

TEST(WhatIfOfRanks, AChangeIsMadeOnEveryRank) {
  const RankWork both{.upload_ns = 300'000, .kernel_ns = 200'000};
  const auto processes = playing(both, both).take();
  EXPECT_NEAR(change_of(processes, Change::kHoistUpload), -305'000, 10'000);
}

TEST(WhatIfOfRanks, SaysThatCollectivesCouldNotBeMatched) {
  auto processes = playing({.kernel_ns = 100'000}, {.kernel_ns = 200'000}).take();
  for (Kernel& kernel : processes[1].timeline.kernels) {
    kernel.start_ns += 10'000'000'000;
    kernel.end_ns += 10'000'000'000;
  }
  const auto answer = what_if(processes, {}, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rank_count, 1u);
  EXPECT_TRUE(answer->has_lost_collectives);
}

TEST(WhatIfOfRanks, ProcessesWithoutCollectivesAreNotRetimedTogether) {
  ProcessBuilder other;
  other.call({.kind = trace::CallKind::kSynchronize, .start_ns = 0, .end_ns = 1000, .correlation = 1});
  auto processes = playing({.kernel_ns = 100'000}, {.kernel_ns = 200'000}).take();
  processes.push_back(other.take());
  const auto answer = what_if(processes, {}, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rank_count, 2u);
}

TEST(WhatIfOfRanks, ARunWithoutProcessesIsAnError) {
  EXPECT_FALSE(what_if({}, {}, {}));
}

}  // namespace
}  // namespace turnpike::analyze
