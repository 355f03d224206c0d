// Marks are events of the driver.
#include "move/mark.h"

#include <chrono>
#include <thread>

namespace turnpike::move {
namespace {

constexpr std::chrono::microseconds kBetweenTries{100};

}  // namespace

Result<std::shared_ptr<Mark>> Mark::after(Device& device, CUstream_st* stream) {
  const auto event = device.take_event();
  if (!event) return event.error();
  auto mark = std::make_shared<Mark>(device, *event);
  const Status recorded =
      check(device.driver(), device.driver().event_record(*event, stream), "recording an event", device.ordinal());
  if (!recorded) return recorded.error();
  return mark;
}

void Mark::learn(cuda::DriverCode answer) const {
  // Another thread may have learned meanwhile that it has passed.
  if (answer != cuda::kNotReady && !cuda::is_capture_code(answer)) answer_ = answer;
}

bool Mark::is_passed() const {
  if (!was_passed()) learn(device_.driver().event_query(event_));
  return was_passed();
}

Status Mark::status() const {
  const cuda::DriverCode answer = answer_;
  return check(device_.driver(), answer == cuda::kNotReady ? 0 : answer, "a copy", device_.ordinal());
}

Status Mark::wait() const {
  if (was_passed()) return check(device_.driver(), answer_, "waiting for a copy", device_.ordinal());
  const cuda::DriverCode answer = device_.driver().event_synchronize(event_);
  learn(answer);
  return check(device_.driver(), answer, "waiting for a copy", device_.ordinal());
}

void Mark::wait_until_passed() const {
  while (!was_passed()) {
    (void)wait();
    if (!was_passed()) std::this_thread::sleep_for(kBetweenTries);
  }
}

Status Mark::hold_up(CUstream_st* stream) const {
  return check(device_.driver(), device_.driver().stream_wait_event(stream, event_, 0), "making a stream wait",
               device_.ordinal());
}

}  // namespace turnpike::move
