// What a step would take with each change, computed by hand: the schedule is written beside each figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "analyze/graph/edits.h"
#include "analyze/graph/played.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trace::CallKind;
using trace::MemoryKind;

constexpr int kStepsOfAChange = 12;
constexpr double kExact = 1e-6;  // microseconds

template <typename Body>
StepProgram stepping(const Body& body, int steps = kStepsOfAChange) {
  StepProgram program;
  const std::uint32_t line = program.stack(5, kTo);
  program.steps(steps, [&](int step) { body(program, line, step); });
  return program;
}

// Between steps the host takes 1 us, a call takes 5, work behind other work on its stream starts 1 us later.
Played uploading_between_kernels(StepCopy copy, std::int64_t work_ns = 0, double link_gbps = 50) {
  return Played(stepping([&](StepProgram& program, std::uint32_t line, int) {
                  copy.stack = line;
                  program.work(work_ns);
                  program.upload(copy);
                  program.kernel(300 * kUs);
                }),
                link_gbps);
}

TEST(WhatIfExactly, TheUnchangedGraphTakesWhatWasMeasured) {
  const Played played = uploading_between_kernels({.bytes = 12'500'000, .duration_ns = 250 * kUs});
  EXPECT_NEAR(played.measured_us(), 552, kExact);  // 250 + 1 + 300 + 1
  EXPECT_EQ(played.model().retimed_step_ns(), played.model().measured_step_ns());
  EXPECT_NEAR(played.predicted_us({}), 552, kExact);
}

// 33.7 MB at 33.7 GB/s on threads, and 6.6 us for the tensor: the host waits for that, and not for the device.
TEST(WhatIfExactly, ThreadsThatStageHoldTheHostForAsLongAsTheyTake) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.upload({.stack = line,
                    .bytes = 33'700'000,
                    .duration_ns = 4000 * kUs,
                    .host = MemoryKind::kPageable,
                    .wait = Wait::kInCall});
    program.work(500 * kUs);
    program.kernel(100 * kUs);
  }));
  EXPECT_NEAR(played.predicted_us({Change::kStageInThreads}), 1006.6 + 500 + 5 + 1, kExact);
  EXPECT_LT(played.predicted_us({Change::kPin}), 1000);
}

TEST(WhatIfExactly, ThreadsThatStageLeaveWhatDoesNotGoUp) {
  const Played reading(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.kernel(300 * kUs);
    program.download({.stack = line, .host = MemoryKind::kPageable, .wait = Wait::kInCall});
  }));
  EXPECT_NEAR(reading.predicted_us({Change::kStageInThreads}), reading.measured_us(), kExact);
  EXPECT_GT(reading.measured_us() - reading.predicted_us({Change::kPin}), 1);
  const Played gone = uploading_between_kernels({.host = MemoryKind::kPageable, .wait = Wait::kInCall});
  EXPECT_NEAR(gone.predicted_us({Change::kHoistUpload, Change::kStageInThreads}),
              gone.predicted_us({Change::kHoistUpload}), kExact);
}

TEST(WhatIfExactly, WithoutAReadTheDeviceGoesOn) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.work(200 * kUs);
    program.kernel(300 * kUs);
    program.download({.stack = line, .bytes = 4, .duration_ns = 2 * kUs, .wait = Wait::kBehind});
  }));
  EXPECT_NEAR(played.measured_us(), 514, kExact);  // 200 + 5 + 300 + 1 + 2 + 5 + 1
  EXPECT_NEAR(played.predicted_us({Change::kRemoveSync}), 301, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kDeferSync}), 304, kExact);  // 300 + 1 + 2 + 1
}

