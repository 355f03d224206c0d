// Steps from ranges, from backward passes, from regular transfers.
#include "analyze/model/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "analyze/process_builder.h"
#include "base/step_name.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using trace::AutogradRole;
using trace::CallKind;

std::optional<FoundSteps> find(ProcessBuilder& builder, const std::vector<std::uint32_t>& site_of_transfer = {},
                               const Steps* like = nullptr) {
  const LoadedProcess loaded = builder.take();
  Stacks stacks(loaded.process, loaded.timeline);
  std::vector<std::uint32_t> sites = site_of_transfer;
  sites.resize(loaded.timeline.transfers.size(), kNone);
  return find_steps(loaded.process, loaded.timeline, stacks, sites, like);
}

constexpr std::uint32_t kAutogradThread = 200;
constexpr std::uint64_t kSequence = 7;

void launch(ProcessBuilder& builder, std::int64_t start_ns, AutogradRole role, CallKind kind = CallKind::kLaunch) {
  builder.call({.kind = kind,
                .start_ns = start_ns,
                .end_ns = start_ns + 1,
                .thread = role == AutogradRole::kBackward ? kAutogradThread : kMainThread,
                .role = role,
                .sequence = kSequence});
}

TEST(Steps, AreUnknownOfNothing) {
  ProcessBuilder builder;
  EXPECT_FALSE(find(builder));
}

TEST(Steps, AreRangesNamedStep) {
  ProcessBuilder builder;
  for (const std::int64_t start : {0, 100, 200, 320}) builder.range("step", start, start + 90);
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.source, StepSource::kRanges);
  EXPECT_EQ(found->steps.count, 4u);
  EXPECT_EQ(found->steps.median_ns, 100);
  EXPECT_EQ(source_text(found->steps), "nvtx:step");
}

// torch.profiler ends a step where the next one starts, so the last one counts, too.
TEST(Steps, OfRangesWithoutGapsHaveALastOneOfKnownLength) {
  ProcessBuilder builder;
  builder.range("ProfilerStep#1", 0, 444);
  builder.range("ProfilerStep#2", 444, 570);
  builder.range("ProfilerStep#3", 570, 727);
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.median_ns, 157);
}

TEST(Steps, AreRangesThatDifferInTheirNumber) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 3; ++i) builder.range("ProfilerStep#" + std::to_string(i), i * 50, i * 50 + 40);
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(source_text(found->steps), "nvtx:ProfilerStep");
  EXPECT_EQ(found->steps.count, 3u);
}

TEST(Steps, AreTheOutermostOfSeveralRanges) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 3; ++i) {
    builder.range("train_step", i * 100, i * 100 + 90);
    for (std::int64_t j = 0; j < 4; ++j) builder.range("micro-step", i * 100 + j * 20, i * 100 + j * 20 + 10);
  }
  EXPECT_EQ(source_text(find(builder)->steps), "nvtx:train_step");
}

TEST(Steps, AreNotRangesThatComeTwiceOrAreNamedOtherwise) {
  ProcessBuilder builder;
  builder.range("iteration", 0, 10);
  builder.range("iteration", 20, 30);
  for (std::int64_t i = 0; i < 5; ++i) {
    builder.range("forward", i * 10, i * 10 + 5);
    builder.range("Optimizer.step", i * 10, i * 10 + 5);
    builder.range("misstep", i * 10, i * 10 + 5);
  }
  EXPECT_FALSE(find(builder));
}

// Forward, backward and optimizer of steps that start at `starts`.
void train(ProcessBuilder& builder, const std::vector<std::int64_t>& starts) {
  for (const std::int64_t start : starts) {
    launch(builder, start, AutogradRole::kForward);
    for (const std::int64_t at : {300, 310, 320}) launch(builder, start + at, AutogradRole::kBackward);
    launch(builder, start + 500, AutogradRole::kForward);
  }
}

TEST(Steps, AreBackwardPasses) {
  ProcessBuilder builder;
  train(builder, {0, 1000, 2100, 3100});
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.source, StepSource::kBackward);
  EXPECT_EQ(found->steps.count, 4u);
  EXPECT_EQ(found->steps.median_ns, 1000);
  EXPECT_EQ(source_text(found->steps), "backward pass");
  EXPECT_THAT(found->starts_ns, ElementsAre(300, 1300, 2400, 3400));
}

