// What the fake driver tells the fake CUPTI: the calls as they are made and the device work that they cause.
//
// The real CUPTI hooks the driver through tables that NVIDIA does not publish; here the driver offers one table, which
// libfakecupti fills in when the recorder loads it. Without it the driver runs alone, as without a profiler.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <cstdint>

namespace turnpike::fake {

// One call of the API, from its entry to its exit. Lives on the caller's stack.
struct ApiCall {
  CUpti_CallbackDomain domain;
  std::uint32_t cbid;
  const char* name;  // as CUpti_CallbackData::functionName gives it
  const void* params;
  void* return_value = nullptr;
  const char* symbol = nullptr;
  CUcontext context = nullptr;
  std::uint32_t context_id = 0;
  std::uint32_t correlation = 0;
  std::uint64_t slot = 0;  // CUpti_CallbackData::correlationData points here
};

enum class WorkKind : std::uint8_t { kMemcpy, kPeerCopy, kMemset, kKernel, kMigration };

// One piece of work of the simulated device. Times are CLOCK_REALTIME nanoseconds and may lie in the future.
struct DeviceWork {
  WorkKind kind;
  std::uint8_t copy_kind = 0;  // CUpti_ActivityMemcpyKind
  std::uint8_t src_kind = 0;   // CUpti_ActivityMemoryKind
  std::uint8_t dst_kind = 0;
  bool is_async = false;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::uint32_t src_device = 0;
  std::uint32_t dst_device = 0;
  std::uint32_t value = 0;  // memset
  std::uint32_t graph = 0;
  std::uint64_t graph_node = 0;
  std::uint64_t bytes = 0;
  std::uint64_t copy_count = 1;
  std::uint64_t address = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  const char* name = nullptr;  // kernels: static storage
};

// Called on the application's threads. All functions are set.
struct Observer {
  void (*call)(CUpti_ApiCallbackSite site, ApiCall& call);
  void (*work)(const DeviceWork& work);
  void (*resource)(CUpti_CallbackIdResource id, const CUpti_ResourceData& data);
};

// What the fake libcuda exports beside the driver API, for the other two fakes.
extern "C" {
__attribute__((visibility("default"))) void fake_cuda_observe(const Observer* observer);
// Enters a call: gives it a correlation id (that of the enclosing call, if there is one) and tells the observer.
__attribute__((visibility("default"))) void fake_cuda_enter(ApiCall* call);
__attribute__((visibility("default"))) void fake_cuda_exit(ApiCall* call);
__attribute__((visibility("default"))) std::uint32_t fake_cuda_stream_id(CUstream stream);
__attribute__((visibility("default"))) std::uint32_t fake_cuda_context_id(CUcontext context);
__attribute__((visibility("default"))) std::uint32_t fake_cuda_device_of(CUcontext context);
__attribute__((visibility("default"))) std::uint64_t fake_cuda_node_id(CUgraphNode node);
// The device that the calling thread's runtime calls go to.
__attribute__((visibility("default"))) void fake_cuda_set_device(std::uint32_t device);
__attribute__((visibility("default"))) std::uint32_t fake_cuda_device();
// How often cuPointerGetAttribute was called.
__attribute__((visibility("default"))) std::uint64_t fake_cuda_pointer_questions();
}

// Runs `body` (which returns CUresult or cudaError_t) as one call of the API, seen from outside as CUPTI shows it.
template <typename Result, typename Body>
Result traced_call(CUpti_CallbackDomain domain, std::uint32_t cbid, const char* name, const void* params,
                   const char* symbol, Body body) {
  Result result{};
  ApiCall call{domain, cbid, name, params};
  call.return_value = &result;
  call.symbol = symbol;
  fake_cuda_enter(&call);
  result = body();
  fake_cuda_exit(&call);
  return result;
}

}  // namespace turnpike::fake
