// The arguments by NVIDIA's parameter structs: one row of a table for each function.
#include "cuda/call_arguments.h"

#include <cupti.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <type_traits>

namespace turnpike::cuda {
namespace {

std::uint64_t number(const volatile void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}
std::uint64_t number(unsigned long long value) {
  return value;
}

HostSide host_side(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToDevice) return HostSide::kSource;
  if (kind == cudaMemcpyDeviceToHost) return HostSide::kDestination;
  return HostSide::kUnknown;
}

// What `dst` or `dstDevice` is differs: in some calls the handle of an array, in copies between devices and in
// prefetches the number of a device.
template <typename Field>
constexpr bool kIsAddress = std::is_same_v<Field, CUdeviceptr> || std::is_same_v<Field, CUdeviceptr_v1> ||
                            std::is_same_v<Field, void*> || std::is_same_v<Field, const void*>;

// One copy of rows or planes, whose description stands in memory of the program. Widths of arrays are in elements of a
// size that only the driver knows.
std::uint64_t first_byte(const cudaPitchedPtr& memory, const cudaPos& at) {
  return number(memory.ptr) + (at.z * memory.ysize + at.y) * memory.pitch + at.x;
}
template <typename Copy>
void take_runtime_copy(const Copy& copy, CallArguments& out) {
  if (copy.srcArray == nullptr) out.src = first_byte(copy.srcPtr, copy.srcPos);
  if (copy.dstArray == nullptr) out.dst = first_byte(copy.dstPtr, copy.dstPos);
  if (copy.srcArray != nullptr || copy.dstArray != nullptr) return;
  out.bytes = copy.extent.width * copy.extent.height * copy.extent.depth;
}
void take_copy(const cudaMemcpy3DParms& copy, CallArguments& out) {
  take_runtime_copy(copy, out);
}
void take_copy(const cudaMemcpy3DPeerParms& copy, CallArguments& out) {
  take_runtime_copy(copy, out);
}

// In bytes also where it reads or writes an array.
template <typename Copy>
void take_copy(const Copy& copy, CallArguments& out) {
  std::uint64_t src_row = copy.srcY;
  std::uint64_t dst_row = copy.dstY;
  out.bytes = std::uint64_t{copy.WidthInBytes} * copy.Height;
  if constexpr (requires { copy.Depth; }) {
    out.bytes *= copy.Depth;
    src_row += std::uint64_t{copy.srcZ} * copy.srcHeight;
    dst_row += std::uint64_t{copy.dstZ} * copy.dstHeight;
  }
  const auto address = [](CUmemorytype type, std::uint64_t host, std::uint64_t device, std::uint64_t offset) {
    if (type == CU_MEMORYTYPE_HOST) return host + offset;
    return type == CU_MEMORYTYPE_ARRAY ? 0 : device + offset;
  };
  out.src =
      address(copy.srcMemoryType, number(copy.srcHost), copy.srcDevice, src_row * copy.srcPitch + copy.srcXInBytes);
  out.dst =
      address(copy.dstMemoryType, number(copy.dstHost), copy.dstDevice, dst_row * copy.dstPitch + copy.dstXInBytes);
}

// Many copies in one call: their bytes together.
bool is_of_array(const CUDA_MEMCPY3D_BATCH_OP& copy) {
  return copy.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY || copy.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}
bool is_of_array(const cudaMemcpy3DBatchOp& copy) {
  return copy.src.type == cudaMemcpyOperandTypeArray || copy.dst.type == cudaMemcpyOperandTypeArray;
}
template <typename Copy>
void take_batch(const Copy* copies, std::size_t count, CallArguments& out) {
  if (std::any_of(copies, copies + count, [](const Copy& copy) { return is_of_array(copy); })) return;
  out.bytes = std::accumulate(copies, copies + count, std::uint64_t{0}, [](std::uint64_t sum, const Copy& copy) {
    return sum + copy.extent.width * copy.extent.height * copy.extent.depth;
  });
}

// Takes every field of a parameter struct that has a name we know; what a struct lacks, it lacks at compile time.
template <typename Parameters>
void take(const void* raw, bool has_succeeded, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.sizes; }) {
    if (has_succeeded) out.bytes = std::accumulate(p.sizes, p.sizes + p.count, std::uint64_t{0});
  } else if constexpr (requires { p.opList; }) {
    if (has_succeeded) take_batch(p.opList, p.numOps, out);
  } else if constexpr (requires { p.count; }) {
    out.bytes = p.count;
  }
  if constexpr (requires { p.pCopy; }) {
    if (has_succeeded) take_copy(*p.pCopy, out);
  }
  if constexpr (requires { p.p->extent; }) {
    if (has_succeeded) take_copy(*p.p, out);
  }
  if constexpr (requires { p.pitchedDevPtr; }) {
    out.bytes = p.extent.width * p.extent.height * p.extent.depth;
    out.dst = number(p.pitchedDevPtr.ptr);
  }
  if constexpr (requires { p.ByteCount; }) out.bytes = p.ByteCount;
  if constexpr (requires { p.width; }) out.bytes = p.width * p.height;
  // The driver's memsets, in elements.
  std::uint64_t elements = 0;
  if constexpr (requires { p.N; }) elements = p.N;
  if constexpr (requires { p.Width; }) elements = std::uint64_t{p.Width} * p.Height;
  if constexpr (requires { p.uc; }) out.bytes = elements * sizeof(p.uc);
  if constexpr (requires { p.us; }) out.bytes = elements * sizeof(p.us);
  if constexpr (requires { p.ui; }) out.bytes = elements * sizeof(p.ui);
  if constexpr (requires { requires kIsAddress<decltype(p.dst)>; }) out.dst = number(p.dst);
  if constexpr (requires { p.devPtr; }) out.dst = number(p.devPtr);
  if constexpr (requires { p.dstHost; }) out.dst = number(p.dstHost);
  if constexpr (requires { requires kIsAddress<decltype(p.dstDevice)>; }) out.dst = number(p.dstDevice);
  if constexpr (requires { requires kIsAddress<decltype(p.src)>; }) out.src = number(p.src);
  if constexpr (requires { p.srcHost; }) out.src = number(p.srcHost);
  if constexpr (requires { requires kIsAddress<decltype(p.srcDevice)>; }) out.src = number(p.srcDevice);
  if constexpr (requires { p.kind; }) out.host_side = host_side(p.kind);
  if constexpr (requires { p.srcHost; }) out.host_side = HostSide::kSource;
  if constexpr (requires { p.dstHost; }) out.host_side = HostSide::kDestination;
  // Rows with gaps between them are not the `bytes` that stand behind the address.
  if constexpr (requires { p.height; }) out.host_side = HostSide::kUnknown;
  if constexpr (requires { p.event; }) out.object = number(p.event);
  if constexpr (requires { p.hEvent; }) out.object = number(p.hEvent);
  if constexpr (requires { p.stream; }) {
    out.stream = p.stream;
    out.has_stream = true;
  }
  if constexpr (requires { p.hStream; }) {
    out.stream = p.hStream;
    out.has_stream = true;
  }
}

