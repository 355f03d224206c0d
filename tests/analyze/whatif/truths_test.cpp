// Predictions against the truth: the change is made in the program, and the program is carried out again.
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/graph/played.h"
#include "analyze/whatif/simulated.h"

namespace turnpike::analyze {
namespace {

using trace::CopyKind;
using trace::MemoryKind;

constexpr double kTolerance = 0.05;
constexpr std::uint32_t kStager = kMainThread + 1;
// Queues.
constexpr std::uint32_t kReady = 1;
constexpr std::uint32_t kFree = 2;

// Adds one step; `is_changed`: of the program with the change.
using Step = std::function<void(SimulatedProgram&, bool is_changed)>;

Simulation carry_out(const Step& step, int count, bool is_changed, bool names_events) {
  SimulatedProgram program(names_events);
  for (int i = 0; i < count; ++i) step(program, is_changed);
  return Simulation(program);
}

// Of the second half of the steps.
double truth_us(const Step& step, int count, bool is_changed) {
  const auto end_us = [&](int steps) { return carry_out(step, steps, is_changed, true).end_us(); };
  return (end_us(2 * count) - end_us(count)) / count;
}

void expect_truth(const Step& step, const std::vector<Change>& changes, const std::string& site, bool names_events,
                  int count = 12) {
  const Played played(carry_out(step, 2 * count, false, names_events).builder().take());
  const std::string source = names_events ? "events have names" : "events have no names";
  const double as_is_us = truth_us(step, count, false);
  const double changed_us = truth_us(step, count, true);
  EXPECT_NEAR(played.measured_us(), as_is_us, 0.02 * as_is_us) << source;
  EXPECT_GT(std::abs(changed_us - as_is_us), kTolerance * as_is_us) << "nothing is tested";
  EXPECT_NEAR(played.predicted_us(changes, site), changed_us, kTolerance * changed_us) << source;
}

void expect_truth_of_all_sources(const Step& step, const std::vector<Change>& changes, const std::string& site) {
  for (const bool names_events : {true, false}) expect_truth(step, changes, site, names_events);
}

TEST(Truth, OfTwoStreamsThatWaitForEachOtherWithoutASynchronisation) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.kernel(1000, 7);
        program.record(1, 7);
        program.wait(1, 20);
        program.kernel(1100, 20);
        program.record(2, 20);
        program.wait(2, 7);
        if (!is_changed) program.synchronize_device();
        program.work(1500);
      },
      {Change::kRemoveSync}, "train.py:40");
}

// Buckets of gradients are reduced beside the backward pass, and the optimizer waits for the last.
TEST(Truth, OfBucketsThatAreReducedOnAStreamOfTheirOwnInAGraph) {
  const std::string reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)";
  expect_truth_of_all_sources(
      [&](SimulatedProgram& program, bool is_changed) {
        program.step();
        if (is_changed) program.work(10);
        for (std::uint64_t bucket = 1; bucket <= 3; ++bucket) {
          for (int i = 0; i < 60; ++i) is_changed ? program.node(3) : program.kernel(3);
          if (is_changed) {
            program.join(bucket, 7, 21);
            program.node(300, 21);
          } else {
            program.record(bucket, 7);
            program.wait(bucket, 21);
            program.kernel(300, 21, 0, reduce);
          }
        }
        if (is_changed) program.join(9, 21, 7);
        if (!is_changed) program.record(9, 21);
        if (!is_changed) program.wait(9, 7);
        for (int i = 0; i < 60; ++i) is_changed ? program.node(3) : program.kernel(3);
      },
      {Change::kGraphLaunch}, "");
}

TEST(Truth, OfAFasterUploadBeforeTheSynchronisationOfAnEvent) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.copy({.us = is_changed ? 1001.2 : 2500, .stream = 20, .bytes = 50'000'000});
        program.record(1, 20);
        program.synchronize_event(1);
        program.work(100);
        program.kernel(400);
      },
      {Change::kFullLinkSpeed}, "");
}

TEST(Truth, OfMoreLaunchesThanTheQueueTakesBeforeWorkOfTheHost) {
  expect_truth(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        for (int i = 0; i < 3200; ++i) program.kernel(10);
        if (!is_changed) program.synchronize_device();
        program.work(20'000);
      },
      {Change::kRemoveSync}, "train.py:40", true, 4);
}

