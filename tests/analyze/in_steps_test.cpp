// What places did inside of the steps, apart from all that they did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::SizeIs;
using trace::CallKind;

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kStep = 1'000 * kMicrosecond;

// Three steps of 1 ms; one upload before them, one in each, and one behind them; a wait in each and one behind.
Report run_of_three_steps() {
  ProcessBuilder builder;
  const auto upload = builder.line("/home/me/train.py", 23);
  const auto wait = builder.line("/home/me/train.py", 24);
  std::uint32_t correlation = 0;
  for (std::int64_t start_ns = kStep; start_ns <= 5 * kStep; start_ns += kStep) {
    const bool is_step = start_ns > kStep && start_ns < 5 * kStep;
    if (is_step) builder.range("train_step", start_ns, start_ns + kStep);
    ++correlation;
    const std::int64_t call_ns = start_ns + 10 * kMicrosecond;
    builder.call({.start_ns = call_ns, .end_ns = call_ns + kMicrosecond, .correlation = correlation, .stack = upload});
    builder.copy({.start_ns = call_ns, .end_ns = call_ns + 5 * kMicrosecond, .correlation = correlation, .bytes = 100});
    if (start_ns == kStep) continue;
    builder.call({.kind = CallKind::kSynchronize,
                  .start_ns = call_ns + 20 * kMicrosecond,
                  .end_ns = call_ns + 23 * kMicrosecond,
                  .correlation = 100 + correlation,
                  .stack = wait,
                  .name = "cudaDeviceSynchronize"});
  }
  return builder.report();
}

TEST(InSteps, LeavesOutWhatIsBeforeAndBehindTheSteps) {
  const Report report = run_of_three_steps();
  ASSERT_TRUE(report.steps);
  EXPECT_EQ(report.steps->whole_count, 3u);
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].count, 5u);
  EXPECT_EQ(report.sites[0].in_steps.count, 3u);
  EXPECT_EQ(report.sites[0].in_steps.bytes, 300u);
  EXPECT_EQ(report.sites[0].in_steps.device_time_ns, 15 * kMicrosecond);
  EXPECT_EQ(report.sites[0].in_steps.exposed_ns, 15 * kMicrosecond);
}

TEST(InSteps, CountsSynchronisationsToo) {
  const Report report = run_of_three_steps();
  ASSERT_THAT(report.sync_sites, SizeIs(1));
  EXPECT_EQ(report.sync_sites[0].count, 4u);
  EXPECT_EQ(report.sync_sites[0].in_steps.count, 3u);
  EXPECT_EQ(report.sync_sites[0].in_steps.host_blocked_ns, 9 * kMicrosecond);
  EXPECT_EQ(report.sync_sites[0].in_steps.of_transfers_count, 0u);
  EXPECT_EQ(report.sync_sites[0].in_steps.of_transfers_host_blocked_ns, std::nullopt);
}

TEST(InSteps, OfARunWithoutStepsIsNothing) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 10, .correlation = 1, .stack = builder.line("a.py", 1)});
  builder.copy({.start_ns = 0, .end_ns = 10, .correlation = 1, .bytes = 100});
  const Report report = builder.report();
  EXPECT_EQ(report.steps, std::nullopt);
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].in_steps.count, 0u);
}

}  // namespace
}  // namespace turnpike::analyze
