// Marks are events of the driver.
#include "move/mark.h"

namespace turnpike::move {

Result<std::shared_ptr<Mark>> Mark::after(Device& device, CUstream_st* stream) {
  const auto event = device.take_event();
  if (!event) return event.error();
  auto mark = std::make_shared<Mark>(device, *event);
  const Status recorded =
      check(device.driver(), device.driver().event_record(*event, stream), "recording an event", device.ordinal());
  if (!recorded) return recorded.error();
  return mark;
}

bool Mark::is_passed() const {
  if (answer_ != cuda::kNotReady) return true;
  answer_ = device_.driver().event_query(event_);
  return answer_ != cuda::kNotReady;
}

Status Mark::status() const {
  const cuda::DriverCode answer = answer_;
  return check(device_.driver(), answer == cuda::kNotReady ? 0 : answer, "a copy", device_.ordinal());
}

Status Mark::wait() const {
  if (answer_ == cuda::kNotReady) answer_ = device_.driver().event_synchronize(event_);
  return check(device_.driver(), answer_, "waiting for a copy", device_.ordinal());
}

Status Mark::hold_up(CUstream_st* stream) const {
  return check(device_.driver(), device_.driver().stream_wait_event(stream, event_, 0), "making a stream wait",
               device_.ordinal());
}

}  // namespace turnpike::move