// As PyTorch copies between GPUs: the sender waits for the receiver, and the receiver for the copy.
TEST(Truth, OfCopiesBetweenGpusOnSideStreams) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        const std::uint32_t stream = is_changed ? 30 : 7;
        program.step();
        program.kernel(1000, 7, 0);
        program.record(1, stream, 1);
        program.wait(1, stream, 0);
        program.copy({.us = 800, .kind = CopyKind::kPeerToPeer, .host = MemoryKind::kDevice, .stream = stream});
        program.record(2, stream, 0);
        program.wait(2, stream, 1);
        program.kernel(1000, 7, 1);
      },
      {Change::kSideStreams}, "");
}

TEST(Truth, OfAWaitThatIsHandedOnByAStreamWithoutWork) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.kernel(1500, 7);
        program.record(1, 7);
        program.wait(1, 20);
        program.record(2, 20);
        program.wait(2, 21);
        program.kernel(1000, 21);
        program.record(3, 21);
        program.wait(3, 7);
        if (!is_changed) program.synchronize_device();
        program.work(1200);
      },
      {Change::kRemoveSync}, "train.py:40");
}

TEST(Truth, OfAnAllocationThatTakesLongBesideAQueueOfShortKernels) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        if (!is_changed) program.copy({.us = 1000});
        for (int i = 0; i < 60; ++i) program.kernel(5);
        for (int i = 0; i < 4; ++i) program.allocate(100);
      },
      {Change::kHoistUpload}, "");
}

// Those of which every dependency is in the recording.
TEST(Truth, OfAReadThatIsLeftOut) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.work(300);
        program.kernel(500);
        if (is_changed) return;
        program.copy({.line = 40, .us = 2, .kind = CopyKind::kDeviceToHost, .holds_call = true, .bytes = 4});
      },
      {Change::kRemoveSync}, "train.py:40");
}

TEST(Truth, OfAnUploadFromPageLockedMemory) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.copy({.us = is_changed ? 501.2 : 2500,
                      .host = is_changed ? MemoryKind::kPinned : MemoryKind::kPageable,
                      .holds_call = !is_changed,
                      .bytes = 25'000'000});
        program.work(400);
        program.kernel(700);
      },
      {Change::kPin}, "");
}

TEST(Truth, OfADownloadToPageLockedMemory) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.kernel(700);
        program.copy({.us = is_changed ? 501.2 : 2500,
                      .kind = CopyKind::kDeviceToHost,
                      .host = is_changed ? MemoryKind::kPinned : MemoryKind::kPageable,
                      .holds_call = !is_changed,
                      .bytes = 25'000'000});
        program.work(400);
      },
      {Change::kPin}, "");
}

TEST(Truth, OfAnUploadOneStepAheadOnASideStream) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.copy({.us = 800, .stream = is_changed ? 20u : 7u, .bytes = 40'000'000});
        program.kernel(1000);
      },
      {Change::kPrefetch}, "");
}

TEST(Truth, OfLaunchesInAGraph) {
  expect_truth_of_all_sources(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.work(is_changed ? 10 : 0);
        for (int i = 0; i < 100; ++i) is_changed ? program.node(2) : program.kernel(2);
      },
      {Change::kGraphLaunch}, "");
}

// A thread brings the batches up, at most two ahead, and the main thread computes on the same stream.
void stage_batch(SimulatedProgram& program, bool is_changed, double gather_us, std::uint32_t stream) {
  program.take(kFree, kStager);
  program.work(gather_us, kStager);
  program.copy({.us = is_changed ? 301.2 : 1800,
                .host = is_changed ? MemoryKind::kPinned : MemoryKind::kPageable,
                .stream = stream,
                .holds_call = !is_changed,
                .bytes = 15'000'000},
               kStager);
  program.put(kReady, kStager);
}

TEST(Truth, OfAThreadThatStagesForAnotherOneOnItsStream) {
  expect_truth(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.put(kFree, kMainThread);
        stage_batch(program, is_changed, 200, 7);
        program.take(kReady, kMainThread);
        program.kernel(700);
      },
      {Change::kPin}, "", true, 24);
}

// On a stream of its own nothing but samples shows that the main thread waits.
TEST(Truth, OfAThreadThatStagesOnAStreamOfItsOwnWhereSamplesShowTheWait) {
  expect_truth(
      [](SimulatedProgram& program, bool is_changed) {
        program.step();
        program.put(kFree, kMainThread);
        stage_batch(program, is_changed, 200, 20);
        program.take(kReady, kMainThread, true);
        program.kernel(1200);
        program.synchronize(7);
      },
      {Change::kPin}, "", true, 24);
}

