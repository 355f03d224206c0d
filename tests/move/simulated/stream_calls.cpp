// The simulated driver's functions about streams.
#include <algorithm>

#include "simulated/call.h"

namespace turnpike::simulated {
namespace {

using cuda::DriverCode;

DriverCode stream_create(CUstream_st** handle, unsigned int flags) {
  const Call call("stream_create", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  *handle = call.machine().add_stream(call.device(), (flags & cuda::kStreamNonBlocking) == 0, false).handle;
  return 0;
}

// What is in the stream still runs, as with CUDA.
DriverCode stream_destroy(CUstream_st* handle) {
  const Call call("stream_destroy", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  Stream* stream = handle == nullptr ? nullptr : call.machine().stream_of(handle, call.device(), call.name());
  if (stream == nullptr) return kInvalidHandle;
  stream->is_destroyed = true;
  return 0;
}

DriverCode stream_synchronize(CUstream_st* handle) {
  Call call("stream_synchronize", kNeedsContext | kNotWhileCapturing | kWaits);
  if (call.refusal() != 0) return call.refusal();
  Stream* stream = call.machine().stream_of(handle, call.device(), call.name());
  if (stream == nullptr) return kInvalidHandle;
  if (const DriverCode code = call.refuse_captured(stream->is_captured); code != 0) return code;
  call.machine().wait_for_stream(*stream, call.lock());
  return 0;
}

DriverCode stream_query(CUstream_st* handle) {
  Call call("stream_query", kNotWhileCapturing | kWaits | (handle == nullptr ? kNeedsContext : kNothing));
  if (call.refusal() != 0) return call.refusal();
  Stream* stream = call.machine().stream_of(handle, call.device(), call.name());
  if (stream == nullptr) return kInvalidHandle;
  if (const DriverCode code = call.refuse_captured(stream->is_captured); code != 0) return code;
  return call.machine().is_idle(*stream) ? 0 : cuda::kNotReady;
}

DriverCode stream_wait_event(CUstream_st* handle, CUevent_st* event_handle, unsigned int flags) {
  const Call call("stream_wait_event", handle == nullptr ? kNeedsContext : kNothing);
  if (flags != 0) return kInvalidValue;  // those are for captures
  if (call.refusal() != 0) return call.refusal();
  Stream* stream = call.machine().stream_of(handle, call.device(), call.name());
  const Event* event = call.machine().event_of(event_handle, call.name());
  if (stream == nullptr || event == nullptr) return kInvalidHandle;
  call.machine().make_wait(*stream, *event);
  return 0;
}

DriverCode stream_is_capturing(CUstream_st* handle, int* status) {
  const Call call("stream_is_capturing", handle == nullptr ? kNeedsContext : kNothing);
  if (call.refusal() != 0) return call.refusal();
  const Stream* stream = call.machine().stream_of(handle, call.device(), call.name());
  if (stream == nullptr) return kInvalidHandle;
  *status = stream->is_captured ? 1 : 0;
  return 0;
}

}  // namespace

void fill_stream_calls(cuda::Driver& driver) {
  driver.stream_create = stream_create;
  driver.stream_destroy = stream_destroy;
  driver.stream_query = stream_query;
  driver.stream_synchronize = stream_synchronize;
  driver.stream_wait_event = stream_wait_event;
  driver.stream_is_capturing = stream_is_capturing;
}

}  // namespace turnpike::simulated
