// The simulated driver's functions about devices and contexts.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "simulated/call.h"

namespace turnpike::simulated {
namespace {

using cuda::DriverCode;

DriverCode init(unsigned int flags) {
  const Call call("init", kNothing);
  return flags == 0 ? call.refusal() : kInvalidValue;
}

DriverCode driver_get_version(int* version) {
  const Call call("driver_get_version", kNothing);
  *version = 13000;
  return call.refusal();
}

DriverCode get_error_string(DriverCode, const char** sentence) {
  *sentence = "a failure of the simulation";
  return 0;
}

DriverCode device_get_count(int* count) {
  const Call call("device_get_count", kNothing);
  *count = call.machine().options.devices;
  return call.refusal();
}

DriverCode device_get(int* device, int ordinal) {
  const Call call("device_get", kNothing);
  if (ordinal < 0 || ordinal >= call.machine().options.devices) return kInvalidValue;
  *device = ordinal;
  return call.refusal();
}

DriverCode device_get_name(char* name, int name_bytes, int device) {
  const Call call("device_get_name", kNothing);
  std::snprintf(name, static_cast<std::size_t>(name_bytes), "Simulated GPU %d", device);
  return call.refusal();
}

DriverCode device_total_mem(std::size_t* size_bytes, int) {
  const Call call("device_total_mem", kNothing);
  *size_bytes = std::size_t{1} << 34;
  return call.refusal();
}

DriverCode device_get_attribute(int* value, int, int device) {
  const Call call("device_get_attribute", kNothing);
  *value = device + 1;
  return call.refusal();
}

DriverCode device_primary_ctx_retain(CUctx_st** context, int device) {
  const Call call("device_primary_ctx_retain", kNothing);
  if (call.refusal() != 0) return call.refusal();
  if (device < 0 || device >= call.machine().options.devices) return kInvalidValue;
  ++call.machine().retained[static_cast<std::size_t>(device)];
  *context = context_of(device);
  return 0;
}

DriverCode device_primary_ctx_release(int device) {
  const Call call("device_primary_ctx_release", kNothing);
  if (call.refusal() != 0) return call.refusal();
  --call.machine().retained[static_cast<std::size_t>(device)];
  return 0;
}

DriverCode device_primary_ctx_get_state(int device, unsigned int* flags, int* is_active) {
  const Call call("device_primary_ctx_get_state", kNothing);
  if (call.refusal() != 0) return call.refusal();
  if (device < 0 || device >= call.machine().options.devices) return kInvalidValue;
  const auto index = static_cast<std::size_t>(device);
  *flags = 0;
  *is_active = call.machine().retained[index] > 0 || call.machine().is_programs[index] ? 1 : 0;
  return 0;
}

DriverCode ctx_get_device(int* device) {
  const Call call("ctx_get_device", kNothing);
  if (call.refusal() != 0) return call.refusal();
  if (call.device() < 0) return kInvalidContext;
  *device = call.device();
  return 0;
}

DriverCode thread_exchange_stream_capture_mode(int* mode) {
  const Call call("thread_exchange_stream_capture_mode", kNothing);
  if (call.refusal() != 0) return call.refusal();
  std::swap(capture_mode_of_this_thread(), *mode);
  return 0;
}

// nullptr takes the current context away; anything that is no context is refused.
DriverCode ctx_set_current(CUctx_st* context) {
  const Call call("ctx_set_current", kNothing);
  if (call.refusal() != 0) return call.refusal();
  if (context != nullptr && device_of(context) < 0) return kInvalidContext;
  std::vector<int>& contexts = contexts_of_this_thread();
  if (!contexts.empty()) contexts.pop_back();
  if (context != nullptr) contexts.push_back(device_of(context));
  return 0;
}

DriverCode ctx_push_current(CUctx_st* context) {
  const Call call("ctx_push_current", kNothing);
  if (call.refusal() != 0) return call.refusal();
  if (device_of(context) < 0) return kInvalidContext;
  contexts_of_this_thread().push_back(device_of(context));
  return 0;
}

DriverCode ctx_pop_current(CUctx_st** context) {
  const Call call("ctx_pop_current", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  if (context != nullptr) *context = context_of(call.device());
  contexts_of_this_thread().pop_back();
  return 0;
}

DriverCode ctx_synchronize() {
  Call call("ctx_synchronize", kNeedsContext | kNotWhileCapturing | kWaits);
  if (call.refusal() != 0) return call.refusal();
  const bool is_captured = call.machine().capturing_thread != 0 && call.machine().captured_device == call.device();
  if (const DriverCode code = call.refuse_captured(is_captured); code != 0) return code;
  call.machine().wait_for_device(call.device(), call.lock());
  return 0;
}

DriverCode device_can_access_peer(int* can, int device, int peer) {
  const Call call("device_can_access_peer", kNothing);
  *can = call.machine().options.has_peer_access && device != peer ? 1 : 0;
  return call.refusal();
}

DriverCode ctx_enable_peer_access(CUctx_st* peer, unsigned int flags) {
  const Call call("ctx_enable_peer_access", kNeedsContext);
  if (flags != 0) return kInvalidValue;
  if (call.refusal() != 0) return call.refusal();
  if (!call.machine().options.has_peer_access || device_of(peer) < 0) return kInvalidContext;
  auto& peers = call.machine().peers;
  const std::pair<int, int> pair{call.device(), device_of(peer)};
  if (std::find(peers.begin(), peers.end(), pair) != peers.end()) return cuda::kPeerAccessAlreadyEnabled;
  peers.push_back(pair);
  return 0;
}

}  // namespace

void fill_device_calls(cuda::Driver& driver) {
  driver.init = init;
  driver.driver_get_version = driver_get_version;
  driver.get_error_string = get_error_string;
  driver.device_get_count = device_get_count;
  driver.device_get = device_get;
  driver.device_get_name = device_get_name;
  driver.device_total_mem = device_total_mem;
  driver.device_get_attribute = device_get_attribute;
  driver.device_primary_ctx_retain = device_primary_ctx_retain;
  driver.device_primary_ctx_release = device_primary_ctx_release;
  driver.device_primary_ctx_get_state = device_primary_ctx_get_state;
  driver.ctx_get_device = ctx_get_device;
  driver.thread_exchange_stream_capture_mode = thread_exchange_stream_capture_mode;
  driver.ctx_set_current = ctx_set_current;
  driver.ctx_push_current = ctx_push_current;
  driver.ctx_pop_current = ctx_pop_current;
  driver.ctx_synchronize = ctx_synchronize;
  driver.device_can_access_peer = device_can_access_peer;
  driver.ctx_enable_peer_access = ctx_enable_peer_access;
}

}  // namespace turnpike::simulated
