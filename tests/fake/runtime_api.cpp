// The CUDA runtime of the tests: each function is made of calls of the fake driver, as in the real libcudart.
#include <cuda_runtime_api.h>
#include <cupti.h>

#include "boundary.h"

namespace turnpike::fake {
namespace {

template <typename Params, typename Body>
cudaError_t runtime_call(std::uint32_t cbid, const char* name, const Params& params, Body body,
                         const char* symbol = nullptr) {
  // The runtime initialises the driver at its first use.
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return static_cast<cudaError_t>(result);
  return traced_call<cudaError_t>(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, name, &params, symbol,
                                  [&] { return static_cast<cudaError_t>(body()); });
}
#define FAKE_CALL(function, version, params, body) \
  runtime_call(CUPTI_RUNTIME_TRACE_CBID_##function##_##version, #function, params, body)

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

CUresult copy_async(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoDAsync_v2(address(dst), src, bytes, stream);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoHAsync_v2(dst, address(src), bytes, stream);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoDAsync_v2(address(dst), address(src), bytes, stream);
    default:
      return cuMemcpyAsync(address(dst), address(src), bytes, stream);
  }
}

CUresult copy(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToDevice) return cuMemcpyHtoD_v2(address(dst), src, bytes);
  if (kind == cudaMemcpyDeviceToHost) return cuMemcpyDtoH_v2(dst, address(src), bytes);
  return copy_async(dst, src, bytes, kind, nullptr);
}

}  // namespace

extern "C" {

// Of another version than the driver.
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 12080;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  const cudaGetDeviceCount_v3020_params params{count};
  return FAKE_CALL(cudaGetDeviceCount, v3020, params, [&] { return cuDeviceGetCount(count); });
}