TEST(WhatIfExactly, WithoutAReadTheHostIsTheLimitWhereItWorksLonger) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.work(400 * kUs);
    program.kernel(300 * kUs);
    program.download({.stack = line, .bytes = 4, .duration_ns = 2 * kUs, .wait = Wait::kBehind});
  }));
  EXPECT_NEAR(played.measured_us(), 714, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kRemoveSync}), 406, kExact);  // 1 + 400 + 5: the read and its wait are gone
  EXPECT_NEAR(played.predicted_us({Change::kDeferSync}), 416, kExact);   // and 5 for the copy's call, 5 for the wait's
}

TEST(WhatIfExactly, AnUploadOnTheComputeStream) {
  const Played played = uploading_between_kernels({.bytes = 12'500'000, .duration_ns = 250 * kUs});
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}), 301, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kPrefetch}), 301, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kMergeCopies}), 552, kExact);        // one a step
  EXPECT_NEAR(played.predicted_us({Change::kPin}), 552, kExact);                // it is, and no slower than it was
  EXPECT_NEAR(played.predicted_us({Change::kNonBlocking}), 552, kExact);        // it is
  EXPECT_NEAR(played.predicted_us({Change::kSideStreams}), 552, kExact);        // of copies between GPUs, and down
  EXPECT_NEAR(played.predicted_us({Change::kConvertOnDevice}), 364.5, kExact);  // 62.5 + 1 + 300 + 1
  EXPECT_NEAR(played.predicted_us({Change::kFullLinkSpeed}), 552, kExact);
}

TEST(WhatIfExactly, AnUploadThatIsSlowerThanTheLink) {
  const StepCopy slow{.bytes = 12'500'000, .duration_ns = 500 * kUs};
  const Played played = uploading_between_kernels(slow);
  EXPECT_NEAR(played.measured_us(), 802, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kFullLinkSpeed}), 553.2, kExact);  // 1.2 + 250, + 1 + 300 + 1
  EXPECT_NEAR(played.predicted_us({Change::kPin}), 553.2, kExact);
  EXPECT_NEAR(uploading_between_kernels(slow, 0, 100).predicted_us({Change::kPin}), 428.2, kExact);
}

// 12.5 MB at 25 GB/s instead of 50; and of 100 MB, 32 MiB at 25 and the rest at 50.
TEST(WhatIfExactly, ADownloadComesIntoTheCachesOfTheCpu) {
  const auto fetching = [](std::uint64_t bytes, std::int64_t duration_ns, std::optional<double> d2h_cached_gbps) {
    return Played(stepping([=](StepProgram& program, std::uint32_t line, int) {
                    program.kernel(300 * kUs);
                    program.download({.stack = line,
                                      .bytes = bytes,
                                      .duration_ns = duration_ns,
                                      .host = MemoryKind::kPageable,
                                      .wait = Wait::kInCall});
                  }),
                  50, d2h_cached_gbps)
        .predicted_us({Change::kPin});
  };
  EXPECT_NEAR(fetching(12'500'000, 5000 * kUs, std::nullopt), 553.2, kExact);  // 300 + 1 + 1.2 + 250 + 1
  EXPECT_NEAR(fetching(12'500'000, 5000 * kUs, 25), 803.2, kExact);            // 300 + 1 + 1.2 + 500 + 1
  EXPECT_NEAR(fetching(12'500'000, 5000 * kUs, 60), 553.2, kExact);            // never faster than the link
  EXPECT_NEAR(fetching(12'500'000, 400 * kUs, 25), 702, kExact);               // nor slower than it was
  EXPECT_NEAR(fetching(12'500'000, 5000 * kUs, 0), 553.2, kExact);             // no rate
  EXPECT_NEAR(fetching(100'000'000, 50'000 * kUs, 25), 303.2 + 2000 + 671.088, kExact);
}

TEST(WhatIfExactly, AnUploadComesFromTheCachesOfTheCpuAsFastAsFromItsMemory) {
  const auto pinned = [](std::optional<double> d2h_cached_gbps) {
    return Played(stepping([](StepProgram& program, std::uint32_t line, int) {
                    program.upload({.stack = line, .duration_ns = 4000 * kUs, .host = MemoryKind::kPageable});
                    program.kernel(300 * kUs);
                  }),
                  50, d2h_cached_gbps)
        .predicted_us({Change::kPin});
  };
  EXPECT_NEAR(pinned(25), pinned(std::nullopt), kExact);
}

TEST(WhatIfExactly, WithoutARateOfTheLinkNothingIsClaimed) {
  const StepCopy pageable{.bytes = 12'500'000, .duration_ns = 500 * kUs, .host = MemoryKind::kPageable};
  const Played played = uploading_between_kernels(pageable, 0, 0);
  EXPECT_EQ(played.predicted_us({Change::kPin}), -1);
  EXPECT_EQ(played.predicted_us({Change::kHoistUpload, Change::kFullLinkSpeed}),
            301 - 0.0);  // none is left to speed up
  EXPECT_EQ(played.predicted_us({Change::kFullLinkSpeed}), -1);
  EXPECT_EQ(played.predicted_us({Change::kPrefetch}), -1);
}

// 16 MiB in 300 us, and the host waits for them in a synchronisation behind the call.
TEST(WhatIfExactly, AnUploadThatIsWaitedFor) {
  const Played played = uploading_between_kernels({.wait = Wait::kBehind}, 100 * kUs);
  // 300 + 1 + 300, the wait is over 5 later, and the launch takes 5.
  EXPECT_NEAR(played.measured_us(), 611, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kNonBlocking}), 602, kExact);  // 300 + 1 + 300 + 1
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}), 301, kExact);
}