// Memory that the call returns: `field` is the place it wrote the address to.
template <typename Pointer>
void take_returned(Pointer* const* field, std::size_t bytes, CallArguments& out) {
  out.bytes = bytes;
  if (field != nullptr) out.dst = number(*field);
}
void take_returned(const CUdeviceptr* field, std::size_t bytes, CallArguments& out) {
  out.bytes = bytes;
  if (field != nullptr) out.dst = *field;
}

// The structs of all calls that return plain memory, and of all that take it back, name their fields alike.
template <typename Parameters>
void take_allocation(const void* raw, bool, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.devPtr; }) take_returned(p.devPtr, p.size, out);
  if constexpr (requires { p.ptr; }) take_returned(p.ptr, p.size, out);
  if constexpr (requires { p.pHost; }) take_returned(p.pHost, p.size, out);
  if constexpr (requires { p.dptr; }) take_returned(p.dptr, p.bytesize, out);
  if constexpr (requires { p.pp; }) take_returned(p.pp, p.bytesize, out);
}
template <typename Parameters>
void take_free(const void* raw, bool, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.devPtr; }) out.dst = number(p.devPtr);
  if constexpr (requires { p.ptr; }) out.dst = number(p.ptr);
  if constexpr (requires { p.dptr; }) out.dst = number(p.dptr);
  if constexpr (requires { p.p; }) out.dst = number(p.p);
  if constexpr (requires { p.handle; }) out.dst = number(p.handle);
}

