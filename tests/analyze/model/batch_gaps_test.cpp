// Which pauses of the host were for the next batch.
#include "analyze/model/batch_gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trace::AutogradRole;
using trace::CallKind;

constexpr std::uint32_t kOtherLaunchingThread = kMainThread + 1;

// A program with a step at every 100 ms, whose calls last 1 ms.
struct Loop {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;
  std::vector<std::int64_t> step_starts_ns = {0, 100 * kMs, 200 * kMs};

  void call(std::int64_t at_ms, CallKind kind = CallKind::kLaunch, std::uint32_t stack = trace::kNoId) {
    builder.call({.kind = kind, .start_ns = at_ms * kMs, .end_ns = (at_ms + 1) * kMs, .stack = stack});
  }
  void upload(std::int64_t at_ms, AutogradRole role = AutogradRole::kForward, std::uint32_t stack = trace::kNoId) {
    builder.call({.start_ns = at_ms * kMs,
                  .end_ns = (at_ms + 1) * kMs,
                  .correlation = ++correlation,
                  .stack = stack,
                  .role = role});
    builder.copy({.start_ns = at_ms * kMs, .end_ns = at_ms * kMs + 1, .correlation = correlation});
  }
  std::vector<Interval> gaps() {
    const LoadedProcess loaded = builder.take();
    Stacks stacks(loaded.process, loaded.timeline);
    return find_batch_gaps(loaded.timeline, stacks, {kMainThread, kOtherLaunchingThread}, step_starts_ns);
  }
};

TEST(BatchGaps, EndAtTheFirstUploadOfAStep) {
  Loop loop;
  loop.call(0);
  loop.upload(40);
  loop.call(41);
  loop.call(100);
  loop.upload(150);
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{1 * kMs, 40 * kMs}, Interval{101 * kMs, 150 * kMs}));
}

TEST(BatchGaps, AreNotElsewhereInTheStep) {
  Loop loop;
  loop.call(0);
  loop.upload(2);
  loop.call(20);    // a slow forward pass
  loop.upload(40);  // a mask that the model makes on the CPU
  EXPECT_THAT(loop.gaps(), IsEmpty());
}

TEST(BatchGaps, AreLongerThanTwoMilliseconds) {
  Loop loop;
  loop.call(0);
  loop.upload(3);
  loop.call(100);
  loop.upload(104);
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{101 * kMs, 104 * kMs}));
}

TEST(BatchGaps, PassOverAllocationsBeforeTheUpload) {
  Loop loop;
  loop.call(0);
  loop.call(20, CallKind::kHostAlloc);
  loop.call(21, CallKind::kEventRecord);
  loop.upload(22);
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{1 * kMs, 20 * kMs}));
}

TEST(BatchGaps, EndAtACallOfALoader) {
  Loop loop;
  loop.call(0);
  loop.upload(1);
  loop.call(20, CallKind::kHostAlloc,
            loop.builder.line("/venv/lib/python3.12/site-packages/torch/utils/data/dataloader.py", 700));
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{2 * kMs, 20 * kMs}));
}

TEST(BatchGaps, AreNotBeforeUploadsOfABackwardPassOrAnOptimizer) {
  Loop loop;
  loop.call(0);
  loop.upload(20, AutogradRole::kBackward);
  loop.upload(40, AutogradRole::kForward,
              loop.builder.line("/venv/lib/python3.12/site-packages/torch/optim/adam.py", 200));
  loop.upload(60);
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{41 * kMs, 60 * kMs}));
}

TEST(BatchGaps, AreNotWhileAnotherThreadThatLaunchesCallsCuda) {
  Loop loop;
  loop.call(1);
  loop.builder.call(
      {.kind = CallKind::kSynchronize, .start_ns = 0, .end_ns = 39 * kMs, .thread = kOtherLaunchingThread});
  loop.upload(40);
  EXPECT_THAT(loop.gaps(), IsEmpty());
}

TEST(BatchGaps, NeedSteps) {
  Loop loop;
  loop.step_starts_ns.clear();
  loop.call(0);
  loop.upload(40);
  EXPECT_THAT(loop.gaps(), IsEmpty());
}

TEST(BatchGaps, AreNotEndedByThreadsThatDoNotLaunch) {
  Loop loop;
  loop.call(0);
  loop.builder.call(
      {.kind = CallKind::kCopy, .start_ns = 5 * kMs, .end_ns = 6 * kMs, .thread = kOtherLaunchingThread + 1});
  loop.upload(40);
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{1 * kMs, 40 * kMs}));
}

TEST(BatchGaps, AreMoreThanTwoMillisecondsExactly) {
  const auto gaps_of = [](std::int64_t more_ns) {
    Loop loop;
    loop.call(0);
    loop.builder.call({.start_ns = 3 * kMs + more_ns, .end_ns = 4 * kMs, .correlation = 1});
    loop.builder.copy({.start_ns = 3 * kMs, .end_ns = 4 * kMs, .correlation = 1});
    return loop.gaps();
  };
  EXPECT_THAT(gaps_of(0), IsEmpty());
  EXPECT_THAT(gaps_of(1), ElementsAre(Interval{1 * kMs, 3 * kMs + 1}));
}

TEST(BatchGaps, OfAStepBeginWithItsFirstCall) {
  Loop loop;
  loop.upload(60);   // in the first step
  loop.upload(100);  // the very start of the second
  loop.upload(150);  // not the batch any more
  loop.upload(250);
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{61 * kMs, 100 * kMs}, Interval{151 * kMs, 250 * kMs}));
}

TEST(BatchGaps, SeveralBeforeOneBatchAreAllOfIt) {
  Loop loop;
  loop.call(0);
  loop.call(10, CallKind::kHostAlloc);
  loop.call(20, CallKind::kOther);
  loop.upload(30);
  EXPECT_THAT(loop.gaps(),
              ElementsAre(Interval{1 * kMs, 10 * kMs}, Interval{11 * kMs, 20 * kMs}, Interval{21 * kMs, 30 * kMs}));
}

TEST(BatchGaps, AreForgottenAtOtherWork) {
  for (const CallKind kind :
       {CallKind::kCopy, CallKind::kMemset, CallKind::kSynchronize, CallKind::kLaunch, CallKind::kGraphLaunch}) {
    Loop loop;
    loop.call(0);
    loop.call(20, kind);
    loop.upload(22);
    EXPECT_THAT(loop.gaps(), IsEmpty());
  }
}

// A call inside of a longer one does not end it.
TEST(BatchGaps, BeginWhereTheLastCallOfAnyThreadEnds) {
  Loop loop;
  loop.builder.call({.kind = CallKind::kLaunch, .start_ns = 0, .end_ns = 30 * kMs});
  loop.builder.call(
      {.kind = CallKind::kLaunch, .start_ns = 2 * kMs, .end_ns = 3 * kMs, .thread = kOtherLaunchingThread});
  loop.upload(40);
  EXPECT_THAT(loop.gaps(), ElementsAre(Interval{30 * kMs, 40 * kMs}));
}

}  // namespace
}  // namespace turnpike::analyze