TEST(WhatIfExactly, TheWorkBeforeAnUploadGoesWithIt) {
  const Played played = uploading_between_kernels({.wait = Wait::kBehind}, 5000 * kUs);
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}) - played.predicted_us({Change::kHoistWork}), 5000 - 300, 10);
}

TEST(WhatIfExactly, AGapOfTheLoaderShrinksToATenthOfAMillisecond) {
  const StepCopy batch{.bytes = 1000, .duration_ns = 20 * kUs};
  const auto predicted_us = [&](std::int64_t work_us) {
    return uploading_between_kernels(batch, work_us * kUs).predicted_us({Change::kFasterLoader});
  };
  EXPECT_NEAR(predicted_us(2000), 322, kExact);   // a gap of 2001 us; then the device is the limit: 20 + 1 + 300 + 1
  EXPECT_NEAR(predicted_us(1999), 2010, kExact);  // 2000 us are no pause
  const Played host_bound(stepping([&](StepProgram& program, std::uint32_t line, int) {
    program.work(5000 * kUs);
    program.upload({.stack = line, .bytes = 1000, .duration_ns = 20 * kUs});
    program.kernel(10 * kUs);
  }));
  EXPECT_NEAR(host_bound.measured_us(), 5011, kExact);
  EXPECT_NEAR(host_bound.predicted_us({Change::kFasterLoader}), 110, kExact);
}

// Late by 3 ms in some steps and by 1 ms in the others: these wait for the same loader.
TEST(WhatIfExactly, AtAnUploadThatIsLateNowAndThenShorterGapsShrinkToo) {
  const auto saved_us = [](int slow_steps) {
    const Played played(stepping([&](StepProgram& program, std::uint32_t line, int step) {
      program.work((step % 2 < slow_steps ? 3000 : 1000) * kUs);
      program.upload({.stack = line, .bytes = 1000, .duration_ns = 20 * kUs});
      program.kernel(10 * kUs);
    }));
    return played.measured_us() - std::max(played.predicted_us({Change::kFasterLoader}), 0.0);
  };
  const auto host_us = [](int slow_steps) { return (slow_steps * 3000 + (2 - slow_steps) * 1000) / 2 + 11; };
  EXPECT_NEAR(saved_us(2), host_us(2) - 111, 5);
  EXPECT_NEAR(saved_us(1), host_us(1) - 111, 5);
  EXPECT_NEAR(saved_us(0), 0, kExact);  // nothing tells that 1 ms is a wait
}

