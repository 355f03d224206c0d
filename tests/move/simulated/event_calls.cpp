// The simulated driver's functions about events.
#include "simulated/call.h"

namespace turnpike::simulated {
namespace {

using cuda::DriverCode;

constexpr float kNsPerMs = 1e6F;

DriverCode event_create(CUevent_st** handle, unsigned int flags) {
  const Call call("event_create", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  *handle = call.machine().add_event(call.device(), (flags & cuda::kEventDisableTiming) == 0, false).handle;
  return 0;
}

DriverCode event_destroy(CUevent_st* handle) {
  const Call call("event_destroy", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  Event* event = call.machine().event_of(handle, call.name());
  if (event == nullptr) return kInvalidHandle;
  event->is_destroyed = true;
  return 0;
}

DriverCode event_record(CUevent_st* handle, CUstream_st* stream_handle) {
  const Call call("event_record", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  Event* event = call.machine().event_of(handle, call.name());
  Stream* stream = call.machine().stream_of(stream_handle, call.device(), call.name());
  if (event == nullptr || stream == nullptr) return kInvalidHandle;
  if (event->device != stream->device) {
    call.machine().report(Rule::kWrongContext, "event_record of an event of another device than its stream");
    return kInvalidHandle;
  }
  call.machine().record(*event, *stream);
  return 0;
}

DriverCode event_query(CUevent_st* handle) {
  const Call call("event_query", kNotWhileCapturing | kWaits);
  if (call.refusal() != 0) return call.refusal();
  Event* event = call.machine().event_of(handle, call.name());
  if (event == nullptr) return kInvalidHandle;
  return call.machine().ask(*event) ? 0 : cuda::kNotReady;
}

DriverCode event_synchronize(CUevent_st* handle) {
  Call call("event_synchronize", kNeedsContext | kNotWhileCapturing | kWaits);
  if (call.refusal() != 0) return call.refusal();
  const Event* event = call.machine().event_of(handle, call.name());
  if (event == nullptr) return kInvalidHandle;
  if (!event->is_recorded) return 0;
  const Clock clock = event->clock;  // of now: others may record it again while this thread waits
  call.machine().wait_for(event->position, clock, call.lock());
  return 0;
}

DriverCode event_elapsed_time(float* milliseconds, CUevent_st* start_handle, CUevent_st* end_handle) {
  const Call call("event_elapsed_time", kNothing);
  if (call.refusal() != 0) return call.refusal();
  const Event* start = call.machine().event_of(start_handle, call.name());
  const Event* end = call.machine().event_of(end_handle, call.name());
  if (start == nullptr || end == nullptr || !start->has_time || !end->has_time) return kInvalidHandle;
  if (!start->is_recorded || !end->is_recorded) return kInvalidHandle;
  if (!call.machine().is_done(start->position) || !call.machine().is_done(end->position)) return cuda::kNotReady;
  *milliseconds = static_cast<float>(static_cast<std::int64_t>(*end->time_ns - *start->time_ns)) / kNsPerMs;
  return 0;
}

}  // namespace

void fill_event_calls(cuda::Driver& driver) {
  driver.event_create = event_create;
  driver.event_destroy = event_destroy;
  driver.event_record = event_record;
  driver.event_query = event_query;
  driver.event_synchronize = event_synchronize;
  driver.event_elapsed_time = event_elapsed_time;
}

}  // namespace turnpike::simulated