template <typename Parameters>
void take_pitched(const void* raw, bool, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if (p.devPtr != nullptr && p.pitch != nullptr) take_returned(p.devPtr, *p.pitch * p.height, out);
}

template <typename Parameters>
void take_registered(const void* raw, bool, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.ptr; }) {
    out.bytes = p.size;
    out.dst = number(p.ptr);
  } else {
    out.bytes = p.bytesize;
    out.dst = number(p.p);
  }
}

// Physical memory, as PyTorch's expandable segments take it. That of the host is nothing that a device lacks.
template <typename Parameters>
void take_created(const void* raw, bool, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if (p.handle == nullptr || p.prop == nullptr || p.prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return;
  out.bytes = p.size;
  out.dst = *p.handle;
}

// Functions of CUDA 12, for which the headers of 13 have no struct: as those had it.
struct OldPrefetch {
  const void* devPtr;
  std::size_t count;
  int dstDevice;
  cudaStream_t stream;
};
struct OldBatchOf3D {
  std::size_t numOps;
  cudaMemcpy3DBatchOp* opList;
  std::size_t* failIdx;
  unsigned long long flags;
  cudaStream_t stream;
};
using OldBatch = cuMemcpyBatchAsync_params;

struct Row {
  std::uint32_t id;
  void (*read)(const void* parameters, bool has_succeeded, CallArguments& out);
};
// NOLINTBEGIN(bugprone-macro-parentheses): `read` is the name of a template
#define RUNTIME_ROW(name, read)                          \
  Row {                                                  \
    CUPTI_RUNTIME_TRACE_CBID_##name, read<name##_params> \
  }
#define OLD_RUNTIME_ROW(name, parameters)             \
  Row {                                               \
    CUPTI_RUNTIME_TRACE_CBID_##name, take<parameters> \
  }
#define DRIVER_ROW(name, read)                          \
  Row {                                                 \
    CUPTI_DRIVER_TRACE_CBID_##name, read<name##_params> \
  }
// NOLINTEND(bugprone-macro-parentheses)

constexpr Row kRuntimeRows[] = {
    RUNTIME_ROW(cudaMemcpy_v3020, take),
    RUNTIME_ROW(cudaMemcpy2D_v3020, take),
    RUNTIME_ROW(cudaMemcpyToArray_v3020, take),
    RUNTIME_ROW(cudaMemcpy2DToArray_v3020, take),
    RUNTIME_ROW(cudaMemcpyFromArray_v3020, take),
    RUNTIME_ROW(cudaMemcpy2DFromArray_v3020, take),
    RUNTIME_ROW(cudaMemcpyArrayToArray_v3020, take),
    RUNTIME_ROW(cudaMemcpy2DArrayToArray_v3020, take),
    RUNTIME_ROW(cudaMemcpyToSymbol_v3020, take),
    RUNTIME_ROW(cudaMemcpyFromSymbol_v3020, take),
    RUNTIME_ROW(cudaMemcpyAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpyToArrayAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpyFromArrayAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpy2DAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpy2DToArrayAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpy2DFromArrayAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpyToSymbolAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpyFromSymbolAsync_v3020, take),
    RUNTIME_ROW(cudaMemset_v3020, take),
    RUNTIME_ROW(cudaMemset2D_v3020, take),
    RUNTIME_ROW(cudaMemsetAsync_v3020, take),
    RUNTIME_ROW(cudaMemset2DAsync_v3020, take),
    RUNTIME_ROW(cudaStreamSynchronize_v3020, take),
    RUNTIME_ROW(cudaEventRecord_v3020, take),
    RUNTIME_ROW(cudaEventSynchronize_v3020, take),
    RUNTIME_ROW(cudaMemset3D_v3020, take),
    RUNTIME_ROW(cudaMemset3DAsync_v3020, take),
    RUNTIME_ROW(cudaMemcpy3D_v3020, take),
    RUNTIME_ROW(cudaMemcpy3DAsync_v3020, take),
    RUNTIME_ROW(cudaStreamWaitEvent_v3020, take),
    RUNTIME_ROW(cudaMemcpyPeer_v4000, take),
    RUNTIME_ROW(cudaMemcpyPeerAsync_v4000, take),
    RUNTIME_ROW(cudaMemcpy3DPeer_v4000, take),
    RUNTIME_ROW(cudaMemcpy3DPeerAsync_v4000, take),
    RUNTIME_ROW(cudaMemcpy_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpy2D_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpyToArray_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpy2DToArray_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpyFromArray_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpy2DFromArray_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpyArrayToArray_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpy2DArrayToArray_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpyToSymbol_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpyFromSymbol_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpyAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpyToArrayAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpyFromArrayAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpy2DAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpy2DToArrayAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpy2DFromArrayAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpyToSymbolAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpyFromSymbolAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemset_ptds_v7000, take),
    RUNTIME_ROW(cudaMemset2D_ptds_v7000, take),
    RUNTIME_ROW(cudaMemsetAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemset2DAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaStreamSynchronize_ptsz_v7000, take),
    RUNTIME_ROW(cudaEventRecord_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemset3D_ptds_v7000, take),
    RUNTIME_ROW(cudaMemset3DAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpy3D_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpy3DAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaStreamWaitEvent_ptsz_v7000, take),
    RUNTIME_ROW(cudaMemcpy3DPeer_ptds_v7000, take),
    RUNTIME_ROW(cudaMemcpy3DPeerAsync_ptsz_v7000, take),
    RUNTIME_ROW(cudaGraphLaunch_v10000, take),
    RUNTIME_ROW(cudaGraphLaunch_ptsz_v10000, take),
    RUNTIME_ROW(cudaEventRecordWithFlags_v11010, take),
    RUNTIME_ROW(cudaEventRecordWithFlags_ptsz_v11010, take),
    RUNTIME_ROW(cudaMemPrefetchAsync_v12020, take),
    RUNTIME_ROW(cudaMemPrefetchAsync_ptsz_v12020, take),
    RUNTIME_ROW(cudaMemPrefetchBatchAsync_v13000, take),
    RUNTIME_ROW(cudaMemPrefetchBatchAsync_ptsz_v13000, take),
    RUNTIME_ROW(cudaMemDiscardAndPrefetchBatchAsync_v13000, take),
    RUNTIME_ROW(cudaMemDiscardAndPrefetchBatchAsync_ptsz_v13000, take),
    RUNTIME_ROW(cudaMemcpyBatchAsync_v13000, take),
    RUNTIME_ROW(cudaMemcpyBatchAsync_ptsz_v13000, take),
    RUNTIME_ROW(cudaMemcpy3DBatchAsync_v13000, take),
    RUNTIME_ROW(cudaMemcpy3DBatchAsync_ptsz_v13000, take),
    OLD_RUNTIME_ROW(cudaMemPrefetchAsync_v8000, OldPrefetch),
    OLD_RUNTIME_ROW(cudaMemPrefetchAsync_ptsz_v8000, OldPrefetch),
    OLD_RUNTIME_ROW(cudaMemcpyBatchAsync_v12080, OldBatch),
    OLD_RUNTIME_ROW(cudaMemcpyBatchAsync_ptsz_v12080, OldBatch),
    OLD_RUNTIME_ROW(cudaMemcpy3DBatchAsync_v12080, OldBatchOf3D),
    OLD_RUNTIME_ROW(cudaMemcpy3DBatchAsync_ptsz_v12080, OldBatchOf3D),
    RUNTIME_ROW(cudaMalloc_v3020, take_allocation),
    RUNTIME_ROW(cudaMallocAsync_v11020, take_allocation),
    RUNTIME_ROW(cudaMallocAsync_ptsz_v11020, take_allocation),
    RUNTIME_ROW(cudaMallocFromPoolAsync_v11020, take_allocation),
    RUNTIME_ROW(cudaMallocFromPoolAsync_ptsz_v11020, take_allocation),
    RUNTIME_ROW(cudaMallocHost_v3020, take_allocation),
    RUNTIME_ROW(cudaHostAlloc_v3020, take_allocation),
    RUNTIME_ROW(cudaMallocManaged_v6000, take_allocation),
    RUNTIME_ROW(cudaMallocPitch_v3020, take_pitched),
    RUNTIME_ROW(cudaHostRegister_v4000, take_registered),
    RUNTIME_ROW(cudaFree_v3020, take_free),
    RUNTIME_ROW(cudaFreeAsync_v11020, take_free),
    RUNTIME_ROW(cudaFreeAsync_ptsz_v11020, take_free),
    RUNTIME_ROW(cudaFreeHost_v3020, take_free),
    RUNTIME_ROW(cudaHostUnregister_v4000, take_free),
};

constexpr Row kDriverRows[] = {
    DRIVER_ROW(cuMemcpyHtoD, take),
    DRIVER_ROW(cuMemcpyDtoH, take),
    DRIVER_ROW(cuMemcpyDtoD, take),
    DRIVER_ROW(cuMemcpyDtoA, take),
    DRIVER_ROW(cuMemcpyAtoD, take),
    DRIVER_ROW(cuMemcpyHtoA, take),
    DRIVER_ROW(cuMemcpyAtoH, take),
    DRIVER_ROW(cuMemcpyAtoA, take),
    DRIVER_ROW(cuMemcpyHtoDAsync, take),
    DRIVER_ROW(cuMemcpyDtoHAsync, take),
    DRIVER_ROW(cuMemcpyDtoDAsync, take),
    DRIVER_ROW(cuMemcpyHtoAAsync, take),
    DRIVER_ROW(cuMemcpyAtoHAsync, take),
    DRIVER_ROW(cuMemsetD8, take),
    DRIVER_ROW(cuMemsetD16, take),
    DRIVER_ROW(cuMemsetD32, take),
    DRIVER_ROW(cuMemsetD2D8, take),
    DRIVER_ROW(cuMemsetD2D16, take),
    DRIVER_ROW(cuMemsetD2D32, take),
    DRIVER_ROW(cuEventRecord, take),
    DRIVER_ROW(cuEventSynchronize, take),
    DRIVER_ROW(cuStreamSynchronize, take),
    DRIVER_ROW(cuMemsetD8Async, take),
    DRIVER_ROW(cuMemsetD16Async, take),
    DRIVER_ROW(cuMemsetD32Async, take),
    DRIVER_ROW(cuMemsetD2D8Async, take),
    DRIVER_ROW(cuMemsetD2D16Async, take),
    DRIVER_ROW(cuMemsetD2D32Async, take),
    DRIVER_ROW(cuMemsetD8_v2, take),
    DRIVER_ROW(cuMemsetD16_v2, take),
    DRIVER_ROW(cuMemsetD32_v2, take),
    DRIVER_ROW(cuMemsetD2D8_v2, take),
    DRIVER_ROW(cuMemsetD2D16_v2, take),
    DRIVER_ROW(cuMemsetD2D32_v2, take),
    DRIVER_ROW(cuMemcpyHtoD_v2, take),
    DRIVER_ROW(cuMemcpyHtoDAsync_v2, take),
    DRIVER_ROW(cuMemcpyDtoH_v2, take),
    DRIVER_ROW(cuMemcpyDtoHAsync_v2, take),
    DRIVER_ROW(cuMemcpyDtoD_v2, take),
    DRIVER_ROW(cuMemcpyDtoDAsync_v2, take),
    DRIVER_ROW(cuMemcpyAtoH_v2, take),
    DRIVER_ROW(cuMemcpyAtoHAsync_v2, take),
    DRIVER_ROW(cuMemcpyAtoD_v2, take),
    DRIVER_ROW(cuMemcpyDtoA_v2, take),
    DRIVER_ROW(cuMemcpyAtoA_v2, take),
    DRIVER_ROW(cuMemcpy2D_v2, take),
    DRIVER_ROW(cuMemcpy2DUnaligned_v2, take),
    DRIVER_ROW(cuMemcpy2DAsync_v2, take),
    DRIVER_ROW(cuMemcpy3D_v2, take),
    DRIVER_ROW(cuMemcpy3DAsync_v2, take),
    DRIVER_ROW(cuMemcpyHtoA_v2, take),
    DRIVER_ROW(cuMemcpyHtoAAsync_v2, take),
    DRIVER_ROW(cuStreamWaitEvent, take),
    DRIVER_ROW(cuMemcpy, take),
    DRIVER_ROW(cuMemcpyAsync, take),
    DRIVER_ROW(cuMemcpyPeer, take),
    DRIVER_ROW(cuMemcpyPeerAsync, take),
    DRIVER_ROW(cuMemcpy3DPeer, take),
    DRIVER_ROW(cuMemcpy3DPeerAsync, take),
    DRIVER_ROW(cuMemcpyHtoD_v2_ptds, take),
    DRIVER_ROW(cuMemcpyDtoH_v2_ptds, take),
    DRIVER_ROW(cuMemcpyDtoD_v2_ptds, take),
    DRIVER_ROW(cuMemcpyDtoA_v2_ptds, take),
    DRIVER_ROW(cuMemcpyAtoD_v2_ptds, take),
    DRIVER_ROW(cuMemcpyHtoA_v2_ptds, take),
    DRIVER_ROW(cuMemcpyAtoH_v2_ptds, take),
    DRIVER_ROW(cuMemcpyAtoA_v2_ptds, take),
    DRIVER_ROW(cuMemcpy2D_v2_ptds, take),
    DRIVER_ROW(cuMemcpy2DUnaligned_v2_ptds, take),
    DRIVER_ROW(cuMemcpy3D_v2_ptds, take),
    DRIVER_ROW(cuMemcpy_ptds, take),
    DRIVER_ROW(cuMemcpyPeer_ptds, take),
    DRIVER_ROW(cuMemcpy3DPeer_ptds, take),
    DRIVER_ROW(cuMemsetD8_v2_ptds, take),
    DRIVER_ROW(cuMemsetD16_v2_ptds, take),
    DRIVER_ROW(cuMemsetD32_v2_ptds, take),
    DRIVER_ROW(cuMemsetD2D8_v2_ptds, take),
    DRIVER_ROW(cuMemsetD2D16_v2_ptds, take),
    DRIVER_ROW(cuMemsetD2D32_v2_ptds, take),
    DRIVER_ROW(cuMemcpyAsync_ptsz, take),
    DRIVER_ROW(cuMemcpyHtoAAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpyAtoHAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpyHtoDAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpyDtoHAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpyDtoDAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpy2DAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpy3DAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpyPeerAsync_ptsz, take),
    DRIVER_ROW(cuMemcpy3DPeerAsync_ptsz, take),
    DRIVER_ROW(cuMemsetD8Async_ptsz, take),
    DRIVER_ROW(cuMemsetD16Async_ptsz, take),
    DRIVER_ROW(cuMemsetD32Async_ptsz, take),
    DRIVER_ROW(cuMemsetD2D8Async_ptsz, take),
    DRIVER_ROW(cuMemsetD2D16Async_ptsz, take),
    DRIVER_ROW(cuMemsetD2D32Async_ptsz, take),
    DRIVER_ROW(cuStreamWaitEvent_ptsz, take),
    DRIVER_ROW(cuStreamSynchronize_ptsz, take),
    DRIVER_ROW(cuEventRecord_ptsz, take),
    DRIVER_ROW(cuMemPrefetchAsync, take),
    DRIVER_ROW(cuMemPrefetchAsync_ptsz, take),
    DRIVER_ROW(cuGraphLaunch, take),
    DRIVER_ROW(cuGraphLaunch_ptsz, take),
    DRIVER_ROW(cuEventRecordWithFlags, take),
    DRIVER_ROW(cuEventRecordWithFlags_ptsz, take),
    DRIVER_ROW(cuMemPrefetchAsync_v2, take),
    DRIVER_ROW(cuMemPrefetchAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpyBatchAsync, take),
    DRIVER_ROW(cuMemcpyBatchAsync_ptsz, take),
    DRIVER_ROW(cuMemcpy3DBatchAsync, take),
    DRIVER_ROW(cuMemcpy3DBatchAsync_ptsz, take),
    DRIVER_ROW(cuMemPrefetchBatchAsync, take),
    DRIVER_ROW(cuMemPrefetchBatchAsync_ptsz, take),
    DRIVER_ROW(cuMemDiscardAndPrefetchBatchAsync, take),
    DRIVER_ROW(cuMemDiscardAndPrefetchBatchAsync_ptsz, take),
    DRIVER_ROW(cuMemcpyBatchAsync_v2, take),
    DRIVER_ROW(cuMemcpyBatchAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemcpy3DBatchAsync_v2, take),
    DRIVER_ROW(cuMemcpy3DBatchAsync_v2_ptsz, take),
    DRIVER_ROW(cuMemAlloc_v2, take_allocation),
    DRIVER_ROW(cuMemAllocAsync, take_allocation),
    DRIVER_ROW(cuMemAllocAsync_ptsz, take_allocation),
    DRIVER_ROW(cuMemAllocFromPoolAsync, take_allocation),
    DRIVER_ROW(cuMemAllocFromPoolAsync_ptsz, take_allocation),
    DRIVER_ROW(cuMemAllocManaged, take_allocation),
    DRIVER_ROW(cuMemAllocHost_v2, take_allocation),
    DRIVER_ROW(cuMemHostAlloc, take_allocation),
    DRIVER_ROW(cuMemHostRegister_v2, take_registered),
    DRIVER_ROW(cuMemCreate, take_created),
    DRIVER_ROW(cuMemFree_v2, take_free),
    DRIVER_ROW(cuMemFreeAsync, take_free),
    DRIVER_ROW(cuMemFreeAsync_ptsz, take_free),
    DRIVER_ROW(cuMemFreeHost, take_free),
    DRIVER_ROW(cuMemHostUnregister, take_free),
    DRIVER_ROW(cuMemRelease, take_free),
};

#undef RUNTIME_ROW
#undef OLD_RUNTIME_ROW
#undef DRIVER_ROW

// By id: a callback finds its row at once.
template <const auto& kRows>
constexpr auto by_id() {
  constexpr std::uint32_t kMost =
      std::max_element(std::begin(kRows), std::end(kRows), [](Row a, Row b) { return a.id < b.id; })->id;
  std::array<decltype(Row::read), kMost + 1> readers{};
  for (const Row& row : kRows) readers[row.id] = row.read;
  return readers;
}
constexpr auto kRuntimeReaders = by_id<kRuntimeRows>();
constexpr auto kDriverReaders = by_id<kDriverRows>();

// nullptr: not known.
decltype(Row::read) reader_of(CallbackDomain domain, std::uint32_t id) noexcept {
  if (domain == CallbackDomain::kRuntimeApi) return id < kRuntimeReaders.size() ? kRuntimeReaders[id] : nullptr;
  if (domain == CallbackDomain::kDriverApi) return id < kDriverReaders.size() ? kDriverReaders[id] : nullptr;
  return nullptr;
}

}  // namespace

bool knows_arguments(CallbackDomain domain, std::uint32_t callback_id) noexcept {
  return reader_of(domain, callback_id) != nullptr;
}

void read_arguments(CallbackDomain domain, std::uint32_t callback_id, const void* parameters, bool has_succeeded,
                    CallArguments& arguments) noexcept {
  const auto read = reader_of(domain, callback_id);
  if (read != nullptr && parameters != nullptr) read(parameters, has_succeeded, arguments);
}

}  // namespace turnpike::cuda