TEST(Steps, OfBackwardPassesAreWholeFromTheFirstPassToTheLast) {
  ProcessBuilder builder;
  train(builder, {0, 1000, 2100, 3100});
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->window, (Interval{300, 3400}));
  EXPECT_EQ(found->whole_count, 3u);
  EXPECT_FALSE(found->has_warm_up);
}

TEST(Steps, ThatWarmUpAreLeftOutOfTheWindow) {
  ProcessBuilder builder;
  train(builder, {0, 4000, 7100, 8100, 9100, 10'100, 14'000, 15'000, 16'000});
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.count, 9u);
  EXPECT_EQ(found->steps.median_ns, 1000);
  EXPECT_EQ(found->window, (Interval{7400, 16'300}));  // the slow step later on stays in
  EXPECT_EQ(found->whole_count, 6u);
  EXPECT_TRUE(found->has_warm_up);
}

TEST(Steps, OfRangesAreWholeToTheEndOfTheLast) {
  ProcessBuilder builder;
  for (const std::int64_t start : {0, 100, 200}) builder.range("step", start, start + 90);
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->window, (Interval{0, 290}));
  EXPECT_EQ(found->whole_count, 3u);
  EXPECT_THAT(found->starts_ns, ElementsAre(0, 100, 200));
}

// A gradient that is copied in a hook, an upload by an unknown call, a synchronisation: none of them ends the pass.
TEST(Steps, AreOneForAPassThatOtherCallsInterrupt) {
  ProcessBuilder builder;
  train(builder, {0, 1000, 2000});
  for (const std::int64_t start : {0, 1000, 2000}) {
    launch(builder, start + 305, AutogradRole::kUnknown);
    launch(builder, start + 306, AutogradRole::kForward, CallKind::kSynchronize);
    launch(builder, start + 307, AutogradRole::kBackward, CallKind::kCopy);
    launch(builder, start + 308, AutogradRole::kForward, CallKind::kEventRecord);
    // A thread that stages the next batch.
    builder.call({.kind = CallKind::kCopy,
                  .start_ns = start + 309,
                  .end_ns = start + 310,
                  .thread = 300,
                  .role = AutogradRole::kForward,
                  .sequence = 0});
  }
  EXPECT_EQ(find(builder)->steps.count, 3u);
}

TEST(Steps, AreEndedByACopyOrAGraphToo) {
  for (const CallKind kind : {CallKind::kCopy, CallKind::kGraphLaunch}) {
    ProcessBuilder builder;
    for (std::int64_t i = 0; i < 3; ++i) {
      launch(builder, i * 1000, AutogradRole::kForward, kind);
      launch(builder, i * 1000 + 10, AutogradRole::kBackward, kind);
    }
    EXPECT_EQ(find(builder)->steps.count, 3u);
  }
}

TEST(Steps, NeedThreeBackwardPasses) {
  ProcessBuilder builder;
  train(builder, {0, 1000});
  EXPECT_FALSE(find(builder));
}

void copies_at(ProcessBuilder& builder, const std::vector<std::int64_t>& starts, std::uint32_t stack) {
  std::uint32_t correlation = 1;
  for (const std::int64_t start : starts) {
    builder.call({.start_ns = start, .end_ns = start + 1, .correlation = correlation, .stack = stack});
    builder.copy({.start_ns = start, .end_ns = start + 1, .correlation = correlation++});
  }
}

TEST(Steps, AreRegularTransfersOfOnePlace) {
  ProcessBuilder builder;
  copies_at(builder, {0, 100, 210, 300, 400}, builder.line("/home/user/train.py", 12));
  const auto found = find(builder, {0, 0, 0, 0, 0});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.source, StepSource::kTransfers);
  EXPECT_EQ(found->steps.count, 5u);
  EXPECT_EQ(found->steps.median_ns, 100);
  EXPECT_EQ(source_text(found->steps), "transfers of train.py:12");
  EXPECT_EQ(found->window, (Interval{0, 400}));
  EXPECT_EQ(found->whole_count, 4u);
}