cudaError_t cudaSetDevice(int device) {
  const cudaSetDevice_v3020_params params{device};
  return FAKE_CALL(cudaSetDevice, v3020, params, [&] {
    fake_cuda_set_device(static_cast<std::uint32_t>(device));
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaGetDevice(int* device) {
  const cudaGetDevice_v3020_params params{device};
  return FAKE_CALL(cudaGetDevice, v3020, params, [&] {
    *device = static_cast<int>(fake_cuda_device());
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const cudaMalloc_v3020_params params{pointer, bytes};
  return FAKE_CALL(cudaMalloc, v3020, params,
                   [&] { return cuMemAlloc_v2(reinterpret_cast<CUdeviceptr*>(pointer), bytes); });
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  const cudaMallocAsync_v11020_params params{pointer, bytes, stream};
  return FAKE_CALL(cudaMallocAsync, v11020, params,
                   [&] { return cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream); });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const cudaMallocFromPoolAsync_v11020_params params{pointer, bytes, pool, stream};
  return FAKE_CALL(cudaMallocFromPoolAsync, v11020, params, [&] {
    return cuMemAllocFromPoolAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, pool, stream);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  const cudaFreeAsync_v11020_params params{pointer, stream};
  return FAKE_CALL(cudaFreeAsync, v11020, params, [&] { return cuMemFreeAsync(address(pointer), stream); });
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  const cudaMallocPitch_v3020_params params{pointer, pitch, width, height};
  return FAKE_CALL(cudaMallocPitch, v3020, params, [&] {
    return cuMemAllocPitch_v2(reinterpret_cast<CUdeviceptr*>(pointer), pitch, width, height, 4);
  });
}

cudaError_t cudaFree(void* pointer) {
  const cudaFree_v3020_params params{pointer};
  return FAKE_CALL(cudaFree, v3020, params, [&] { return cuMemFree_v2(address(pointer)); });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  const cudaMallocHost_v3020_params params{pointer, bytes};
  return FAKE_CALL(cudaMallocHost, v3020, params, [&] { return cuMemHostAlloc(pointer, bytes, 0); });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
  const cudaHostAlloc_v3020_params params{pointer, bytes, flags};
  return FAKE_CALL(cudaHostAlloc, v3020, params, [&] { return cuMemHostAlloc(pointer, bytes, flags); });
}

cudaError_t cudaFreeHost(void* pointer) {
  const cudaFreeHost_v3020_params params{pointer};
  return FAKE_CALL(cudaFreeHost, v3020, params, [&] { return cuMemFreeHost(pointer); });
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int flags) {
  const cudaHostRegister_v4000_params params{pointer, bytes, flags};
  return FAKE_CALL(cudaHostRegister, v4000, params, [&] { return cuMemHostRegister_v2(pointer, bytes, flags); });
}

cudaError_t cudaHostUnregister(void* pointer) {
  const cudaHostUnregister_v4000_params params{pointer};
  return FAKE_CALL(cudaHostUnregister, v4000, params, [&] { return cuMemHostUnregister(pointer); });
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int flags) {
  const cudaMallocManaged_v6000_params params{pointer, bytes, flags};
  return FAKE_CALL(cudaMallocManaged, v6000, params,
                   [&] { return cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags); });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream) {
  const cudaMemPrefetchAsync_v12020_params params{pointer, bytes, location, flags, stream};
  return FAKE_CALL(cudaMemPrefetchAsync, v12020, params, [&] {
    CUmemLocation driver_location{};
    driver_location.type = static_cast<CUmemLocationType>(location.type);
    driver_location.id = location.id;
    return cuMemPrefetchAsync_v2(address(pointer), bytes, driver_location, flags, stream);
  });
}

cudaError_t cudaMemcpy(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy_v3020_params params{dst, src, bytes, kind};
  return FAKE_CALL(cudaMemcpy, v3020, params, [&] { return copy(dst, src, bytes, kind); });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaMemcpyAsync_v3020_params params{dst, src, bytes, kind, stream};
  return FAKE_CALL(cudaMemcpyAsync, v3020, params, [&] { return copy_async(dst, src, bytes, kind, stream); });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device, std::size_t bytes,
                                cudaStream_t stream) {
  const cudaMemcpyPeerAsync_v4000_params params{dst, dst_device, src, src_device, bytes, stream};
  return FAKE_CALL(cudaMemcpyPeerAsync, v4000, params, [&] {
    CUcontext dst_context = nullptr;
    CUcontext src_context = nullptr;
    cuDevicePrimaryCtxRetain(&dst_context, dst_device);
    cuDevicePrimaryCtxRetain(&src_context, src_device);
    return cuMemcpyPeerAsync(address(dst), dst_context, address(src), src_context, bytes, stream);
  });
}

cudaError_t cudaMemcpyBatchAsync(void* const* dsts, const void* const* srcs, const std::size_t* sizes,
                                 std::size_t count, cudaMemcpyAttributes* attributes, std::size_t* indices,
                                 std::size_t attribute_count, cudaStream_t stream) {
  const cudaMemcpyBatchAsync_v13000_params params{dsts,       srcs,    sizes,           count,
                                                  attributes, indices, attribute_count, stream};
  return FAKE_CALL(cudaMemcpyBatchAsync, v13000, params, [&] {
    return cuMemcpyBatchAsync_v2(reinterpret_cast<CUdeviceptr*>(const_cast<void**>(dsts)),
                                 reinterpret_cast<CUdeviceptr*>(const_cast<void**>(srcs)),
                                 const_cast<std::size_t*>(sizes), count, nullptr, indices, attribute_count, stream);
  });
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  const cudaMemset_v3020_params params{pointer, value, bytes};
  return FAKE_CALL(cudaMemset, v3020, params,
                   [&] { return cuMemsetD8_v2(address(pointer), static_cast<unsigned char>(value), bytes); });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  const cudaMemsetAsync_v3020_params params{pointer, value, bytes, stream};
  return FAKE_CALL(cudaMemsetAsync, v3020, params,
                   [&] { return cuMemsetD8Async(address(pointer), static_cast<unsigned char>(value), bytes, stream); });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  const cudaStreamCreate_v3020_params params{stream};
  return FAKE_CALL(cudaStreamCreate, v3020, params, [&] { return cuStreamCreate(stream, 0); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaStreamDestroy_v5050_params params{stream};
  return FAKE_CALL(cudaStreamDestroy, v5050, params, [&] { return cuStreamDestroy_v2(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const cudaStreamSynchronize_v3020_params params{stream};
  return FAKE_CALL(cudaStreamSynchronize, v3020, params, [&] { return cuStreamSynchronize(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  const cudaStreamWaitEvent_v3020_params params{stream, event, flags};
  return FAKE_CALL(cudaStreamWaitEvent, v3020, params, [&] { return cuStreamWaitEvent(stream, event, flags); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const cudaEventCreate_v3020_params params{event};
  return FAKE_CALL(cudaEventCreate, v3020, params, [&] { return cuEventCreate(event, 0); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const cudaEventDestroy_v3020_params params{event};
  return FAKE_CALL(cudaEventDestroy, v3020, params, [&] { return cuEventDestroy_v2(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const cudaEventRecord_v3020_params params{event, stream};
  return FAKE_CALL(cudaEventRecord, v3020, params, [&] { return cuEventRecord(event, stream); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const cudaEventSynchronize_v3020_params params{event};
  return FAKE_CALL(cudaEventSynchronize, v3020, params, [&] { return cuEventSynchronize(event); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const cudaEventQuery_v3020_params params{event};
  return FAKE_CALL(cudaEventQuery, v3020, params, [&] { return cuEventQuery(event); });
}

cudaError_t cudaDeviceSynchronize() {
  return FAKE_CALL(cudaDeviceSynchronize, v3020, 0, [] { return cuCtxSynchronize(); });
}

cudaError_t cudaGetLastError() {
  return FAKE_CALL(cudaGetLastError, v3020, 0, [] { return CUDA_SUCCESS; });
}

// Not traced: of these the recorder hears nothing.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {};
  unsigned int type = 0;
  unsigned int is_managed = 0;
  if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer)) != CUDA_SUCCESS) {
    return cudaSuccess;  // memory of the host that CUDA does not know
  }
  cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address(pointer));
  attributes->type = is_managed != 0              ? cudaMemoryTypeManaged
                     : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                  : cudaMemoryTypeDevice;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return static_cast<cudaError_t>(cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)));
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
                             cudaStream_t stream) {
  const cudaLaunchKernel_v7000_params params{function, grid, block, arguments, shared_bytes, stream};
  // A function of the fake is its own name.
  const char* symbol = static_cast<const char*>(function);
  return runtime_call(
      CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel", params,
      [&] {
        return cuLaunchKernel(reinterpret_cast<CUfunction>(const_cast<void*>(function)), grid.x, grid.y, grid.z,
                              block.x, block.y, block.z, static_cast<unsigned int>(shared_bytes), stream, arguments,
                              nullptr);
      },
      symbol);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const cudaStreamBeginCapture_v10000_params params{stream, mode};
  return FAKE_CALL(cudaStreamBeginCapture, v10000, params,
                   [&] { return cuStreamBeginCapture_v2(stream, static_cast<CUstreamCaptureMode>(mode)); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const cudaStreamEndCapture_v10000_params params{stream, graph};
  return FAKE_CALL(cudaStreamEndCapture, v10000, params, [&] { return cuStreamEndCapture(stream, graph); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  const cudaGraphInstantiate_v12000_params params{exec, graph, flags};
  return FAKE_CALL(cudaGraphInstantiate, v12000, params,
                   [&] { return cuGraphInstantiateWithFlags(exec, graph, flags); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const cudaGraphLaunch_v10000_params params{exec, stream};
  return FAKE_CALL(cudaGraphLaunch, v10000, params, [&] { return cuGraphLaunch(exec, stream); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const cudaGraphExecDestroy_v10000_params params{exec};
  return FAKE_CALL(cudaGraphExecDestroy, v10000, params, [&] { return cuGraphExecDestroy(exec); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const cudaGraphDestroy_v10000_params params{graph};
  return FAKE_CALL(cudaGraphDestroy, v10000, params, [&] { return cuGraphDestroy(graph); });
}

// Their headers are not in every toolkit.
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
CUresult cuProfilerStart();
CUresult cuProfilerStop();

cudaError_t cudaProfilerStart() {
  return FAKE_CALL(cudaProfilerStart, v4000, 0, [] { return cuProfilerStart(); });
}

cudaError_t cudaProfilerStop() {
  return FAKE_CALL(cudaProfilerStop, v4000, 0, [] { return cuProfilerStop(); });
}
}

}  // namespace turnpike::fake
