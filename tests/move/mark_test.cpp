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

TEST(Mark, HasNoFailureWhileItHasNotPassed) {
  simulated::Simulation simulation(1, {.pace = simulated::Pace::kOnlyWhenAsked});
  simulation.set_device(0);
  const auto device = Device::open(simulation.driver(), 0);
  ASSERT_TRUE(device);
  CUstream_st* const stream = simulation.make_stream(0);
  const auto held = simulation.hold(0, stream);
  const auto mark = Mark::after(**device, stream);
  ASSERT_TRUE(mark);
  EXPECT_FALSE((*mark)->is_passed());
  EXPECT_TRUE((*mark)->status());
  EXPECT_EQ((*mark)->answer(), cuda::kNotReady);
  // If the driver refuses because of a capture, wait() returns an error and the mark has not passed.
  simulation.fail("event_synchronize", 1, 906);
  EXPECT_FALSE((*mark)->wait());
  EXPECT_FALSE((*mark)->was_passed());
  simulation.let_go(held);
  simulation.fail("event_synchronize", 1, 906);
  (*mark)->wait_until_passed();
  EXPECT_TRUE((*mark)->was_passed());
  EXPECT_TRUE((*mark)->status());
  const std::size_t before = simulation.calls("event_synchronize") + simulation.calls("event_query");
  EXPECT_TRUE((*mark)->wait());
  EXPECT_TRUE((*mark)->is_passed());
  EXPECT_EQ(simulation.calls("event_synchronize") + simulation.calls("event_query"), before) << "it is known";
}

TEST(Mark, KeepsTheFailureOfItsDevice) {
  simulated::Simulation simulation(1, {.pace = simulated::Pace::kOnlyWhenAsked});
  simulation.set_device(0);
  const auto device = Device::open(simulation.driver(), 0);
  ASSERT_TRUE(device);
  for (const bool is_waited_for : {false, true}) {
    const auto mark = Mark::after(**device, simulation.make_stream(0));
    ASSERT_TRUE(mark);
    simulation.fail(is_waited_for ? "event_synchronize" : "event_query", 1, 719);
    if (is_waited_for) {
      EXPECT_FALSE((*mark)->wait());
    } else {
      EXPECT_TRUE((*mark)->is_passed()) << "nothing will come any more";
    }
    EXPECT_TRUE((*mark)->was_passed());
    EXPECT_FALSE((*mark)->status());
    EXPECT_FALSE((*mark)->wait());
    EXPECT_EQ((*mark)->answer(), 719);
  }
}

}  // namespace
}  // namespace turnpike::move
