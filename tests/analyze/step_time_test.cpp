// The division of a step's time, which adds up to the step.
#include "analyze/step_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace turnpike::analyze {
namespace {

Report divided_report() {
  Report report;
  report.steps = Steps{.count = 9, .median_ns = 1000};
  report.verdict.gpu_busy_pct = 40;
  report.verdict.exposed_collective_pct = 5;
  report.verdict.exposed_transfer_pct = 20;
  report.verdict.idle = IdleShares{.copies_pct = 10, .syncs_pct = 0.04, .input_pct = 30};
  return report;
}

TEST(StepTime, ThePartsAddUpAndThoseOfNoSizeAreLeftOut) {
  const Report report = divided_report();
  const auto parts = parts_of_time(report);
  ASSERT_EQ(parts.size(), 5u);
  const double sum_pct =
      std::accumulate(parts.begin(), parts.end(), 0.0, [](double sum, const TimePart& part) { return sum + part.pct; });
  EXPECT_DOUBLE_EQ(sum_pct, 100);
  EXPECT_EQ(parts[0].use, TimeUse::kComputing);
  EXPECT_DOUBLE_EQ(parts[0].pct, 35) << "collectives are a part of their own";
  EXPECT_EQ(parts[1].use, TimeUse::kCollectives);
  EXPECT_EQ(parts[2].cause, IdleCause::kCopiesOnly);
  EXPECT_EQ(parts[3].cause, IdleCause::kCopy);
  EXPECT_EQ(parts[4].cause, IdleCause::kInput);
}

TEST(StepTime, NothingIsSaidWhereTheGpuIsUnknownAndNoCauseWhereNoneIs) {
  Report report = divided_report();
  report.verdict.idle.reset();
  report.verdict.gpu_idle_pct = 40;
  const auto parts = parts_of_time(report);
  EXPECT_EQ(parts.back().use, TimeUse::kWithout);
  EXPECT_FALSE(parts.back().cause);
  EXPECT_DOUBLE_EQ(parts.back().pct, 40);
  report.verdict.gpu_busy_pct.reset();
  EXPECT_TRUE(parts_of_time(report).empty());
  report.verdict.gpu_busy_pct = std::numeric_limits<double>::quiet_NaN();
  for (const TimePart& part : parts_of_time(report)) EXPECT_FALSE(std::isnan(part.pct));
}

IdleSite input_site(const std::string& place, std::int64_t in_steps_ns) {
  IdleSite site;
  site.cause = IdleCause::kInput;
  site.site = place;
  site.in_steps_ns = in_steps_ns;
  site.time_ns = 9;
  return site;
}

TEST(StepTime, LinesAreThoseWithTimeInTheStepsOrOfTheRun) {
  Report report = divided_report();
  report.idle = {input_site("train.py:1", 5), input_site("start.py:2", 0), input_site("", 4)};
  const auto of_steps = parts_of_time(report).back().sites;
  ASSERT_EQ(of_steps.size(), 1u);
  EXPECT_EQ(of_steps[0]->site, "train.py:1");
  report.steps.reset();
  EXPECT_EQ(parts_of_time(report).back().sites.size(), 2u);
}

TEST(StepTime, LinesAreNotNamedWhereMostOfTheTimeHasNone) {
  Report report = divided_report();
  report.idle = {input_site("train.py:1", 5), input_site("", 7)};
  EXPECT_TRUE(parts_of_time(report).back().sites.empty());
}

}  // namespace
}  // namespace turnpike::analyze
