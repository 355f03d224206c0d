// The functions of the CUDA driver that Turnpike calls, found at run time: nothing of Turnpike links against libcuda.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

// The driver's own opaque types; driver.cpp checks every signature below against cuda.h.
struct CUctx_st;
struct CUevent_st;
struct CUstream_st;

namespace turnpike::cuda {

using DriverCode = int;                    // CUresult; 0 is success
using DevicePointer = unsigned long long;  // CUdeviceptr

// For device_get_attribute.
inline constexpr int kAttributeMultiprocessorCount = 16;
inline constexpr int kAttributePciBus = 33;
inline constexpr int kAttributePciDevice = 34;
inline constexpr int kAttributePciDomain = 50;
// For pointer_get_attribute: an unsigned int, 1 for managed memory. An error for memory that the driver does not know.
inline constexpr int kPointerIsManaged = 8;
// The same: what kind of memory it is, of which this says that it is page-locked memory of the host.
inline constexpr int kPointerMemoryType = 2;
inline constexpr unsigned int kMemoryTypeHost = 1;
// The same: where the allocation begins that an address lies in (a DevicePointer), and its bytes (a size_t).
inline constexpr int kPointerRangeStart = 11;
inline constexpr int kPointerRangeBytes = 12;

// Codes that are no failures.
inline constexpr DriverCode kNotReady = 600;
inline constexpr DriverCode kPeerAccessAlreadyEnabled = 704;
inline constexpr DriverCode kHostMemoryAlreadyRegistered = 712;
// The codes of stream capture: the call was refused because a CUDA graph is being captured. They say nothing of the
// device.
inline constexpr DriverCode kFirstCaptureCode = 900;
inline constexpr DriverCode kLastCaptureCode = 908;
constexpr bool is_capture_code(DriverCode code) {
  return code >= kFirstCaptureCode && code <= kLastCaptureCode;
}
// Capture modes of a thread: what it may call while some thread captures a CUDA graph.
inline constexpr int kCaptureModeGlobal = 0;   // the default: nothing that could disturb any capture
inline constexpr int kCaptureModeRelaxed = 2;  // everything but what touches the captured streams themselves
// Flags.
inline constexpr unsigned int kStreamNonBlocking = 1;  // no waiting for the legacy default stream
inline constexpr unsigned int kEventDisableTiming = 2;
inline constexpr unsigned int kHostPortable = 1;  // page-locked for every context, not for the current one alone

// Reads a word that a device may write meanwhile, in one piece and before whatever this thread reads next.
inline std::uint64_t read_word(std::uint64_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

// A table of plain function pointers: safe from any thread once loaded, and a test puts its own functions in their
// place.
struct Driver {
  DriverCode (*init)(unsigned int flags) = nullptr;
  DriverCode (*driver_get_version)(int* version) = nullptr;
  DriverCode (*get_error_string)(DriverCode code, const char** sentence) = nullptr;
  DriverCode (*device_get_count)(int* count) = nullptr;
  DriverCode (*device_get)(int* device, int ordinal) = nullptr;
  DriverCode (*device_get_name)(char* name, int name_bytes, int device) = nullptr;
  DriverCode (*device_total_mem)(std::size_t* size_bytes, int device) = nullptr;
  DriverCode (*device_get_attribute)(int* value, int attribute, int device) = nullptr;
  DriverCode (*device_primary_ctx_retain)(CUctx_st** context, int device) = nullptr;
  DriverCode (*device_primary_ctx_release)(int device) = nullptr;
  DriverCode (*device_primary_ctx_get_state)(int device, unsigned int* flags, int* is_active) = nullptr;
  DriverCode (*ctx_get_device)(int* device) = nullptr;
  DriverCode (*ctx_set_current)(CUctx_st* context) = nullptr;
  DriverCode (*ctx_push_current)(CUctx_st* context) = nullptr;
  DriverCode (*ctx_pop_current)(CUctx_st** context) = nullptr;
  DriverCode (*ctx_synchronize)() = nullptr;
  DriverCode (*device_can_access_peer)(int* can, int device, int peer) = nullptr;
  DriverCode (*ctx_enable_peer_access)(CUctx_st* peer, unsigned int flags) = nullptr;
  DriverCode (*mem_alloc)(DevicePointer* pointer, std::size_t size_bytes) = nullptr;
  DriverCode (*mem_free)(DevicePointer pointer) = nullptr;
  DriverCode (*mem_get_address_range)(DevicePointer* base, std::size_t* size_bytes, DevicePointer inside) = nullptr;
  DriverCode (*mem_host_alloc)(void** pointer, std::size_t size_bytes, unsigned int flags) = nullptr;
  DriverCode (*mem_free_host)(void* pointer) = nullptr;
  DriverCode (*mem_host_register)(void* pointer, std::size_t size_bytes, unsigned int flags) = nullptr;
  DriverCode (*mem_host_unregister)(void* pointer) = nullptr;
  DriverCode (*pointer_get_attribute)(void* value, int attribute, DevicePointer pointer) = nullptr;
  // Unlike the above, no error for memory that the driver does not know, whose attributes stay 0; and, perhaps for
  // that, a fifth of the time.
  DriverCode (*pointer_get_attributes)(unsigned int count, int* attributes, void** values,
                                       DevicePointer pointer) = nullptr;
  DriverCode (*memcpy_htod_async)(DevicePointer to, const void* from, std::size_t size_bytes,
                                  CUstream_st* stream) = nullptr;
  DriverCode (*memcpy_dtoh_async)(void* to, DevicePointer from, std::size_t size_bytes, CUstream_st* stream) = nullptr;
  DriverCode (*memcpy_peer_async)(DevicePointer to, CUctx_st* to_context, DevicePointer from, CUctx_st* from_context,
                                  std::size_t size_bytes, CUstream_st* stream) = nullptr;
  DriverCode (*stream_create)(CUstream_st** stream, unsigned int flags) = nullptr;
  DriverCode (*stream_destroy)(CUstream_st* stream) = nullptr;
  DriverCode (*stream_query)(CUstream_st* stream) = nullptr;  // kNotReady while it is busy
  DriverCode (*stream_synchronize)(CUstream_st* stream) = nullptr;
  DriverCode (*stream_wait_event)(CUstream_st* stream, CUevent_st* event, unsigned int flags) = nullptr;
  DriverCode (*stream_is_capturing)(CUstream_st* stream, int* status) = nullptr;  // 0: it is not
  // Gives this thread that mode, and says which it had.
  DriverCode (*thread_exchange_stream_capture_mode)(int* mode) = nullptr;
  DriverCode (*event_create)(CUevent_st** event, unsigned int flags) = nullptr;
  DriverCode (*event_record)(CUevent_st* event, CUstream_st* stream) = nullptr;
  DriverCode (*event_elapsed_time)(float* milliseconds, CUevent_st* start, CUevent_st* end) = nullptr;
  DriverCode (*event_query)(CUevent_st* event) = nullptr;  // kNotReady until it has happened
  DriverCode (*event_synchronize)(CUevent_st* event) = nullptr;
  DriverCode (*event_destroy)(CUevent_st* event) = nullptr;
  // No function of the driver, but the one way to read page-locked memory into which a copy is under way: a simulated
  // driver sees by it what the host has learned.
  std::uint64_t (*read_word)(std::uint64_t* word) = &cuda::read_word;

  // The driver's own words for a code, or its number where it has none.
  std::string describe(DriverCode code) const;
};

// Opens libcuda.so.1. It is never closed again: the driver does not survive that. Initialises nothing.
Result<Driver> load_driver();
// The same, but only when the process has libcuda already: never brings CUDA into a program that does without.
Result<Driver> find_loaded_driver();

}  // namespace turnpike::cuda