// Operators set memory, and copy within the device, many times in one step.
TEST(Steps, AreNoTransfersWithinADevice) {
  for (const auto kind : {trace::CopyKind::kDeviceToDevice, trace::CopyKind::kHostToDevice}) {
    ProcessBuilder builder;
    for (std::uint32_t i = 0; i < 5; ++i) {
      builder.copy({.start_ns = 100 * i, .end_ns = 100 * i + 1, .correlation = i, .kind = kind});
    }
    EXPECT_EQ(find(builder, {0, 0, 0, 0, 0}).has_value(), kind == trace::CopyKind::kHostToDevice);
  }
  ProcessBuilder builder;
  for (std::uint32_t i = 0; i < 5; ++i) builder.memset(100 * i, 100 * i + 1, i, 8);
  EXPECT_FALSE(find(builder, {0, 0, 0, 0, 0}));
}

TEST(Steps, MayBeTransfersWithinADeviceOfALineOfTheProgram) {
  ProcessBuilder builder;
  const auto stack = builder.line("/home/user/train.py", 38);
  for (std::uint32_t i = 0; i < 5; ++i) {
    builder.call({.start_ns = 100 * i, .end_ns = 100 * i + 1, .correlation = i + 1, .stack = stack});
    builder.copy({.start_ns = 100 * i + 10,
                  .end_ns = 100 * i + 11,
                  .correlation = i + 1,
                  .kind = trace::CopyKind::kDeviceToDevice});
  }
  const auto found = find(builder, {0, 0, 0, 0, 0});
  ASSERT_TRUE(found);
  EXPECT_EQ(source_text(found->steps), "transfers of train.py:38");
}

TEST(Steps, OfTransfersStartWithTheirCalls) {
  ProcessBuilder builder;
  const auto stack = builder.line("/home/user/train.py", 12);
  for (std::uint32_t i = 0; i < 5; ++i) {
    builder.call({.start_ns = i * 100, .end_ns = i * 100 + 1, .correlation = i + 1, .stack = stack});
    builder.copy({.start_ns = i * 100 + 30, .end_ns = i * 100 + 31, .correlation = i + 1});
  }
  EXPECT_THAT(find(builder, {0, 0, 0, 0, 0})->starts_ns, ElementsAre(0, 100, 200, 300, 400));
}

constexpr std::array<std::uint32_t, 5> kPieces = {0, 1, 2, 3, 4};
constexpr std::array<std::uint32_t, 5> kTiedPieces = {0, 1, 2, 3, 0};  // the last layer has the weights of the first

// The uploads `first` to `last` of a program that sends up five pieces in turn, each followed by a kernel, and launches
// one more kernel behind the fifth.
void upload_pieces(ProcessBuilder& builder, std::uint32_t first, std::uint32_t last, std::uint64_t memory = 0x1000,
                   std::span<const std::uint32_t, 5> pieces = kPieces) {
  const auto stack = builder.line("/home/user/infer.py", 12);
  for (std::uint32_t i = first; i < last; ++i) {
    const std::int64_t start_ns = i * 100;
    builder.call({.start_ns = start_ns,
                  .end_ns = start_ns + 1,
                  .correlation = i + 1,
                  .stack = stack,
                  .bytes = 64,
                  .src = memory + pieces[i % 5] * 64});
    builder.copy({.start_ns = start_ns, .end_ns = start_ns + 1, .correlation = i + 1, .bytes = 64});
    launch(builder, start_ns + 10, AutogradRole::kUnknown);
    if (i % 5 == 4) launch(builder, start_ns + 20, AutogradRole::kUnknown);
  }
}

std::optional<FoundSteps> find_of_one_place(ProcessBuilder& builder, std::size_t transfers,
                                            const Steps* like = nullptr) {
  return find(builder, std::vector<std::uint32_t>(transfers, 0), like);
}

TEST(Steps, AreRoundsOfThePiecesOfAModel) {
  ProcessBuilder builder;
  upload_pieces(builder, 0, 20);
  const auto found = find_of_one_place(builder, 20);
  ASSERT_TRUE(found);
  EXPECT_EQ(source_text(found->steps), "transfers of infer.py:12");
  EXPECT_THAT(found->starts_ns, ElementsAre(0, 500, 1000, 1500));
}

TEST(Steps, AreRoundsThatHoldTheirFirstPieceTwice) {
  for (const std::uint32_t first : {0u, 4u}) {  // the beginning of a round, or its end
    ProcessBuilder builder;
    upload_pieces(builder, first, 19, 0x1000, kTiedPieces);
    const auto found = find_of_one_place(builder, 19 - first);
    ASSERT_TRUE(found);
    if (first == 0) {
      EXPECT_THAT(found->starts_ns, ElementsAre(0, 500, 1000, 1500));
    } else {
      EXPECT_THAT(found->starts_ns, ElementsAre(500, 1000, 1500));
    }
    ProcessBuilder shorter;
    upload_pieces(shorter, 23, 26, 0x1000, kTiedPieces);
    const auto later = find_of_one_place(shorter, 3, &found->steps);
    ASSERT_TRUE(later);
    EXPECT_THAT(later->starts_ns, ElementsAre(2500))
        << "the last upload of this part, so the piece after it is unknown";
  }
}

