#include "record/observe/call_listener.h"

#include <atomic>

namespace turnpike::record {

using trace::CallKind;

namespace {

std::atomic<TurnpikeListener> g_listener{nullptr};

// 0: nobody listens for it.
std::uint32_t what_is(CallKind kind) {
  switch (kind) {
    case CallKind::kCopy:
      return TURNPIKE_CALL_COPY;
    case CallKind::kSynchronize:
      return TURNPIKE_CALL_WAIT;
    case CallKind::kDeviceAlloc:
    case CallKind::kDeviceFree:
    case CallKind::kHostAlloc:
    case CallKind::kHostRegister:
      return TURNPIKE_CALL_ALLOCATION;
    default:
      return 0;
  }
}

std::uint32_t host_side_of(cuda::HostSide side) {
  switch (side) {
    case cuda::HostSide::kSource:
      return TURNPIKE_HOST_IS_SOURCE;
    case cuda::HostSide::kDestination:
      return TURNPIKE_HOST_IS_DESTINATION;
    case cuda::HostSide::kUnknown:
      break;
  }
  return TURNPIKE_HOST_UNKNOWN;
}

}  // namespace

void set_call_listener(TurnpikeListener listener) noexcept {
  g_listener.store(listener, std::memory_order_release);
}

void tell_listener(const trace::CallRecord& call, const cuda::CallArguments& arguments, const char* name) noexcept {
  const TurnpikeListener listener = g_listener.load(std::memory_order_acquire);
  if (listener == nullptr) return;
  const std::uint32_t what = what_is(call.kind);
  if (what == 0) return;
  const TurnpikeCall told{.what = what,
                          .host_side = host_side_of(arguments.host_side),
                          .is_blocking = arguments.has_stream ? 0U : 1U,
                          .is_captured = call.is_captured,
                          .name = name,
                          .stream = arguments.stream,
                          .dst = arguments.dst,
                          .src = arguments.src,
                          .bytes = arguments.bytes == trace::kUnknownSize ? 0 : arguments.bytes};
  listener(&told);
}

}  // namespace turnpike::record
