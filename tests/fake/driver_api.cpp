// The driver API of the fake libcuda.so.1, as far as the victims and the recorder call it.
#include <cuda.h>
#include <cupti.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "driver_call.h"

namespace turnpike::fake {
namespace {

std::atomic<std::uint64_t> pointer_questions{0};
thread_local std::vector<std::uint32_t> t_pushed;  // the devices to come back to

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

CUresult set_memory(CUstream stream, CUdeviceptr dst, std::uint32_t value, std::size_t bytes, bool is_async) {
  DeviceWork work{.kind = WorkKind::kMemset};
  work.dst_kind = memory_kind(pointer(dst));
  work.value = value;
  work.bytes = bytes;
  work.is_async = is_async;
  submit(stream, work, pointer(dst), nullptr);
  return CUDA_SUCCESS;
}

CUresult made(void* address, CUdeviceptr* result) {
  if (address == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *result = reinterpret_cast<CUdeviceptr>(address);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

std::uint64_t fake_cuda_pointer_questions() {
  return pointer_questions.load(std::memory_order_relaxed);
}

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  const cuDeviceGetCount_params params{count};
  return FAKE_CALL(cuDeviceGetCount, params, [&] {
    *count = kDeviceCount;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_usable()) return CUDA_ERROR_NOT_INITIALIZED;
  if (ordinal < 0 || ordinal >= static_cast<int>(kDeviceCount)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{80} << 30;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = 0x41 + device;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
      *value = 0x11 + device;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      *value = 0x21 + device;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!is_usable()) return CUDA_ERROR_NOT_INITIALIZED;
  *context = context_of(static_cast<std::uint32_t>(device));
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned int* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = static_cast<CUdevice>(fake_cuda_device());
  return CUDA_SUCCESS;
}

// This driver refuses nothing for the sake of a capture, so the mode is only kept.
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(current, *mode);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "an error of the fake driver";
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (context != nullptr) fake_cuda_set_device(context->device);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = context_of(fake_cuda_device());
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  const cuCtxPushCurrent_v2_params params{context};
  return FAKE_CALL(cuCtxPushCurrent_v2, params, [&] {
    t_pushed.push_back(fake_cuda_device());
    fake_cuda_set_device(context->device);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  const cuCtxPopCurrent_v2_params params{context};
  return FAKE_CALL(cuCtxPopCurrent_v2, params, [&] {
    if (t_pushed.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = context_of(fake_cuda_device());
    fake_cuda_set_device(t_pushed.back());
    t_pushed.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  const cuDeviceCanAccessPeer_params params{can, device, peer};
  return FAKE_CALL(cuDeviceCanAccessPeer, params, [&] {
    *can = device == peer ? 0 : 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  const cuCtxEnablePeerAccess_params params{peer, flags};
  return FAKE_CALL(cuCtxEnablePeerAccess, params, [] { return CUDA_SUCCESS; });
}

CUresult cuCtxSynchronize() {
  return FAKE_CALL(cuCtxSynchronize, 0, [] {
    wait_for_device(fake_cuda_device());
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  const cuMemAlloc_v2_params params{address, bytes};
  return FAKE_CALL(cuMemAlloc_v2, params,
                   [&] { return made(allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE), address); });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  const cuMemFree_v2_params params{address};
  return FAKE_CALL(cuMemFree_v2, params, [&] {
    wait_for_device(fake_cuda_device());
    return release(pointer(address)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  const cuMemAllocAsync_params params{address, bytes, stream};
  return FAKE_CALL(cuMemAllocAsync, params,
                   [&] { return made(allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE), address); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  const cuMemAllocFromPoolAsync_params params{address, bytes, pool, stream};
  return FAKE_CALL(cuMemAllocFromPoolAsync, params,
                   [&] { return made(allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE), address); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  const cuMemFreeAsync_params params{address, stream};
  return FAKE_CALL(cuMemFreeAsync, params,
                   [&] { return release(pointer(address)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height,
                            unsigned int element_bytes) {
  const cuMemAllocPitch_v2_params params{address, pitch, width, height, element_bytes};
  return FAKE_CALL(cuMemAllocPitch_v2, params, [&] {
    *pitch = (width + 511) / 512 * 512;
    return made(allocate(*pitch * height, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE), address);
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  const cuMemCreate_params params{handle, bytes, properties, flags};
  return FAKE_CALL(cuMemCreate, params, [&] {
    *handle = next_id();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const cuMemRelease_params params{handle};
  return FAKE_CALL(cuMemRelease, params, [] { return CUDA_SUCCESS; });
}

CUresult cuMemAllocHost_v2(void** address, std::size_t bytes) {
  const cuMemAllocHost_v2_params params{address, bytes};
  return FAKE_CALL(cuMemAllocHost_v2, params, [&] {
    *address = allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    return *address == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned int flags) {
  const cuMemHostAlloc_params params{address, bytes, flags};
  return FAKE_CALL(cuMemHostAlloc, params, [&] {
    *address = allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    return *address == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  });
}

CUresult cuMemFreeHost(void* address) {
  const cuMemFreeHost_params params{address};
  return FAKE_CALL(cuMemFreeHost, params, [&] { return release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned int flags) {
  const cuMemHostRegister_v2_params params{address, bytes, flags};
  return FAKE_CALL(cuMemHostRegister_v2, params, [&] {
    register_host(address, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void* address) {
  const cuMemHostUnregister_params params{address};
  return FAKE_CALL(cuMemHostUnregister, params,
                   [&] { return unregister_host(address) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED; });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned int flags) {
  const cuMemAllocManaged_params params{address, bytes, flags};
  return FAKE_CALL(cuMemAllocManaged, params,
                   [&] { return made(allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED), address); });
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, std::size_t bytes, CUmemLocation location, unsigned int flags,
                               CUstream stream) {
  const cuMemPrefetchAsync_v2_params params{address, bytes, location, flags, stream};
  return FAKE_CALL(cuMemPrefetchAsync_v2, params, [&] {
    DeviceWork work{.kind = WorkKind::kMigration};
    work.copy_kind = location.type == CU_MEM_LOCATION_TYPE_DEVICE
                         ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD
                         : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH;
    work.bytes = bytes;
    work.address = address;
    submit(resolve(stream), work, nullptr, nullptr);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  pointer_questions.fetch_add(1, std::memory_order_relaxed);
  const auto [kind, start, bytes] = memory_at(pointer(address));
  if (kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned int*>(value) = kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned int*>(value) =
          kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = start;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(value) = bytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr address) {
  for (unsigned int i = 0; i < count; ++i) {
    if (cuPointerGetAttribute(values[i], attributes[i], address) != CUDA_SUCCESS) {
      *static_cast<unsigned int*>(values[i]) = 0;
    }
  }
  return CUDA_SUCCESS;
}

// Every address is an allocation of its own: nothing here joins copies.
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* size_bytes, CUdeviceptr inside) {
  *base = inside;
  *size_bytes = 1;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void* src, std::size_t bytes) {
  const cuMemcpyHtoD_v2_params params{dst, src, bytes};
  return FAKE_CALL(cuMemcpyHtoD_v2, params, [&] { return copy(resolve(nullptr), pointer(dst), src, bytes, false); });
}

CUresult cuMemcpyDtoH_v2(void* dst, CUdeviceptr src, std::size_t bytes) {
  const cuMemcpyDtoH_v2_params params{dst, src, bytes};
  return FAKE_CALL(cuMemcpyDtoH_v2, params, [&] { return copy(resolve(nullptr), dst, pointer(src), bytes, false); });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void* src, std::size_t bytes, CUstream stream) {
  const cuMemcpyHtoDAsync_v2_params params{dst, src, bytes, stream};
  return FAKE_CALL(cuMemcpyHtoDAsync_v2, params, [&] { return copy(resolve(stream), pointer(dst), src, bytes, true); });
}

CUresult cuMemcpyDtoHAsync_v2(void* dst, CUdeviceptr src, std::size_t bytes, CUstream stream) {
  const cuMemcpyDtoHAsync_v2_params params{dst, src, bytes, stream};
  return FAKE_CALL(cuMemcpyDtoHAsync_v2, params, [&] { return copy(resolve(stream), dst, pointer(src), bytes, true); });
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream stream) {
  const cuMemcpyDtoDAsync_v2_params params{dst, src, bytes, stream};
  return FAKE_CALL(cuMemcpyDtoDAsync_v2, params,
                   [&] { return copy(resolve(stream), pointer(dst), pointer(src), bytes, true); });
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream stream) {
  const cuMemcpyAsync_params params{dst, src, bytes, stream};
  return FAKE_CALL(cuMemcpyAsync, params,
                   [&] { return copy(resolve(stream), pointer(dst), pointer(src), bytes, true); });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                           std::size_t bytes, CUstream stream) {
  const cuMemcpyPeerAsync_params params{dst, dst_context, src, src_context, bytes, stream};
  return FAKE_CALL(cuMemcpyPeerAsync, params, [&] {
    DeviceWork work{.kind = WorkKind::kPeerCopy};
    work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    work.src_kind = work.dst_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    work.src_device = src_context->device;
    work.dst_device = dst_context->device;
    work.is_async = true;
    work.bytes = bytes;
    submit(resolve(stream), work, pointer(dst), pointer(src));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, std::size_t* sizes, std::size_t count,
                               CUmemcpyAttributes* attributes, std::size_t* indices, std::size_t attribute_count,
                               CUstream stream) {
  const cuMemcpyBatchAsync_v2_params params{dsts, srcs, sizes, count, attributes, indices, attribute_count, stream};
  return FAKE_CALL(cuMemcpyBatchAsync_v2, params, [&] {
    DeviceWork work{.kind = WorkKind::kMemcpy};
    work.src_kind = memory_kind(pointer(srcs[0]));
    work.dst_kind = memory_kind(pointer(dsts[0]));
    work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    work.is_async = true;
    work.copy_count = count;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(pointer(dsts[i]), pointer(srcs[i]), sizes[i]);
      work.bytes += sizes[i];
    }
    submit(resolve(stream), work, nullptr, nullptr);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, std::size_t bytes) {
  const cuMemsetD8_v2_params params{dst, value, bytes};
  return FAKE_CALL(cuMemsetD8_v2, params, [&] { return set_memory(resolve(nullptr), dst, value, bytes, false); });
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, std::size_t bytes, CUstream stream) {
  const cuMemsetD8Async_params params{dst, value, bytes, stream};
  return FAKE_CALL(cuMemsetD8Async, params, [&] { return set_memory(resolve(stream), dst, value, bytes, true); });
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
  const cuLaunchKernel_params params{function, grid_x,       grid_y, grid_z,    block_x, block_y,
                                     block_z,  shared_bytes, stream, arguments, extra};
  return FAKE_CALL(cuLaunchKernel, params, [&] {
    DeviceWork work{.kind = WorkKind::kKernel};
    // A function of the fake is its own name.
    work.name = reinterpret_cast<const char*>(function);
    submit(resolve(stream), work, nullptr, nullptr);
    return CUDA_SUCCESS;
  });
}

// Their headers are not in every toolkit.
CUresult cuProfilerStart();
CUresult cuProfilerStop();

CUresult cuProfilerStart() {
  return FAKE_CALL(cuProfilerStart, 0, [] { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop() {
  return FAKE_CALL(cuProfilerStop, 0, [] { return CUDA_SUCCESS; });
}
}

}  // namespace turnpike::fake