TEST(Steps, OfALaterPartAreRoundsHoweverShortThePartIs) {
  ProcessBuilder builder;
  upload_pieces(builder, 0, 20);
  const auto earlier = find_of_one_place(builder, 20);
  ASSERT_TRUE(earlier);

  ProcessBuilder shorter;  // than a round
  upload_pieces(shorter, 23, 27);
  const auto later = find_of_one_place(shorter, 4, &earlier->steps);
  ASSERT_TRUE(later);
  EXPECT_EQ(source_text(later->steps), "transfers of infer.py:12");
  EXPECT_THAT(later->starts_ns, ElementsAre(2500));

  ProcessBuilder within;
  upload_pieces(within, 21, 25);
  EXPECT_FALSE(find_of_one_place(within, 4, &earlier->steps));
}

TEST(Steps, OfALaterPartAreRoundsOfPiecesThatMoved) {
  ProcessBuilder builder;
  upload_pieces(builder, 0, 20);
  const auto earlier = find_of_one_place(builder, 20);
  ASSERT_TRUE(earlier);

  ProcessBuilder moved;
  upload_pieces(moved, 22, 40, 0x9000);
  const auto later = find_of_one_place(moved, 18, &earlier->steps);
  ASSERT_TRUE(later);
  EXPECT_THAT(later->starts_ns, ElementsAre(2500, 3000, 3500));

  ProcessBuilder still_there;
  upload_pieces(still_there, 43, 47, 0x9000);
  const auto last = find_of_one_place(still_there, 4, &later->steps);
  ASSERT_TRUE(last);
  EXPECT_THAT(last->starts_ns, ElementsAre(4500));
}

TEST(Steps, OfALaterPartAreSingleUploadsWhereThoseOfTheEarlierOneWere) {
  ProcessBuilder builder;
  upload_pieces(builder, 0, 9);  // not even two rounds
  const auto earlier = find_of_one_place(builder, 9);
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->steps.count, 9u);

  ProcessBuilder longer;
  upload_pieces(longer, 10, 30);
  const auto later = find_of_one_place(longer, 20, &earlier->steps);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->steps.count, 20u);
}

TEST(Steps, AreNotIrregularOrFewTransfers) {
  ProcessBuilder irregular;
  copies_at(irregular, {0, 1, 2, 3, 1000}, irregular.line("/home/user/train.py", 12));
  EXPECT_FALSE(find(irregular, {0, 0, 0, 0, 0}));
  ProcessBuilder few;
  copies_at(few, {0, 100, 200, 300}, few.line("/home/user/train.py", 12));
  EXPECT_FALSE(find(few, {0, 0, 0, 0}));
}

TEST(Steps, OfALaterPartAreThoseOfTheEarlierOne) {
  ProcessBuilder builder;
  const Steps of_ranges{.count = 9, .median_ns = 100, .source = StepSource::kRanges, .marker = "train_step"};
  builder.range("train_step", 0, 90);
  for (std::int64_t i = 0; i < 4; ++i) builder.range("outer step", i * 500, i * 500 + 490);
  const auto found = find(builder, {}, &of_ranges);
  ASSERT_TRUE(found);
  EXPECT_EQ(source_text(found->steps), "nvtx:train_step");
  EXPECT_EQ(found->steps.count, 1u);

  ProcessBuilder without;
  for (std::int64_t i = 0; i < 5; ++i) launch(without, i * 100, AutogradRole::kBackward);
  EXPECT_FALSE(find(without, {}, &of_ranges));
}

