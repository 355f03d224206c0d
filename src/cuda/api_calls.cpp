// The kinds of calls by name, and their arguments by NVIDIA's parameter structs.
#include "cuda/api_calls.h"

#include <cupti.h>

#include <type_traits>

#include "trace/call_kind.h"

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

// `dstDevice` is an address in the driver's copies. In copies between devices and in prefetches it is a device's
// number.
template <typename Field>
constexpr bool kIsAddress = std::is_same_v<Field, CUdeviceptr>;

// Takes every field of a parameter struct that has a name we know; what a struct lacks, it lacks at compile time.
template <typename Parameters>
void take(const void* raw, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.count; }) out.bytes = p.count;
  if constexpr (requires { p.ByteCount; }) out.bytes = p.ByteCount;
  if constexpr (requires { p.size; }) out.bytes = p.size;
  if constexpr (requires { p.bytesize; }) out.bytes = p.bytesize;
  if constexpr (requires {
                  p.width;
                  p.height;
                })
    out.bytes = p.width * p.height;
  if constexpr (requires {
                  p.N;
                  p.uc;
                })
    out.bytes = p.N;
  if constexpr (requires {
                  p.N;
                  p.us;
                })
    out.bytes = p.N * sizeof(p.us);
  if constexpr (requires {
                  p.N;
                  p.ui;
                })
    out.bytes = p.N * sizeof(p.ui);
  if constexpr (requires { p.dst; }) out.dst = number(p.dst);
  if constexpr (requires { p.devPtr; }) out.dst = number(p.devPtr);
  if constexpr (requires { p.dstHost; }) out.dst = number(p.dstHost);
  if constexpr (requires { requires kIsAddress<decltype(p.dstDevice)>; }) out.dst = number(p.dstDevice);
  if constexpr (requires { p.src; }) out.src = number(p.src);
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
void take_allocation(const void* raw, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.devPtr; }) take_returned(p.devPtr, p.size, out);
  if constexpr (requires { p.ptr; }) take_returned(p.ptr, p.size, out);
  if constexpr (requires { p.pHost; }) take_returned(p.pHost, p.size, out);
  if constexpr (requires { p.dptr; }) take_returned(p.dptr, p.bytesize, out);
  if constexpr (requires { p.pp; }) take_returned(p.pp, p.bytesize, out);
}
template <typename Parameters>
void take_free(const void* raw, CallArguments& out) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.devPtr; }) out.dst = number(p.devPtr);
  if constexpr (requires { p.ptr; }) out.dst = number(p.ptr);
  if constexpr (requires { p.dptr; }) out.dst = number(p.dptr);
  if constexpr (requires { p.p; }) out.dst = number(p.p);
  if constexpr (requires { p.handle; }) out.dst = number(p.handle);
}

void take_pitched(const void* raw, CallArguments& out) {
  const auto& p = *static_cast<const cudaMallocPitch_v3020_params*>(raw);
  if (p.devPtr != nullptr && p.pitch != nullptr) take_returned(p.devPtr, *p.pitch * p.height, out);
}