TEST(WhatIfExactly, WithoutACopyOnTheHostTheGapShrinksByIt) {
  // 12.5 MB at 8 GB/s are 1562.5 us.
  const StepCopy batch{.bytes = 12'500'000, .duration_ns = 250 * kUs};
  EXPECT_NEAR(uploading_between_kernels(batch, 3000 * kUs).measured_us(), 3011, kExact);
  EXPECT_NEAR(uploading_between_kernels(batch, 3000 * kUs).predicted_us({Change::kSkipHostCopy}), 1448.5, kExact);
  EXPECT_NEAR(uploading_between_kernels(batch, 1600 * kUs).predicted_us({Change::kSkipHostCopy}), 552, kExact);
  EXPECT_NEAR(uploading_between_kernels(batch, 1000 * kUs).predicted_us({Change::kSkipHostCopy}), 552, kExact);
}

// 24 kernels of 4 us; the host takes 15 us for each.
TEST(WhatIfExactly, OneGraphIsLaunchedOnce) {
  const Played played(stepping([](StepProgram& program, std::uint32_t, int) {
    for (int i = 0; i < 24; ++i) {
      program.work(10 * kUs);
      program.kernel(4 * kUs);
    }
  }));
  EXPECT_NEAR(played.measured_us(), 361, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kGraphLaunch}), 103.92, kExact);  // 4 + 0.33 each
}

TEST(WhatIfExactly, AGraphTakesTenMicrosecondsToLaunch) {
  const Played played(stepping([](StepProgram& program, std::uint32_t, int) {
    for (int i = 0; i < 8; ++i) {
      program.work(10 * kUs);
      program.kernel(kUs);
    }
  }));
  EXPECT_NEAR(played.measured_us(), 121, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kGraphLaunch}), 21, kExact);  // 1 + 10 before it, 10 for it
}

TEST(WhatIfExactly, WhatAGraphCannotHoldIsNotCaptured) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.kernel(4 * kUs);
    program.upload({.stack = line, .bytes = 1000, .duration_ns = 4 * kUs});
    program.call(CallKind::kDeviceAlloc, line, "cudaMalloc");
    program.call(CallKind::kEventRecord, line, "cudaEventRecord");
    program.call(CallKind::kStreamWait, line, "cudaStreamWaitEvent");
    program.call(CallKind::kMemset, line, "cudaMemsetAsync");
  }));
  Graph graph = played.model().graph();
  const Applied applied = apply(played.model(), graph, Change::kGraphLaunch, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(applied.calls, ElementsAre(0, 3, 4, 5));
}

TEST(WhatIfExactly, AllocationsAreNotMade) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.call(CallKind::kDeviceAlloc, line, "cudaMalloc", 200 * kUs);
    program.kernel(100 * kUs);
    program.call(CallKind::kDeviceFree, line, "cudaFree", 20 * kUs);
    program.call(CallKind::kEventRecord, line, "cudaEventRecord", 7 * kUs);
  }));
  EXPECT_NEAR(played.measured_us(), 233, kExact);  // 200 + 5 + 20 + 7 + 1
  EXPECT_NEAR(played.predicted_us({Change::kRemoveAllocation}), 101, kExact);
}

// Down, 500 us of work on the host, up again.
TEST(WhatIfExactly, WhatStaysOnTheDeviceIsNeitherCopiedNorWorkedOnByTheHost) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.kernel(100 * kUs);
    program.download({.stack = line, .bytes = 100'000, .duration_ns = 20 * kUs, .wait = Wait::kInCall});
    program.work(500 * kUs);
    program.upload({.stack = line, .bytes = 100'000, .duration_ns = 20 * kUs, .wait = Wait::kInCall});
  }));
  EXPECT_NEAR(played.measured_us(), 658, kExact);  // 5 + 100 + 1 + 20 + 3, 500, 5 + 20 + 3, 1
  EXPECT_NEAR(played.predicted_us({Change::kKeepOnDevice}), 101, kExact);
}