// As when a graph is captured, or a queue is filled: evenly spaced, and over before the work begins.
TEST(Steps, AreNotABurstOfTransfersBesideMostOfTheKernels) {
  for (const bool is_burst : {true, false}) {
    ProcessBuilder builder;
    for (std::int64_t i = 0; i < 8; ++i) builder.copy({.start_ns = i * 20, .end_ns = i * 20 + 1});
    const std::int64_t pitch_ns = is_burst ? 100 : 7;
    for (std::int64_t i = 0; i < 20; ++i) builder.kernel({.start_ns = i * pitch_ns, .end_ns = i * pitch_ns + 5});
    const auto found = find(builder, std::vector<std::uint32_t>(8, 3));
    EXPECT_EQ(found.has_value(), !is_burst);
  }
}

TEST(Steps, AreTheMostFrequentOfRegularTransfers) {
  ProcessBuilder builder;
  const std::vector<std::int64_t> starts = {0, 1, 50, 100, 101, 150, 200, 201, 250, 300, 301, 350, 400, 401, 450, 500};
  copies_at(builder, starts, builder.line("/home/user/train.py", 12));
  // Place 0 comes at every 100, place 1 at every 50, place 2 beside them and belongs to no known line.
  const auto found = find(builder, {1, kNone, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.count, 11u);
  EXPECT_EQ(found->steps.median_ns, 50);
}

TEST(Steps, TrustBackwardPassesMoreThanTransfers) {
  ProcessBuilder builder;
  copies_at(builder, {0, 100, 200, 300, 400}, builder.line("/home/user/train.py", 12));
  train(builder, {0, 1000, 2000});
  EXPECT_EQ(find(builder, {0, 0, 0, 0, 0})->steps.source, StepSource::kBackward);
}

TEST(Steps, TrustRangesMoreThanAllElse) {
  ProcessBuilder builder;
  copies_at(builder, {0, 100, 200, 300, 400}, builder.line("/home/user/train.py", 12));
  train(builder, {0, 1000, 2000});
  for (std::int64_t i = 0; i < 3; ++i) builder.range("step", i * 70, i * 70 + 60);
  EXPECT_EQ(find(builder, {0, 0, 0, 0, 0})->steps.source, StepSource::kRanges);
}

TEST(Steps, WarmUpIsMoreThanThreeMedians) {
  const auto warm_up = [](std::int64_t first_ns) {
    ProcessBuilder builder;
    train(builder, {0, first_ns, first_ns + 1000, first_ns + 2000, first_ns + 3000});
    return find(builder)->has_warm_up;
  };
  EXPECT_FALSE(warm_up(3000));
  EXPECT_TRUE(warm_up(3001));
}

TEST(Steps, WarmUpLeavesTwoStarts) {
  ProcessBuilder builder;
  train(builder, {0, 9000, 18'000, 19'000});
  const auto found = find(builder);
  EXPECT_EQ(found->steps.median_ns, 9000);
  ProcessBuilder all_slow;
  for (const std::int64_t start : {0, 10'000, 20'000}) all_slow.range("step", start, start + 1);
  EXPECT_EQ(find(all_slow)->window, (Interval{0, 20'001}));
  ProcessBuilder fast_end;
  train(fast_end, {0, 100'000, 101'000, 102'000});
  EXPECT_EQ(find(fast_end)->window, (Interval{100'300, 102'300}));
}

TEST(Steps, MediansOfEvenNumbersAreTheMeanOfTheMiddle) {
  ProcessBuilder builder;
  for (const std::int64_t start : {0, 100, 220, 350, 490}) builder.range("step", start, start + 50);
  EXPECT_EQ(find(builder)->steps.median_ns, 125);  // of 100, 120, 130 and 140
}

TEST(Steps, OfRangesThatOverlapEndWithTheLastEnd) {
  ProcessBuilder builder;
  builder.range("step", 0, 500);
  builder.range("step", 100, 150);
  builder.range("step", 200, 260);
  EXPECT_EQ(find(builder)->window, (Interval{0, 500}));
}

TEST(Steps, OfTwoThreadsAtOnceAreThoseOfTheThreadWithMoreTime) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 4; ++i) builder.range("step", i * 100, i * 100 + 90);
  for (std::int64_t i = 0; i < 4; ++i) builder.range("step", i * 100 + 50, i * 100 + 120, "", kMainThread + 1);
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->starts_ns, ElementsAre(0, 100, 200, 300));
  EXPECT_EQ(found->window, (Interval{0, 390}));
}

TEST(Steps, OfTwoThreadsInTurnsAreOfBoth) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 4; ++i) {
    builder.range("step", i * 100, i * 100 + 90, "", kMainThread + static_cast<std::uint32_t>(i % 2));
  }
  EXPECT_EQ(find(builder)->steps.count, 4u);
}

TEST(Steps, AreOfTheRangesWithMostTimeInSum) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 3; ++i) {
    builder.range("a_step", i * 100, i * 100 + 60);
    builder.range("b_step", i * 100, i * 100 + 61);
    builder.range("c-iteration", i * 100, i * 100 + 59);
  }
  EXPECT_EQ(source_text(find(builder)->steps), "nvtx:b_step");
}

