// Looks up the functions of libcuda.so.1 and checks their types against cuda.h.
#include "cuda/driver.h"

#include <cuda.h>
#include <dlfcn.h>

#include <type_traits>

namespace turnpike::cuda {
namespace {

static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == kAttributeMultiprocessorCount);
static_assert(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID == kAttributePciBus);
static_assert(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID == kAttributePciDevice);
static_assert(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID == kAttributePciDomain);
static_assert(CU_POINTER_ATTRIBUTE_IS_MANAGED == kPointerIsManaged);
static_assert(CU_POINTER_ATTRIBUTE_MEMORY_TYPE == kPointerMemoryType && CU_MEMORYTYPE_HOST == kMemoryTypeHost);
static_assert(CUDA_ERROR_NOT_READY == kNotReady);
static_assert(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED == kPeerAccessAlreadyEnabled);
static_assert(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED == kHostMemoryAlreadyRegistered);
static_assert(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED == kFirstCaptureCode);
static_assert(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD == kLastCaptureCode);
static_assert(CU_STREAM_CAPTURE_MODE_GLOBAL == kCaptureModeGlobal);
static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == kCaptureModeRelaxed);
static_assert(CU_STREAM_NON_BLOCKING == kStreamNonBlocking);
static_assert(CU_EVENT_DISABLE_TIMING == kEventDisableTiming);
static_assert(CU_MEMHOSTALLOC_PORTABLE == kHostPortable && CU_MEMHOSTREGISTER_PORTABLE == kHostPortable);
static_assert(CU_STREAM_CAPTURE_STATUS_NONE == 0);

constexpr const char* kLibrary = "libcuda.so.1";

// cuda.h's enums, and pointers to them, cross the C interface as int; everything else must be the very same type.
template <typename T>
using AsPassed =
    std::conditional_t<std::is_enum_v<T>, int,
                       std::conditional_t<std::is_pointer_v<T> && std::is_enum_v<std::remove_pointer_t<T>>, int*, T>>;

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
struct SameCall<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::is_same<OurResult (*)(Ours...), AsPassed<TheirResult> (*)(AsPassed<Theirs>...)> {};

class LookUp {
 public:
  explicit LookUp(void* library) : library_(library) {}

  template <typename Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (function == nullptr && missing_ == nullptr) missing_ = symbol;
  }
  // The first function that had to be there and was not; nullptr: all were.
  const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

// `symbol` carries its version by hand: cuda.h renames by macro, and the oldest version that does the job is in every
// driver.
#define TURNPIKE_FIND(member, symbol)                                       \
  static_assert(SameCall<decltype(Driver::member), decltype(&::symbol)>{}); \
  look_up.find(driver.member, #symbol)

Result<Driver> table_of(void* library) {
  Driver driver;
  LookUp look_up(library);
  TURNPIKE_FIND(init, cuInit);
  TURNPIKE_FIND(driver_get_version, cuDriverGetVersion);
  TURNPIKE_FIND(get_error_string, cuGetErrorString);
  TURNPIKE_FIND(device_get_count, cuDeviceGetCount);
  TURNPIKE_FIND(device_get, cuDeviceGet);
  TURNPIKE_FIND(device_get_name, cuDeviceGetName);
  TURNPIKE_FIND(device_total_mem, cuDeviceTotalMem_v2);
  TURNPIKE_FIND(device_get_attribute, cuDeviceGetAttribute);
  TURNPIKE_FIND(device_primary_ctx_retain, cuDevicePrimaryCtxRetain);
  TURNPIKE_FIND(device_primary_ctx_release, cuDevicePrimaryCtxRelease_v2);
  TURNPIKE_FIND(device_primary_ctx_get_state, cuDevicePrimaryCtxGetState);
  TURNPIKE_FIND(ctx_get_device, cuCtxGetDevice);
  TURNPIKE_FIND(ctx_set_current, cuCtxSetCurrent);
  TURNPIKE_FIND(ctx_push_current, cuCtxPushCurrent_v2);
  TURNPIKE_FIND(ctx_pop_current, cuCtxPopCurrent_v2);
  TURNPIKE_FIND(ctx_synchronize, cuCtxSynchronize);
  TURNPIKE_FIND(device_can_access_peer, cuDeviceCanAccessPeer);
  TURNPIKE_FIND(ctx_enable_peer_access, cuCtxEnablePeerAccess);
  TURNPIKE_FIND(mem_alloc, cuMemAlloc_v2);
  TURNPIKE_FIND(mem_free, cuMemFree_v2);
  TURNPIKE_FIND(mem_get_address_range, cuMemGetAddressRange_v2);
  TURNPIKE_FIND(mem_host_alloc, cuMemHostAlloc);
  TURNPIKE_FIND(mem_free_host, cuMemFreeHost);
  TURNPIKE_FIND(mem_host_register, cuMemHostRegister_v2);
  TURNPIKE_FIND(mem_host_unregister, cuMemHostUnregister);
  TURNPIKE_FIND(pointer_get_attribute, cuPointerGetAttribute);
  TURNPIKE_FIND(pointer_get_attributes, cuPointerGetAttributes);
  TURNPIKE_FIND(memcpy_htod_async, cuMemcpyHtoDAsync_v2);
  TURNPIKE_FIND(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2);
  TURNPIKE_FIND(memcpy_peer_async, cuMemcpyPeerAsync);
  TURNPIKE_FIND(stream_create, cuStreamCreate);
  TURNPIKE_FIND(stream_destroy, cuStreamDestroy_v2);
  TURNPIKE_FIND(stream_query, cuStreamQuery);
  TURNPIKE_FIND(stream_synchronize, cuStreamSynchronize);
  TURNPIKE_FIND(stream_wait_event, cuStreamWaitEvent);
  TURNPIKE_FIND(stream_is_capturing, cuStreamIsCapturing);
  TURNPIKE_FIND(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode);
  TURNPIKE_FIND(event_create, cuEventCreate);
  TURNPIKE_FIND(event_record, cuEventRecord);
  TURNPIKE_FIND(event_elapsed_time, cuEventElapsedTime);
  TURNPIKE_FIND(event_query, cuEventQuery);
  TURNPIKE_FIND(event_synchronize, cuEventSynchronize);
  TURNPIKE_FIND(event_destroy, cuEventDestroy_v2);
  if (look_up.missing() != nullptr) {
    return Error{std::string(kLibrary) + " has no " + look_up.missing() +
                 ": the NVIDIA driver is too old for Turnpike; install a newer one"};
  }
  return driver;
}

#undef TURNPIKE_FIND

}  // namespace

std::string Driver::describe(DriverCode code) const {
  const char* sentence = nullptr;
  if (get_error_string(code, &sentence) != 0 || sentence == nullptr) return "CUDA error " + std::to_string(code);
  return std::string(sentence) + " (CUDA error " + std::to_string(code) + ")";
}

Result<Driver> load_driver() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Error{"no CUDA driver on this machine (" + std::string(reason == nullptr ? kLibrary : reason) +
                 "). It comes with the NVIDIA driver."};
  }
  return table_of(library);
}

Result<Driver> find_loaded_driver() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return Error{std::string(kLibrary) + " is not loaded in this process"};
  return table_of(library);
}

}  // namespace turnpike::cuda