// An upload without a copy down before it stays, and so does one behind another upload.
TEST(WhatIfExactly, OfATripOnlyTheFirstUploadIsKeptOnTheDevice) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.upload({.stack = line, .bytes = 100'000, .duration_ns = 20 * kUs});
    program.download({.stack = line, .bytes = 100'000, .duration_ns = 20 * kUs});
    program.upload({.stack = line, .bytes = 100'000, .duration_ns = 20 * kUs});
    program.upload({.stack = line, .bytes = 100'000, .duration_ns = 20 * kUs});
  }));
  Graph graph = played.model().graph();
  EXPECT_THAT(apply(played.model(), graph, Change::kKeepOnDevice, {0, 1, 2, 3}).calls, ElementsAre(2));
  for (const auto& [call, is_gone] : {std::pair(0u, false), {1u, true}, {2u, true}, {3u, false}}) {
    EXPECT_EQ(is_removed(graph, call), is_gone) << call;
  }
}

// Ten uploads of 80 kB from page-locked memory, each in a call that waits for it.
TEST(WhatIfExactly, MergedCopiesCrossAtOnceAndArePackedBefore) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    for (int i = 0; i < 10; ++i) {
      program.upload({.stack = line, .bytes = 80'000, .duration_ns = 20 * kUs, .wait = Wait::kInCall});
    }
    program.kernel(10 * kUs);
  }));
  // 10 x (5 + 20 + 3), 5 and 1; and the first waits for the kernel before it, 5.
  EXPECT_NEAR(played.measured_us(), 291, kExact);
  // 800 kB: packing at 8 GB/s takes 100 us, ten views 10 us, crossing at 50 GB/s 1.2 + 16 us.
  EXPECT_NEAR(played.predicted_us({Change::kMergeCopies}), 1 + 100 + 10 + 5 + 17.2 + 3 + 5, kExact);
}

TEST(WhatIfExactly, CopiesDownBesideKernelsWaitForWhatTheyRead) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.kernel(300 * kUs);
    program.download({.stack = line, .bytes = 1'000'000, .duration_ns = 100 * kUs});
  }));
  EXPECT_NEAR(played.measured_us(), 402, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kSideStreams}), 301, kExact);
}

TEST(WhatIfExactly, CopiesBetweenGpusOnSideStreamsLeaveTheKernelsAlone) {
  const Played played(stepping([](StepProgram& program, std::uint32_t line, int) {
    program.kernel(300 * kUs);
    program.send(line, 200 * kUs, kComputeStream);
  }));
  EXPECT_NEAR(played.measured_us(), 502, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kSideStreams}), 301, kExact);
}

void expect_same_graph(const Graph& trial, const Graph& fresh, const std::string& what) {
  ASSERT_EQ(trial.edges.size(), fresh.edges.size()) << what;
  for (std::size_t i = 0; i < fresh.edges.size(); ++i) {
    const Edge& a = trial.edges[i];
    const Edge& b = fresh.edges[i];
    ASSERT_EQ(std::tie(a.from, a.to, a.lag_ns, a.kind), std::tie(b.from, b.to, b.lag_ns, b.kind)) << what << ' ' << i;
  }
  for (std::size_t i = 0; i < fresh.operations.size(); ++i) {
    ASSERT_EQ(trial.operations[i].before, fresh.operations[i].before) << what << ' ' << i;
    ASSERT_EQ(trial.operations[i].after, fresh.operations[i].after) << what << ' ' << i;
  }
}

