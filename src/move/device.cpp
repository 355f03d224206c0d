// Opens devices, makes streams, keeps events.
#include "move/device.h"

namespace turnpike::move {

Status check(const cuda::Driver& driver, cuda::DriverCode code, const char* what, int ordinal) {
  if (code == 0) return {};
  return Error{std::string(what) + " on device " + std::to_string(ordinal) + " failed: " + driver.describe(code)};
}

Result<bool> is_capturing(const Device& device, CUstream_st* stream) {
  int status = 0;
  const cuda::DriverCode code = device.driver().stream_is_capturing(stream, &status);
  if (cuda::is_capture_code(code)) return true;
  if (code != 0) {
    return check(device.driver(), code, "asking whether the stream is being captured", device.ordinal()).error();
  }
  return status != 0;
}

Status check_capture(const Device& device, CUstream_st* stream) {
  const Result<bool> answer = is_capturing(device, stream);
  if (!answer) return answer.error();
  if (!*answer) return {};
  return Error{
      "this stream is being captured into a CUDA graph, and a transfer of the engine cannot be: make it before the "
      "capture, into memory that the graph reads"};
}

Result<std::unique_ptr<Device>> Device::open(const cuda::Driver& driver, int ordinal) {
  std::unique_ptr<Device> device(new Device(driver, ordinal));
  if (const Status started = device->start(); !started) return started.error();
  return device;
}

Status Device::start() {
  const Relaxed relaxed(driver_);
  Status status = check(driver_, driver_.device_get(&handle_, ordinal_), "finding the GPU", ordinal_);
  if (!status) return status;
  status = check(driver_, driver_.device_primary_ctx_retain(&context_, handle_), "opening the GPU", ordinal_);
  if (!status) return status;
  const InContext in_context(*this);
  for (auto& lane : streams_) {
    for (auto& stream : lane) {
      status = check(driver_, driver_.stream_create(&stream, cuda::kStreamNonBlocking), "making a stream", ordinal_);
      if (!status) return status;
    }
  }
  return {};
}

Device::~Device() {
  if (context_ == nullptr) return;
  {
    const InContext in_context(*this);
    for (CUevent_st* event : events_) driver_.event_destroy(event);
    for (const auto& lane : streams_) {
      for (CUstream_st* stream : lane) {
        if (stream != nullptr) driver_.stream_destroy(stream);
      }
    }
  }
  driver_.device_primary_ctx_release(handle_);
}

CUstream_st* Device::next_stream(Lane lane) {
  const auto index = static_cast<std::size_t>(lane);
  return streams_[index][turn_[index].fetch_add(1, std::memory_order_relaxed) % kStreams];
}

Result<Event> Device::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      CUevent_st* const event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  Event event = nullptr;
  const Status status =
      check(driver_, driver_.event_create(&event, cuda::kEventDisableTiming), "making an event", ordinal_);
  if (!status) return status.error();
  return event;
}

void Device::give_back(Event event) {
  if (event == nullptr) return;
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

}  // namespace turnpike::move
