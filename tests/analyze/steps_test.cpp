// Steps from ranges, from the optimizer, from regular transfers.
#include "analyze/steps.h"

#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

std::optional<FoundSteps> find(ProcessBuilder& builder, const std::vector<std::uint32_t>& site_of_transfer = {}) {
  const LoadedProcess loaded = builder.take();
  Stacks stacks(loaded.process, loaded.timeline);
  std::vector<std::uint32_t> sites = site_of_transfer;
  sites.resize(loaded.timeline.transfers.size(), kNone);
  return find_steps(loaded.process, loaded.timeline, stacks, sites);
}

std::uint32_t optimizer_stack(ProcessBuilder& builder, std::uint32_t user_line) {
  return builder.stack({builder.python("Adam.step", "/venv/lib/python3.12/site-packages/torch/optim/adam.py", 200),
                        builder.python("main", "/home/user/train.py", user_line)});
}

void launch(ProcessBuilder& builder, std::int64_t start_ns, std::uint32_t stack) {
  builder.call({.kind = CallKind::kLaunch, .start_ns = start_ns, .end_ns = start_ns + 1, .stack = stack});
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

TEST(Steps, AreBurstsOfTheOptimizer) {
  ProcessBuilder builder;
  const auto optimizer = optimizer_stack(builder, 30);
  const auto model = builder.line("/home/user/train.py", 20);
  for (const std::int64_t start : {0, 1000, 2100, 3100}) {
    launch(builder, start, model);
    launch(builder, start + 500, optimizer);
    launch(builder, start + 510, optimizer);
    launch(builder, start + 520, optimizer);
  }
  const auto found = find(builder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, StepSource::kOptimizer);
  EXPECT_EQ(found->steps.count, 4u);
  EXPECT_EQ(found->steps.median_ns, 1000);
  EXPECT_EQ(found->steps.source, "optimizer.step");
}

TEST(Steps, OfTwoOptimizersAreThoseOfOneLine) {
  ProcessBuilder builder;
  const auto discriminator = optimizer_stack(builder, 30);
  const auto generator = optimizer_stack(builder, 40);
  for (std::int64_t i = 0; i < 3; ++i) {
    launch(builder, i * 1000, discriminator);
    launch(builder, i * 1000 + 10, generator);
  }
  EXPECT_EQ(find(builder)->steps.count, 3u);
}

TEST(Steps, OfTheOptimizerIgnoreOtherThreadsInBetween) {
  ProcessBuilder builder;
  const auto optimizer = optimizer_stack(builder, 30);
  const auto other = builder.line("/home/user/train.py", 20);
  for (std::int64_t i = 0; i < 3; ++i) {
    launch(builder, i * 1000, optimizer);
    builder.call({.kind = CallKind::kLaunch,
                  .start_ns = i * 1000 + 5,
                  .end_ns = i * 1000 + 6,
                  .stack = other,
                  .thread = kMainThread + 1});
    launch(builder, i * 1000 + 10, optimizer);
    launch(builder, i * 1000 + 20, other);
  }
  EXPECT_EQ(find(builder)->steps.count, 3u);
}

TEST(Steps, NeedThreeBurstsOfTheOptimizer) {
  ProcessBuilder builder;
  const auto optimizer = optimizer_stack(builder, 30);
  const auto model = builder.line("/home/user/train.py", 20);
  for (std::int64_t i = 0; i < 2; ++i) {
    launch(builder, i * 1000, optimizer);
    launch(builder, i * 1000 + 10, model);
  }
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

TEST(Steps, TrustRangesMoreThanTransfers) {
  ProcessBuilder builder;
  copies_at(builder, {0, 100, 200, 300, 400}, builder.line("/home/user/train.py", 12));
  for (std::int64_t i = 0; i < 3; ++i) builder.range("step", i * 70, i * 70 + 60);
  EXPECT_EQ(find(builder, {0, 0, 0, 0, 0})->source, StepSource::kRanges);
}

}  // namespace
}  // namespace turnpike::analyze