// Every change in turn, so that each finds what the one before it has left.
void expect_trials_as_fresh_copies(const Played& played) {
  const ProcessModel& model = played.model();
  Scenario trial(model);
  for (int round = 0; round < 2; ++round) {
    for (const Change change : all_changes()) {
      const NamedChange named[] = {{change, calls_at(model, "")}};
      Scenario fresh(model);
      const bool is_known = fresh.try_changes(model, named);
      ASSERT_EQ(trial.try_changes(model, named), is_known) << name_of(change);
      if (!is_known) continue;
      expect_same_graph(trial.graph(), fresh.graph(), name_of(change));
      EXPECT_EQ(trial.prediction(Pauses::kLeftOut).predicted_ns, predict(model, named)->predicted_ns)
          << name_of(change);
      EXPECT_EQ(trial.prediction(Pauses::kLeftOut).measured_ns, model.measured_step_ns()) << name_of(change);
      // What edits made of the edges is all that re-timing needs of them.
      Scenario again(model);
      again.apply(trial.edits(), 0);
      ASSERT_TRUE(again.retime());
      EXPECT_EQ(again.prediction(Pauses::kLeftOut).predicted_ns, trial.prediction(Pauses::kLeftOut).predicted_ns);
    }
  }
}

TEST(WhatIf, ATrialLeavesNothingOfTheOneBeforeIt) {
  const auto all_kinds = [](StepProgram& program, std::uint32_t line, int) {
    program.upload({.stack = line, .bytes = 12'500'000, .duration_ns = 250 * kUs, .host = MemoryKind::kPageable});
    program.kernel(300 * kUs);
    program.send(line, 200 * kUs, kComputeStream);
    program.download({.stack = line, .bytes = 4, .duration_ns = 2 * kUs, .wait = Wait::kBehind});
    program.call(CallKind::kDeviceFree, line, "cudaFree", 9 * kUs);
  };
  expect_trials_as_fresh_copies(Played(stepping(all_kinds)));
  expect_trials_as_fresh_copies(Played(stepping(all_kinds), 0));  // without a rate of the link
}

// Two GPUs: uploads of 200 us to the first, of 100 us to the second, kernels of 150 us on both.
StepProgram uploading_to_two_gpus() {
  StepProgram program;
  const std::uint32_t first = program.stack(5, kTo);
  const std::uint32_t second = program.stack(6, kTo);
  program.steps(kStepsOfAChange, [&](int) {
    program.upload({.stack = first, .bytes = 10'000'000, .duration_ns = 200 * kUs, .device = 0});
    program.upload({.stack = second, .bytes = 5'000'000, .duration_ns = 100 * kUs, .device = 1});
    program.kernel(150 * kUs, 0);
    program.kernel(180 * kUs, 1);
  });
  return program;
}

TEST(WhatIfExactly, OfTwoGpusTheSlowerOneIsTheLimit) {
  const Played played(uploading_to_two_gpus());
  EXPECT_NEAR(played.measured_us(), 352, kExact);                                       // 200 + 1 + 150 + 1
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}, "train.py:6"), 352, kExact);  // the other one's
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}, "train.py:5"), 282, kExact);  // 100 + 1 + 180 + 1
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}), 181, kExact);                // 180 + 1
}

// Each GPU has its own link: uploads to both, one step ahead, do not wait for each other.
TEST(WhatIfExactly, UploadsToTwoGpusRunAheadBesideEachOther) {
  const Played played(uploading_to_two_gpus());
  EXPECT_NEAR(played.predicted_us({Change::kPrefetch}, "train.py:5"), 282, kExact);
  EXPECT_NEAR(played.predicted_us({Change::kPrefetch}), 201, kExact);  // 200 + 1 between uploads
}

// As where one launch of a CUDA graph has nodes of both kinds, and the file does not say so.
TEST(WhatIf, KernelsOfACallThatAlsoCopiesAreLeftAlone) {
  StepProgram program;
  const std::uint32_t line = program.stack(5, kTo);
  std::uint32_t correlation = 0;  // the program's calls are numbered from 1
  program.steps(kStepsOfAChange, [&](int step) {
    program.upload({.stack = line, .host = MemoryKind::kPageable});
    const std::int64_t start_ns = (step + 1) * 1000 * kUs;
    program.builder().kernel({.start_ns = start_ns, .end_ns = start_ns + kUs, .correlation = ++correlation});
    program.upload({.stack = line});
    ++correlation;
  });
  const Played played(std::move(program));
  const Selection calls = calls_at(played.model(), "train.py:5");
  ASSERT_FALSE(calls.empty());
  for (const Change change : all_changes()) {
    Graph graph = played.model().graph();
    EXPECT_TRUE(apply(played.model(), graph, change, calls).is_known) << name_of(change);
  }
}

