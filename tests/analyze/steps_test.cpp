// Steps from ranges, from backward passes, from regular transfers.
#include "analyze/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using trace::AutogradRole;
using trace::CallKind;

std::optional<FoundSteps> find(ProcessBuilder& builder, const std::vector<std::uint32_t>& site_of_transfer = {}) {
  const LoadedProcess loaded = builder.take();
  Stacks stacks(loaded.process, loaded.timeline);
  std::vector<std::uint32_t> sites = site_of_transfer;
  sites.resize(loaded.timeline.transfers.size(), kNone);
  return find_steps(loaded.process, loaded.timeline, stacks, sites);
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
  EXPECT_EQ(found->source, StepSource::kRanges);
  EXPECT_EQ(found->steps.count, 4u);
  EXPECT_EQ(found->steps.median_ns, 100);
  EXPECT_EQ(found->steps.source, "nvtx:step");
}

TEST(Steps, AreRangesThatDifferInTheirNumber) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 3; ++i) builder.range("ProfilerStep#" + std::to_string(i), i * 50, i * 50 + 40);
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps.source, "nvtx:ProfilerStep");
  EXPECT_EQ(found->steps.count, 3u);
}

TEST(Steps, AreTheOutermostOfSeveralRanges) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 3; ++i) {
    builder.range("train_step", i * 100, i * 100 + 90);
    for (std::int64_t j = 0; j < 4; ++j) builder.range("micro-step", i * 100 + j * 20, i * 100 + j * 20 + 10);
  }
  EXPECT_EQ(find(builder)->steps.source, "nvtx:train_step");
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
  EXPECT_EQ(found->source, StepSource::kBackward);
  EXPECT_EQ(found->steps.count, 4u);
  EXPECT_EQ(found->steps.median_ns, 1000);
  EXPECT_EQ(found->steps.source, "backward pass");
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
  EXPECT_EQ(found->source, StepSource::kTransfers);
  EXPECT_EQ(found->steps.count, 5u);
  EXPECT_EQ(found->steps.median_ns, 100);
  EXPECT_EQ(found->steps.source, "transfers of train.py:12");
  EXPECT_EQ(found->window, (Interval{0, 400}));
  EXPECT_EQ(found->whole_count, 4u);
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

TEST(Steps, AreNotIrregularOrFewTransfers) {
  ProcessBuilder irregular;
  copies_at(irregular, {0, 1, 2, 3, 1000}, irregular.line("/home/user/train.py", 12));
  EXPECT_FALSE(find(irregular, {0, 0, 0, 0, 0}));
  ProcessBuilder few;
  copies_at(few, {0, 100, 200, 300}, few.line("/home/user/train.py", 12));
  EXPECT_FALSE(find(few, {0, 0, 0, 0}));
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
  EXPECT_EQ(find(builder, {0, 0, 0, 0, 0})->source, StepSource::kBackward);
}

TEST(Steps, TrustRangesMoreThanAllElse) {
  ProcessBuilder builder;
  copies_at(builder, {0, 100, 200, 300, 400}, builder.line("/home/user/train.py", 12));
  train(builder, {0, 1000, 2000});
  for (std::int64_t i = 0; i < 3; ++i) builder.range("step", i * 70, i * 70 + 60);
  EXPECT_EQ(find(builder, {0, 0, 0, 0, 0})->source, StepSource::kRanges);
}

}  // namespace
}  // namespace turnpike::analyze