TEST(Steps, AreNamedByAWordOfItsOwn) {
  const auto is_step = [](const std::string& name) {
    ProcessBuilder builder;
    for (std::int64_t i = 0; i < 3; ++i) builder.range(name, i * 100, i * 100 + 90);
    return find(builder).has_value();
  };
  for (const char* name : {"step", "Step", "train_step", "trainStep", "my step 7", "iteration", "TrainIteration",
                           "2step", "STEP", "step[3]"}) {
    EXPECT_TRUE(is_step(name)) << name;
  }
  for (const char* name : {"misstep", "steps", "optimizer_step", "lr_sched.step", "Optim step", "reiteration", ""}) {
    EXPECT_FALSE(is_step(name)) << name;
  }
}

TEST(Steps, NamesLoseTheirNumbersAtTheEnd) {
  EXPECT_EQ(without_number("ProfilerStep#12"), "ProfilerStep");
  EXPECT_EQ(without_number("step 3"), "step");
  EXPECT_EQ(without_number("epoch 2: step (7)"), "epoch 2: step");
  EXPECT_EQ(without_number("12"), "");
  EXPECT_EQ(without_number(""), "");
}

TEST(Steps, AreTransfersWhoseIntervalsVaryByLessThanHalfTheirMean) {
  const auto is_regular = [](const std::vector<std::int64_t>& starts) {
    ProcessBuilder builder;
    copies_at(builder, starts, builder.line("/home/user/train.py", 12));
    return find(builder, std::vector<std::uint32_t>(starts.size(), 0)).has_value();
  };
  // Intervals of 50 and 150 around 100: a deviation of 50.
  EXPECT_FALSE(is_regular({0, 50, 200, 250, 400}));
  EXPECT_TRUE(is_regular({0, 51, 200, 251, 400}));
  EXPECT_FALSE(is_regular({0, 0, 0, 0, 0}));
}

// A first step loads kernels: longer than the nine others together.
TEST(Steps, OfTransfersMayBeginWithOnesThatWarmUp) {
  ProcessBuilder builder;
  const std::vector<std::int64_t> starts = {0, 5000, 5500, 5600, 5700, 5800, 5900, 6000, 6100};
  copies_at(builder, starts, builder.line("/home/user/train.py", 12));
  const auto found = find(builder, std::vector<std::uint32_t>(starts.size(), 0));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.count, 9u);
  EXPECT_EQ(found->steps.median_ns, 100);
  EXPECT_EQ(found->window, (Interval{5500, 6100}));
  // At least five regular transfers must be left. A pause in the middle is not part of warming up.
  const auto is_regular = [](const std::vector<std::int64_t>& times) {
    ProcessBuilder other;
    copies_at(other, times, other.line("/home/user/train.py", 12));
    return find(other, std::vector<std::uint32_t>(times.size(), 0)).has_value();
  };
  EXPECT_FALSE(is_regular({0, 5000, 5100, 5200, 5300}));
  EXPECT_TRUE(is_regular({0, 5000, 5100, 5200, 5300, 5400}));
  EXPECT_FALSE(is_regular({0, 100, 200, 5200, 5300, 5400}));
}

TEST(Steps, OfTransfersTakeNoneWithoutTimes) {
  ProcessBuilder builder;
  const auto stack = builder.line("/home/user/train.py", 12);
  copies_at(builder, {0, 100, 200, 300}, stack);
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime, .correlation = 9});
  EXPECT_FALSE(find(builder, {0, 0, 0, 0, 0}));
}

TEST(Steps, PassesWithoutTimesAreNone) {
  ProcessBuilder builder;
  train(builder, {0, 1000});
  builder.call({.kind = CallKind::kLaunch,
                .start_ns = trace::kUnknownTime,
                .end_ns = trace::kUnknownTime,
                .role = AutogradRole::kBackward});
  EXPECT_FALSE(find(builder));
}

}  // namespace
}  // namespace turnpike::analyze