TEST(WhatIfExactly, AChangeSaysTheCallsItWasMadeTo) {
  const Played played(uploading_to_two_gpus());
  const auto applied = [&](Change change) {
    Graph graph = played.model().graph();
    return apply(played.model(), graph, change, {0, 1, 2, 3}).calls;
  };
  EXPECT_THAT(applied(Change::kHoistUpload), ElementsAre(0, 1));
  EXPECT_THAT(applied(Change::kPin), ElementsAre(0, 1));
  EXPECT_THAT(applied(Change::kNonBlocking), ElementsAre(0, 1));
  EXPECT_THAT(applied(Change::kPrefetch), ElementsAre(0, 1));
  EXPECT_THAT(applied(Change::kFullLinkSpeed), ElementsAre(0, 1));
  EXPECT_THAT(applied(Change::kSkipHostCopy), ElementsAre(0, 1));
  EXPECT_THAT(applied(Change::kConvertOnDevice), ElementsAre(0, 1));
  EXPECT_THAT(applied(Change::kGraphLaunch), ElementsAre(2, 3));
  EXPECT_THAT(applied(Change::kRemoveSync), IsEmpty());
  EXPECT_THAT(applied(Change::kDeferSync), IsEmpty());
  EXPECT_THAT(applied(Change::kSideStreams), IsEmpty());
  EXPECT_THAT(applied(Change::kFasterLoader), IsEmpty());
  EXPECT_THAT(applied(Change::kKeepOnDevice), IsEmpty());
  EXPECT_THAT(applied(Change::kRemoveAllocation), IsEmpty());
  EXPECT_THAT(applied(Change::kMergeCopies), IsEmpty());  // of one line each
}

TEST(WhatIfExactly, AStepIsTheDistanceBetweenCompletionsInTheSecondHalf) {
  // Three steps of 100 us, then four of 400 us.
  const Played played(stepping(
      [](StepProgram& program, std::uint32_t, int step) {
        program.work((step < 3 ? 94 : 394) * kUs);
        program.kernel(10 * kUs);
      },
      7));
  EXPECT_NEAR(played.measured_us(), 400, kExact);
  EXPECT_EQ(played.model().step_count(), 7u);
}

TEST(WhatIfExactly, OfARunWithoutStepsIsAllOfIt) {
  StepProgram program;
  program.work(100 * kUs);
  program.kernel(50 * kUs);
  program.work(20 * kUs);
  program.sync(trace::kNoId, "cudaDeviceSynchronize");
  const Played played(std::move(program));
  EXPECT_EQ(played.model().step_count(), 1u);
  EXPECT_NEAR(played.measured_us(), 60, kExact);  // from the launch: 5 + 50 + 5
  EXPECT_NEAR(played.predicted_us({Change::kRemoveSync}), 55, kExact);
}

TEST(WhatIfExactly, FindsCallsByLineNumberAndPath) {
  const Played played(uploading_to_two_gpus());
  EXPECT_EQ(calls_at(played.model(), "").size(), 4u * kStepsOfAChange);
  EXPECT_EQ(calls_at(played.model(), "5").size(), 1u * kStepsOfAChange);
  EXPECT_EQ(calls_at(played.model(), "train.py:5x").size(), 0u);
  EXPECT_EQ(calls_at(played.model(), "cudaLaunchKernel").size(), 2u * kStepsOfAChange);
}

}  // namespace
}  // namespace turnpike::analyze
