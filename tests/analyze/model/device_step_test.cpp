#include "analyze/model/device_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using testing::ElementsAre;

// A launch for each step, of a kernel that ends at the time given; 0: of none.
LoadedProcess launches_of_steps(const std::vector<std::int64_t>& starts_ns, const std::vector<std::int64_t>& ends_ns) {
  ProcessBuilder builder;
  for (std::size_t i = 0; i < starts_ns.size(); ++i) {
    const auto correlation = static_cast<std::uint32_t>(i + 1);
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = starts_ns[i],
                  .end_ns = starts_ns[i] + 1,
                  .correlation = correlation,
                  .name = "cudaLaunchKernel"});
    if (ends_ns[i] == 0) continue;
    builder.kernel({.start_ns = ends_ns[i] - 1, .end_ns = ends_ns[i], .correlation = correlation});
  }
  return builder.take();
}

FoundSteps steps_at(std::vector<std::int64_t> starts_ns, Interval window, bool is_host_ahead) {
  FoundSteps steps{.steps = {.count = starts_ns.size(), .median_ns = 10},
                   .starts_ns = std::move(starts_ns),
                   .window = window,
                   .whole_count = 0,
                   .has_warm_up = false};
  steps.steps.device_median_ns = is_host_ahead ? 100 : 10;
  return steps;
}

TEST(WholeSteps, AreThoseOfTheHostUnlessItRunsAhead) {
  const LoadedProcess process = launches_of_steps({100, 110, 120, 130}, {150, 250, 350, 450});
  const FoundSteps steps = steps_at({100, 110, 120, 130}, {110, 130}, false);
  EXPECT_THAT(whole_steps(process.timeline, steps), ElementsAre(Interval{110, 120}, Interval{120, 130}));
}

// The last launch is behind the window: its end is not known.
TEST(WholeSteps, LastOnTheDevicesUntilTheirWorkIsDone) {
  const LoadedProcess process = launches_of_steps({100, 110, 120, 130}, {150, 250, 350, 450});
  const FoundSteps steps = steps_at({100, 110, 120, 130}, {110, 130}, true);
  EXPECT_THAT(whole_steps(process.timeline, steps), ElementsAre(Interval{150, 250}, Interval{250, 350}));
}

// A step that is done before the one ahead of it, one without work, and a device that has caught up.
TEST(WholeSteps, FollowEachOther) {
  const LoadedProcess process = launches_of_steps({100, 110, 120, 130}, {350, 250, 0, 135});
  const FoundSteps steps = steps_at({100, 110, 120, 130}, {100, 400}, true);
  EXPECT_THAT(whole_steps(process.timeline, steps),
              ElementsAre(Interval{100, 350}, Interval{350, 350}, Interval{350, 350}, Interval{350, 400}));
}

TEST(WholeSteps, HaveAnEmptyOneWhereNoneIsWhole) {
  const LoadedProcess process = launches_of_steps({100}, {150});
  for (const bool is_host_ahead : {false, true}) {
    EXPECT_THAT(whole_steps(process.timeline, steps_at({100}, {100, 100}, is_host_ahead)),
                ElementsAre(Interval{100, 100}));
  }
}

}  // namespace
}  // namespace turnpike::analyze
