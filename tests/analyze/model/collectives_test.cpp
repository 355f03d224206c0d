// Collectives of two ranks: which met, who waited, and what a change gains when the other rank stays as it is.
#include "analyze/model/collectives.h"

#include <gtest/gtest.h>

#include "analyze/two_ranks.h"
#include "analyze/whatif_run.h"

namespace turnpike::analyze {
namespace {

constexpr int kStepsOfARank = 10;

TwoRanks playing(const RankWork& first, const RankWork& second) {
  TwoRanks program;
  for (int step = 0; step < kStepsOfARank; ++step) program.step(first, second);
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
  ASSERT_EQ(meetings->size(), static_cast<std::size_t>(kStepsOfARank));
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
  EXPECT_EQ(meetings->size(), kStepsOfARank - 1u);
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
  for (int step = 0; step < kStepsOfARank; ++step) other.step({.kernel_ns = 100'000}, {.kernel_ns = 200'000});
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
  EXPECT_EQ(answer->meeting_count, static_cast<std::size_t>(kStepsOfARank));
  EXPECT_FALSE(answer->has_lost_collectives);
  EXPECT_EQ(answer->measured_step_ns, 619'000);  // 258 + 5 + 300 + 1, 50, 5
  EXPECT_EQ(answer->retimed_step_ns, answer->measured_step_ns);
  EXPECT_NEAR(answer->typical_step_ns, answer->measured_step_ns, 0.02 * answer->measured_step_ns);
}

TEST(WhatIfOfRanks, ARankThatComesEarlierGainsNothingWhileItWaitsForTheOther) {
  // Rank 0 uploads and is there long before rank 1 all the same.
  const auto processes = playing({.upload_ns = 200'000, .kernel_ns = 100'000}, {.kernel_ns = 900'000}).take();
  EXPECT_NEAR(change_of(processes, Change::kHoistUpload), 0, 1);
  // Alone its collective keeps its duration, wait and all, so the gain would be that of the upload.
  EXPECT_NEAR(change_of({processes[0]}, Change::kHoistUpload), -208'000, 1);
}

TEST(WhatIfOfRanks, TheLastRankGainsUntilTheOtherIsTheLast) {
  // Without its upload of 500 us rank 1 would be there 400 us earlier than rank 0, so 100 us are gained.
  const auto processes = playing({.kernel_ns = 500'000}, {.upload_ns = 500'000, .kernel_ns = 100'000}).take();
  EXPECT_NEAR(change_of(processes, Change::kHoistUpload), -108'000, 1);
}

TEST(WhatIfOfRanks, AChangeIsMadeOnEveryRank) {
  const RankWork both{.upload_ns = 300'000, .kernel_ns = 200'000};
  const auto processes = playing(both, both).take();
  EXPECT_NEAR(change_of(processes, Change::kHoistUpload), -308'000, 1);
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

// By stream, the starts and ends of all-reduces.
RankCollectives rank_of(const std::vector<std::vector<Interval>>& streams, const char* collective = "all-reduce") {
  RankCollectives rank;
  for (const auto& stream : streams) {
    rank.streams.emplace_back();
    for (const Interval& one : stream) rank.streams.back().push_back({one.start_ns, one.end_ns, 0, collective});
  }
  return rank;
}

std::optional<std::vector<Meeting>> matched(const std::vector<RankCollectives>& ranks) {
  return match_collectives(ranks);
}

TEST(Collectives, MeetWhereTheyOverlapButForTwentyMicroseconds) {
  EXPECT_TRUE(matched({rank_of({{{0, 1000}}}), rank_of({{{21'000, 30'000}}})}));
  EXPECT_FALSE(matched({rank_of({{{0, 1000}}}), rank_of({{{21'001, 30'000}}})}));
}

TEST(Collectives, NeedNineOfTenToMeet) {
  std::vector<Interval> all;
  for (std::int64_t i = 0; i < 10; ++i) all.push_back({i * 1'000'000, i * 1'000'000 + 1000});
  const std::vector<Interval> nine(all.begin(), all.begin() + 9);
  const std::vector<Interval> eight(all.begin(), all.begin() + 8);
  ASSERT_TRUE(matched({rank_of({all}), rank_of({nine})}));
  EXPECT_EQ(matched({rank_of({all}), rank_of({nine})})->size(), 9u);
  EXPECT_FALSE(matched({rank_of({all}), rank_of({eight})}));
  EXPECT_FALSE(matched({rank_of({eight}), rank_of({all})}));
}

TEST(Collectives, OfAsManyStreamsAreMatched) {
  EXPECT_TRUE(matched({rank_of({{{0, 10}}, {{5, 20}}}), rank_of({{{0, 10}}, {{5, 20}}})}));
  EXPECT_FALSE(matched({rank_of({{{0, 10}}, {{5, 20}}}), rank_of({{{0, 10}}})}));
  EXPECT_FALSE(matched({rank_of({}), rank_of({})}));
}

TEST(Collectives, AreOrderedByTheirCompletion) {
  const auto meetings = matched({rank_of({{{0, 100}, {200, 300}}, {{50, 120}}}),  //
                                 rank_of({{{70, 100}, {210, 300}}, {{60, 120}}})});
  ASSERT_TRUE(meetings);
  ASSERT_EQ(meetings->size(), 3u);
  EXPECT_EQ((*meetings)[0].complete_ns, 60);
  EXPECT_EQ((*meetings)[1].complete_ns, 70);
  EXPECT_EQ((*meetings)[2].complete_ns, 210);
}

// Of three ranks, each waits for the one that comes last; what is left is the transfer.
TEST(Collectives, OfThreeRanksWaitForTheLast) {
  const auto meetings = matched({rank_of({{{100, 500}}}), rank_of({{{300, 520}}}), rank_of({{{250, 510}}})});
  ASSERT_TRUE(meetings);
  const Meeting& meeting = meetings->at(0);
  EXPECT_EQ(meeting.last_rank, 1u);
  EXPECT_EQ(meeting.complete_ns, 300);
  EXPECT_EQ(meeting.wait_ns(0), 200);
  EXPECT_EQ(meeting.wait_ns(1), 0);
  EXPECT_EQ(meeting.wait_ns(2), 50);
  EXPECT_EQ(meeting.transfer_ns(0), 200);
  EXPECT_EQ(meeting.transfer_ns(1), 220);
  EXPECT_EQ(meeting.transfer_ns(2), 210);
}

// By clocks that differ a little, one rank can be over before the last one comes.
TEST(Collectives, NeitherWaitNorTransferIsNegative) {
  const auto meetings = matched({rank_of({{{0, 1000}}}), rank_of({{{5000, 9000}}})});
  ASSERT_TRUE(meetings);
  EXPECT_EQ(meetings->at(0).wait_ns(0), 1000);
  EXPECT_EQ(meetings->at(0).transfer_ns(0), 0);
}

// The first on rank 0, and the second on rank 1, are in one file alone.
TEST(Collectives, ThatWereLostAnywhereArePassedOver) {
  std::vector<Interval> first;
  std::vector<Interval> second;
  for (std::int64_t i = 0; i < 22; ++i) {
    const Interval one{i * 1'000'000, i * 1'000'000 + 1000};
    if (i != 5) first.push_back(one);
    if (i != 9) second.push_back({one.start_ns + 100, one.end_ns});
  }
  const auto meetings = matched({rank_of({first}), rank_of({second})});
  ASSERT_TRUE(meetings);
  EXPECT_EQ(meetings->size(), 20u);
  for (const Meeting& meeting : *meetings) EXPECT_EQ(meeting.wait_ns(0), 100);
}

TEST(Collectives, AreOfAProcessByDeviceAndStream) {
  ProcessBuilder builder;
  builder.process().metadata["rank"] = "3";
  const std::string reduce = "ncclDevKernel_Reduce_Sum_f32_RING_LL(...)";
  builder.kernel({.start_ns = 30, .end_ns = 40, .device = 1, .stream = 5, .name = reduce});
  builder.kernel({.start_ns = 10, .end_ns = 20, .device = 0, .stream = 5, .name = reduce});
  builder.kernel({.start_ns = 15, .end_ns = 25, .device = 0, .stream = 6, .name = "ncclKernel_Broadcast_RING_LL(...)"});
  builder.kernel({.start_ns = 50, .end_ns = 60, .device = 0, .stream = 5, .name = reduce});
  builder.kernel({.start_ns = 70, .end_ns = 80, .device = 0, .stream = 5});
  builder.kernel({.start_ns = 90, .end_ns = 85, .device = 0, .stream = 5, .name = reduce});  // no times
  const LoadedProcess loaded = builder.take();
  const RankCollectives rank = analyze::collectives_of(loaded.process, loaded.timeline);
  EXPECT_EQ(rank.rank, "3");
  ASSERT_EQ(rank.streams.size(), 3u);
  ASSERT_EQ(rank.streams[0].size(), 2u);
  EXPECT_EQ(rank.streams[0][0].start_ns, 10);
  EXPECT_EQ(rank.streams[0][0].collective, "reduce");
  EXPECT_EQ(rank.streams[0][1].start_ns, 50);
  EXPECT_EQ(rank.streams[0][1].end_ns, 60);
  EXPECT_EQ(rank.streams[0][1].kernel, 3u);
  ASSERT_EQ(rank.streams[1].size(), 1u);
  EXPECT_EQ(rank.streams[1][0].collective, "broadcast");
  ASSERT_EQ(rank.streams[2].size(), 1u);
  EXPECT_EQ(rank.streams[2][0].start_ns, 30);
}

// Rank 1 has more calls and speaks; the change is counted on both.
TEST(WhatIfOfRanks, TheBusiestSpeaksAndCallsOfBothAreCounted) {
  const auto processes =
      playing({.upload_ns = 100'000, .kernel_ns = 100'000}, {.upload_ns = 300'000, .kernel_ns = 200'000}).take();
  auto with_more_calls = processes;
  for (int i = 0; i < 3; ++i) with_more_calls[0].timeline.calls.push_back(with_more_calls[0].timeline.calls.back());
  const auto answer = what_if(with_more_calls, {{Change::kHoistUpload, ""}, {Change::kDeferSync, "train.py:8"}}, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->changed, (std::vector<std::size_t>{2u * kStepsOfARank, 0u}));
  EXPECT_EQ(answer->misfits,
            std::vector<std::string>{"No call of CUDA in the steps that are re-timed is at train.py:8. defer_sync fits "
                                     "cudaDeviceSynchronize (23 calls)."});
  EXPECT_EQ(answer->step_count, static_cast<std::size_t>(kStepsOfARank));
}

TEST(WhatIfOfRanks, AMisfitNamesTheFivePlacesWithMost) {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;
  for (std::uint32_t line = 1; line <= 7; ++line) {
    const auto stack = builder.line("train.py", line);
    for (std::uint32_t i = 0; i < (line == 4 ? 3 : line == 6 ? 2 : 1); ++i) {
      const std::int64_t at_ns = correlation * 1000;
      builder.call({.start_ns = at_ns, .end_ns = at_ns + 10, .correlation = ++correlation, .stack = stack});
      builder.copy({.start_ns = at_ns + 20, .end_ns = at_ns + 30, .correlation = correlation, .bytes = 8});
    }
  }
  builder.call({.kind = trace::CallKind::kDeviceFree, .start_ns = 99'000, .end_ns = 99'001, .name = "cudaFree"});
  std::vector<LoadedProcess> processes;
  processes.push_back(builder.take());
  const auto answer =
      what_if(processes, {{Change::kHoistUpload, "cudaFree"}, {Change::kKeepOnDevice, "train.py:1"}}, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->misfits,
            (std::vector<std::string>{
                "At cudaFree there is nothing that hoist_upload could change. hoist_upload fits train.py:4 (3 calls), "
                "train.py:6 (2 calls), train.py:1 (1 call), train.py:2 (1 call), train.py:3 (1 call), and 2 more.",
                "At train.py:1 there is nothing that keep_on_device could change. keep_on_device fits nothing in this "
                "run."}));
  EXPECT_EQ(answer->changed, (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(answer->step_count, 1u);
  EXPECT_EQ(answer->rank_count, 1u);
  EXPECT_EQ(answer->meeting_count, 0u);
  EXPECT_FALSE(answer->has_lost_collectives);
}

TEST(WhatIfOfRanks, AProcessWithoutCallsIsAnError) {
  ProcessBuilder builder;
  builder.process().path = "run.tpt";
  builder.kernel({.start_ns = 0, .end_ns = 10});
  std::vector<LoadedProcess> processes;
  processes.push_back(builder.take());
  const auto answer = what_if(processes, {}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "run.tpt holds no calls of CUDA: there is nothing to change.");
}

// Of two processes that never meet, the one with more calls answers alone.
TEST(WhatIfOfRanks, WithoutCollectivesTheBusiestAnswersAlone) {
  const auto waiting = [](int count, std::int64_t length_ns) {
    ProcessBuilder builder;
    for (int i = 0; i < count; ++i) {
      builder.call({.kind = trace::CallKind::kSynchronize,
                    .start_ns = i * 1000,
                    .end_ns = i * 1000 + length_ns,
                    .name = "cudaDeviceSynchronize"});
    }
    return builder.take();
  };
  std::vector<LoadedProcess> processes;
  processes.push_back(waiting(2, 900));
  processes.push_back(waiting(3, 400));
  processes.push_back(waiting(2, 500));
  const auto answer = what_if(processes, {{Change::kRemoveSync, ""}}, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->measured_step_ns, 2400);
  EXPECT_EQ(answer->changed, std::vector<std::size_t>{3});
  EXPECT_FALSE(answer->has_lost_collectives);
}

}  // namespace
}  // namespace turnpike::analyze
