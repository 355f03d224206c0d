#include "analyze/sums/step_counts.h"

#include <gtest/gtest.h>

#include <vector>

namespace turnpike::analyze {
namespace {

constexpr auto kUp = Direction::kHostToDevice;

double up_count(const StepCounts& counts) {
  return counts.medians()->counts[static_cast<std::size_t>(kUp)];
}

TEST(StepCounts, HasNoMedianWithoutSteps) {
  EXPECT_FALSE(StepCounts().medians());
}

TEST(StepCounts, IsNotMovedByCopiesThatWereMadeAhead) {
  const std::vector<std::int64_t> starts = {0, 100, 200, 300, 400, 500};
  StepCounts counts;
  counts.begin_process(starts, 100, 5);  // the first one warms up
  for (const std::int64_t time_ns : {110, 120, 130, 210, 220, 310, 320, 410, 420}) {
    counts.add_transfer(time_ns, kUp, 1, 10, 5);
  }
  EXPECT_EQ(up_count(counts), 2);
  EXPECT_EQ(counts.medians()->bytes[static_cast<std::size_t>(kUp)], 20);
  EXPECT_EQ(counts.medians()->blocked_ns, 10);
  EXPECT_EQ(counts.medians()->counts[static_cast<std::size_t>(Direction::kDeviceToHost)], 0);
}

TEST(StepCounts, CountsSynchronisationsAndWhatTheyHold) {
  StepCounts counts;
  counts.begin_process(std::vector<std::int64_t>{0, 100, 200}, 0, 3);
  for (const std::int64_t time_ns : {0, 99, 100, 150, 299}) counts.add_synchronisation(time_ns, 7);
  EXPECT_EQ(counts.medians()->syncs, 2);
  EXPECT_EQ(counts.medians()->blocked_ns, 14);
}

TEST(StepCounts, TakesTheStepsOfAllProcesses) {
  StepCounts counts;
  for (const int copies : {1, 3, 5}) {
    counts.begin_process(std::vector<std::int64_t>{0}, 0, 1);
    for (int i = 0; i < copies; ++i) counts.add_transfer(1, kUp, 1, 1, {});
  }
  EXPECT_EQ(up_count(counts), 3);
}

TEST(StepCounts, ForgetsProcessesBeyondWhatItKeeps) {
  constexpr std::size_t kMany = 60'000;
  std::vector<std::int64_t> starts(kMany);
  for (std::size_t i = 0; i < kMany; ++i) starts[i] = static_cast<std::int64_t>(i);
  StepCounts counts;
  counts.begin_process(starts, 0, kMany);
  counts.begin_process(starts, 0, kMany);
  for (std::size_t i = 0; i < kMany; ++i) counts.add_transfer(starts[i], kUp, 1, 1, {});
  EXPECT_EQ(up_count(counts), 0);  // they are not given to the first one's
}

}  // namespace
}  // namespace turnpike::analyze
