// What a mark remembers.
#include "move/mark.h"

#include <gmock/gmock.h>

#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

const Mark* g_mark = nullptr;

// One thread asks, another waits and learns that the mark has passed, and then the first hears that it had not.
TEST(Mark, DoesNotForgetThatItHasPassed) {
  simulated::Simulation simulation(1, {.pace = simulated::Pace::kOnlyWhenAsked});
  simulation.set_device(0);
  cuda::Driver driver = simulation.driver();
  driver.event_query = [](CUevent_st*) -> cuda::DriverCode {
    EXPECT_TRUE(g_mark->wait());
    EXPECT_TRUE(g_mark->was_passed());
    return cuda::kNotReady;
  };
  const auto device = Device::open(driver, 0);
  ASSERT_TRUE(device);
  const auto mark = Mark::after(**device, simulation.make_stream(0));
  ASSERT_TRUE(mark);
  g_mark = mark->get();
  EXPECT_TRUE((*mark)->is_passed());
  EXPECT_TRUE((*mark)->was_passed());
}

}  // namespace
}  // namespace turnpike::move