// Without samples it is not known, and no gain is claimed.
TEST(Truth, OfAThreadThatStagesOnAStreamOfItsOwnIsNotKnownWithoutEvidence) {
  const Step step = [](SimulatedProgram& program, bool is_changed) {
    program.step();
    program.put(kFree, kMainThread);
    stage_batch(program, is_changed, 200, 20);
    program.take(kReady, kMainThread);
    program.kernel(1200);
    program.synchronize(7);
  };
  const Played played(carry_out(step, 48, false, true).builder().take());
  EXPECT_NEAR(played.predicted_us({Change::kPin}), played.measured_us(), 0.01 * played.measured_us());
  EXPECT_LT(truth_us(step, 24, true), 0.8 * played.measured_us());
}

// Loaded with the batch of the step, in a thread that does not wait: 0.9 ms of work of its own in each pause.
TEST(Truth, OfAThreadThatWorksInItsPauseIsItsOwn) {
  const Played played(carry_out(
                          [](SimulatedProgram& program, bool is_changed) {
                            program.step();
                            program.put(kFree, kMainThread);
                            stage_batch(program, is_changed, 200, 20);
                            program.work(3000);
                            program.kernel(1200);
                          },
                          48, false, true)
                          .builder()
                          .take());
  EXPECT_NEAR(played.predicted_us({Change::kPin}), played.measured_us(), 0.01 * played.measured_us());
}

// 50 MB up and 50 MB down take 1 ms each over a link of 50 GB/s, and 86 % of the speed beside each other: by hand.
Step both_directions(double up_us, double down_us, bool waits_between) {
  return [=](SimulatedProgram& program, bool) {
    program.step();
    if (up_us > 0) program.copy({.us = up_us, .stream = 20, .bytes = 50'000'000});
    if (waits_between) program.synchronize(20);
    program.copy({.us = down_us, .kind = CopyKind::kDeviceToHost, .stream = 21, .bytes = 50'000'000});
    program.synchronize_device(0, 41);
  };
}

TEST(Truth, OfCopiesThatMeetOnALink) {
  const Played apart(carry_out(both_directions(1000, 1000, true), 24, false, true).builder().take());
  EXPECT_NEAR(apart.measured_us(), 2024, 5);
  // Both begin within 5 us, and are on the way for 1000 / 0.86 = 1163.
  EXPECT_NEAR(apart.predicted_us({Change::kRemoveSync}, "train.py:40"), 1163 + 13, 0.01 * 1176);
}

TEST(Truth, OfCopiesThatMeetNoMore) {
  const Played together(carry_out(both_directions(1163, 1163, false), 24, false, true).builder().take());
  EXPECT_NEAR(together.predicted_us({Change::kHoistUpload}), 1000 + 13, 0.01 * 1013);
  EXPECT_NEAR(together.predicted_us({}), together.measured_us(), 0.001 * together.measured_us());
}

// Copies that are slower than the link leave room for each other.
TEST(Truth, OfSlowCopiesThatMeetOnALink) {
  const Played apart(carry_out(both_directions(3000, 3000, true), 24, false, true).builder().take());
  EXPECT_NEAR(apart.predicted_us({Change::kRemoveSync}, "train.py:40"), 3000 + 13, 0.01 * 3013);
}

// Two GPUs that upload beside each other at half of the link's rate each: one that uploads alone has all of it.
TEST(Truth, OfTwoGpusBehindOneUplink) {
  const auto uploading = [](double us) {
    return [=](SimulatedProgram& program, bool) {
      program.step();
      program.copy({.line = 30, .us = us, .stream = 20, .device = 0, .bytes = 50'000'000});
      program.copy({.line = 31, .us = us, .stream = 20, .device = 1, .bytes = 50'000'000});
      program.synchronize_device(0, 40);
      program.synchronize_device(1, 41);
    };
  };
  const Played shared(carry_out(uploading(2000), 24, false, true).builder().take());
  EXPECT_NEAR(shared.predicted_us({Change::kHoistUpload}, "train.py:31"), 1000 + 14, 0.02 * 1014);
  // Each with a link of its own: the other stays as it was.
  const Played apart(carry_out(uploading(1000), 24, false, true).builder().take());
  EXPECT_NEAR(apart.predicted_us({Change::kHoistUpload}, "train.py:31"), 1000 + 14, 0.02 * 1014);
}

}  // namespace
}  // namespace turnpike::analyze