// Physical memory, as PyTorch's expandable segments take it. That of the host is nothing that a device lacks.
void take_created(const void* raw, CallArguments& out) {
  const auto& p = *static_cast<const cuMemCreate_params*>(raw);
  if (p.handle == nullptr || p.prop == nullptr || p.prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return;
  out.bytes = p.size;
  out.dst = *p.handle;
}

#define RUNTIME_CASE(name)              \
  case CUPTI_RUNTIME_TRACE_CBID_##name: \
    return take<name##_params>(parameters, out)
#define DRIVER_CASE(name)              \
  case CUPTI_DRIVER_TRACE_CBID_##name: \
    return take<name##_params>(parameters, out)

#define RUNTIME_ALLOCATION(name)        \
  case CUPTI_RUNTIME_TRACE_CBID_##name: \
    return take_allocation<name##_params>(parameters, out)
#define RUNTIME_FREE(name)              \
  case CUPTI_RUNTIME_TRACE_CBID_##name: \
    return take_free<name##_params>(parameters, out)
#define DRIVER_ALLOCATION(name)        \
  case CUPTI_DRIVER_TRACE_CBID_##name: \
    return take_allocation<name##_params>(parameters, out)
#define DRIVER_FREE(name)              \
  case CUPTI_DRIVER_TRACE_CBID_##name: \
    return take_free<name##_params>(parameters, out)

void read_runtime(std::uint32_t id, const void* parameters, CallArguments& out) {
  switch (id) {
    RUNTIME_CASE(cudaMemcpy_v3020);
    RUNTIME_CASE(cudaMemcpy_ptds_v7000);
    RUNTIME_CASE(cudaMemcpyAsync_v3020);
    RUNTIME_CASE(cudaMemcpyAsync_ptsz_v7000);
    RUNTIME_CASE(cudaMemcpyPeer_v4000);
    RUNTIME_CASE(cudaMemcpyPeerAsync_v4000);
    RUNTIME_CASE(cudaMemcpy2D_v3020);
    RUNTIME_CASE(cudaMemcpy2DAsync_v3020);
    RUNTIME_CASE(cudaMemcpyToSymbol_v3020);
    RUNTIME_CASE(cudaMemcpyFromSymbol_v3020);
    RUNTIME_CASE(cudaMemcpyToSymbolAsync_v3020);
    RUNTIME_CASE(cudaMemcpyFromSymbolAsync_v3020);
    RUNTIME_CASE(cudaMemset_v3020);
    RUNTIME_CASE(cudaMemsetAsync_v3020);
    RUNTIME_CASE(cudaMemsetAsync_ptsz_v7000);
    RUNTIME_CASE(cudaMemPrefetchAsync_v12020);
    RUNTIME_CASE(cudaMemPrefetchAsync_ptsz_v12020);
    RUNTIME_CASE(cudaStreamSynchronize_v3020);
    RUNTIME_CASE(cudaStreamSynchronize_ptsz_v7000);
    RUNTIME_CASE(cudaEventSynchronize_v3020);
    RUNTIME_CASE(cudaEventRecord_v3020);
    RUNTIME_CASE(cudaEventRecord_ptsz_v7000);
    RUNTIME_CASE(cudaEventRecordWithFlags_v11010);
    RUNTIME_CASE(cudaStreamWaitEvent_v3020);
    RUNTIME_CASE(cudaStreamWaitEvent_ptsz_v7000);
    RUNTIME_CASE(cudaGraphLaunch_v10000);
    RUNTIME_CASE(cudaGraphLaunch_ptsz_v10000);
    RUNTIME_ALLOCATION(cudaMalloc_v3020);
    RUNTIME_ALLOCATION(cudaMallocAsync_v11020);
    RUNTIME_ALLOCATION(cudaMallocAsync_ptsz_v11020);
    RUNTIME_ALLOCATION(cudaMallocFromPoolAsync_v11020);
    RUNTIME_ALLOCATION(cudaMallocFromPoolAsync_ptsz_v11020);
    RUNTIME_ALLOCATION(cudaMallocHost_v3020);
    RUNTIME_ALLOCATION(cudaHostAlloc_v3020);
    RUNTIME_ALLOCATION(cudaMallocManaged_v6000);
    RUNTIME_FREE(cudaFree_v3020);
    RUNTIME_FREE(cudaFreeAsync_v11020);
    RUNTIME_FREE(cudaFreeAsync_ptsz_v11020);
    RUNTIME_FREE(cudaFreeHost_v3020);
    RUNTIME_FREE(cudaHostUnregister_v4000);
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020:
      return take_pitched(parameters, out);
    case CUPTI_RUNTIME_TRACE_CBID_cudaHostRegister_v4000: {
      const auto& p = *static_cast<const cudaHostRegister_v4000_params*>(parameters);
      out.bytes = p.size;
      out.dst = number(p.ptr);
      return;
    }
    // Of CUDA 12; the headers of 13 have no struct for them. Address and size stand first, as in their successor's.
    case CUPTI_RUNTIME_TRACE_CBID_cudaMemPrefetchAsync_v8000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaMemPrefetchAsync_ptsz_v8000: {
      const auto& p = *static_cast<const cudaMemPrefetchAsync_v12020_params*>(parameters);
      out.bytes = p.count;
      out.dst = number(p.devPtr);
      return;
    }
    default:
      return;
  }
}

void read_driver(std::uint32_t id, const void* parameters, CallArguments& out) {
  switch (id) {
    DRIVER_CASE(cuMemcpy);
    DRIVER_CASE(cuMemcpyAsync);
    DRIVER_CASE(cuMemcpy_ptds);
    DRIVER_CASE(cuMemcpyAsync_ptsz);
    DRIVER_CASE(cuMemcpyHtoD_v2);
    DRIVER_CASE(cuMemcpyHtoDAsync_v2);
    DRIVER_CASE(cuMemcpyHtoD_v2_ptds);
    DRIVER_CASE(cuMemcpyHtoDAsync_v2_ptsz);
    DRIVER_CASE(cuMemcpyDtoH_v2);
    DRIVER_CASE(cuMemcpyDtoHAsync_v2);
    DRIVER_CASE(cuMemcpyDtoH_v2_ptds);
    DRIVER_CASE(cuMemcpyDtoHAsync_v2_ptsz);
    DRIVER_CASE(cuMemcpyDtoD_v2);
    DRIVER_CASE(cuMemcpyDtoDAsync_v2);
    DRIVER_CASE(cuMemcpyPeer);
    DRIVER_CASE(cuMemcpyPeerAsync);
    DRIVER_CASE(cuMemsetD8_v2);
    DRIVER_CASE(cuMemsetD16_v2);
    DRIVER_CASE(cuMemsetD32_v2);
    DRIVER_CASE(cuMemsetD8Async);
    DRIVER_CASE(cuMemsetD16Async);
    DRIVER_CASE(cuMemsetD32Async);
    DRIVER_CASE(cuMemsetD8Async_ptsz);
    DRIVER_CASE(cuMemsetD16Async_ptsz);
    DRIVER_CASE(cuMemsetD32Async_ptsz);
    DRIVER_CASE(cuMemPrefetchAsync);
    DRIVER_CASE(cuMemPrefetchAsync_ptsz);
    DRIVER_CASE(cuMemPrefetchAsync_v2);
    DRIVER_CASE(cuMemPrefetchAsync_v2_ptsz);
    DRIVER_CASE(cuStreamSynchronize);
    DRIVER_CASE(cuStreamSynchronize_ptsz);
    DRIVER_CASE(cuEventSynchronize);
    DRIVER_CASE(cuEventRecord);
    DRIVER_CASE(cuEventRecord_ptsz);
    DRIVER_CASE(cuEventRecordWithFlags);
    DRIVER_CASE(cuStreamWaitEvent);
    DRIVER_CASE(cuStreamWaitEvent_ptsz);
    DRIVER_CASE(cuGraphLaunch);
    DRIVER_CASE(cuGraphLaunch_ptsz);
    DRIVER_ALLOCATION(cuMemAlloc_v2);
    DRIVER_ALLOCATION(cuMemAllocAsync);
    DRIVER_ALLOCATION(cuMemAllocAsync_ptsz);
    DRIVER_ALLOCATION(cuMemAllocFromPoolAsync);
    DRIVER_ALLOCATION(cuMemAllocFromPoolAsync_ptsz);
    DRIVER_ALLOCATION(cuMemAllocManaged);
    DRIVER_ALLOCATION(cuMemAllocHost_v2);
    DRIVER_ALLOCATION(cuMemHostAlloc);
    DRIVER_FREE(cuMemFree_v2);
    DRIVER_FREE(cuMemFreeAsync);
    DRIVER_FREE(cuMemFreeAsync_ptsz);
    DRIVER_FREE(cuMemFreeHost);
    DRIVER_FREE(cuMemHostUnregister);
    DRIVER_FREE(cuMemRelease);
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
      return take_created(parameters, out);
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2: {
      const auto& p = *static_cast<const cuMemHostRegister_v2_params*>(parameters);
      out.bytes = p.bytesize;
      out.dst = number(p.p);
      return;
    }
    default:
      return;
  }
}

#undef RUNTIME_CASE
#undef DRIVER_CASE
#undef RUNTIME_ALLOCATION
#undef RUNTIME_FREE
#undef DRIVER_ALLOCATION
#undef DRIVER_FREE

}  // namespace

trace::CallKind recorded_kind(CallbackDomain domain, std::string_view name) noexcept {
  const bool is_of_runtime = name.starts_with("cuda");
  const bool is_of_domain = domain == CallbackDomain::kRuntimeApi  ? is_of_runtime
                            : domain == CallbackDomain::kDriverApi ? !is_of_runtime
                                                                   : false;
  if (!is_of_domain) return trace::CallKind::kOther;
  const trace::CallKind kind = trace::call_kind_of(name);
  // Kernel launches are listened to in the driver alone: the runtime's all end in a driver call, and libraries such as
  // cuBLAS make driver calls of their own. One callback per launch instead of two.
  return is_of_runtime && kind == trace::CallKind::kLaunch ? trace::CallKind::kOther : kind;
}

ProfilerSwitch profiler_switch_of(std::string_view name) noexcept {
  if (name.starts_with("cudaProfilerStart") || name.starts_with("cuProfilerStart")) return ProfilerSwitch::kStart;
  if (name.starts_with("cudaProfilerStop") || name.starts_with("cuProfilerStop")) return ProfilerSwitch::kStop;
  return ProfilerSwitch::kNone;
}

void read_arguments(CallbackDomain domain, std::uint32_t callback_id, const void* parameters,
                    CallArguments& arguments) noexcept {
  if (parameters == nullptr) return;
  if (domain == CallbackDomain::kRuntimeApi) read_runtime(callback_id, parameters, arguments);
  if (domain == CallbackDomain::kDriverApi) read_driver(callback_id, parameters, arguments);
}

}  // namespace turnpike::cuda
