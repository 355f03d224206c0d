// The classes of calls, and the arguments of every call whose parameters are known.
#include "cuda/api_calls.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <string>

namespace turnpike::cuda {
namespace {

using trace::CallKind;
constexpr auto kRuntime = CallbackDomain::kRuntimeApi;
constexpr auto kDriver = CallbackDomain::kDriverApi;

std::string digits(std::uint64_t value) {
  return value == ~std::uint64_t{0} ? "none" : std::to_string(value);
}

std::string text_of(const CallArguments& arguments) {
  const char* const sides[] = {"unknown", "source", "destination"};
  const auto stream = reinterpret_cast<std::uint64_t>(arguments.stream);
  return "bytes " + digits(arguments.bytes) + " dst " + digits(arguments.dst) + " src " + digits(arguments.src) +
         " object " + digits(arguments.object) + " stream " + (arguments.has_stream ? digits(stream) : "none") +
         " host " + sides[static_cast<int>(arguments.host_side)];
}

// What is read of parameters whose address, size, event and stream are all different.
template <typename Parameters>
std::string read(CallbackDomain domain, std::uint32_t id, const Parameters& parameters) {
  CallArguments arguments;
  read_arguments(domain, id, &parameters, arguments);
  return text_of(arguments);
}

template <typename Pointer>
Pointer at(std::uint64_t address) {
  return reinterpret_cast<Pointer>(address);
}

#define READ_RUNTIME(name, ...) read(kRuntime, CUPTI_RUNTIME_TRACE_CBID_##name, name##_params{__VA_ARGS__})
#define READ_DRIVER(name, ...) read(kDriver, CUPTI_DRIVER_TRACE_CBID_##name, name##_params{__VA_ARGS__})

// The stream of a call, its null where the call names none.
const cudaStream_t kStream = at<cudaStream_t>(70);
const cudaEvent_t kEvent = at<cudaEvent_t>(80);

TEST(ApiCalls, ReadCopiesOfTheRuntime) {
  const std::string copied = "bytes 30 dst 10 src 20 object 0 stream ";
  for (const auto& [kind, side] :
       {std::pair{cudaMemcpyHostToDevice, "source"}, std::pair{cudaMemcpyDeviceToHost, "destination"},
        std::pair{cudaMemcpyDeviceToDevice, "unknown"}, std::pair{cudaMemcpyHostToHost, "unknown"},
        std::pair{cudaMemcpyDefault, "unknown"}}) {
    void* const dst = at<void*>(10);
    void* const src = at<void*>(20);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpy_v3020, dst, src, 30, kind), copied + "none host " + side);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpy_ptds_v7000, dst, src, 30, kind), copied + "none host " + side);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpyAsync_v3020, dst, src, 30, kind, kStream), copied + "70 host " + side);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpyAsync_ptsz_v7000, dst, src, 30, kind, kStream), copied + "70 host " + side);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpyToSymbol_v3020, at<void*>(5), src, 30, 6, kind),
              std::string("bytes 30 dst 0 src 20 object 0 stream none host ") + side);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpyToSymbolAsync_v3020, at<void*>(5), src, 30, 6, kind, kStream),
              std::string("bytes 30 dst 0 src 20 object 0 stream 70 host ") + side);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpyFromSymbol_v3020, dst, at<void*>(5), 30, 6, kind),
              std::string("bytes 30 dst 10 src 0 object 0 stream none host ") + side);
    EXPECT_EQ(READ_RUNTIME(cudaMemcpyFromSymbolAsync_v3020, dst, at<void*>(5), 30, 6, kind, kStream),
              std::string("bytes 30 dst 10 src 0 object 0 stream 70 host ") + side);
  }
}

TEST(ApiCalls, ReadTheAreaOfCopiesInRows) {
  const std::string area = "bytes 42 dst 10 src 20 object 0 stream ";
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy2D_v3020, at<void*>(10), 100, at<void*>(20), 200, 6, 7, cudaMemcpyHostToDevice),
            area + "none host unknown");
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy2DAsync_v3020, at<void*>(10), 100, at<void*>(20), 200, 6, 7, cudaMemcpyDeviceToHost,
                         kStream),
            area + "70 host unknown");
}

// The numbers of the devices stand among the addresses.
TEST(ApiCalls, ReadAddressesOfCopiesBetweenDevices) {
  const std::string copied = "bytes 30 dst 10 src 20 object 0 stream ";
  EXPECT_EQ(READ_RUNTIME(cudaMemcpyPeer_v4000, at<void*>(10), 1, at<void*>(20), 2, 30), copied + "none host unknown");
  EXPECT_EQ(READ_RUNTIME(cudaMemcpyPeerAsync_v4000, at<void*>(10), 1, at<void*>(20), 2, 30, kStream),
            copied + "70 host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpyPeer, 10, at<CUcontext>(1), 20, at<CUcontext>(2), 30), copied + "none host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpyPeerAsync, 10, at<CUcontext>(1), 20, at<CUcontext>(2), 30, kStream),
            copied + "70 host unknown");
}

TEST(ApiCalls, ReadCopiesOfTheDriver) {
  const std::string copied = "bytes 30 dst 10 src 20 object 0 stream ";
  EXPECT_EQ(READ_DRIVER(cuMemcpy, 10, 20, 30), copied + "none host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpy_ptds, 10, 20, 30), copied + "none host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpyAsync, 10, 20, 30, kStream), copied + "70 host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpyAsync_ptsz, 10, 20, 30, kStream), copied + "70 host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpyHtoD_v2, 10, at<void*>(20), 30), copied + "none host source");
  EXPECT_EQ(READ_DRIVER(cuMemcpyHtoD_v2_ptds, 10, at<void*>(20), 30), copied + "none host source");
  EXPECT_EQ(READ_DRIVER(cuMemcpyHtoDAsync_v2, 10, at<void*>(20), 30, kStream), copied + "70 host source");
  EXPECT_EQ(READ_DRIVER(cuMemcpyHtoDAsync_v2_ptsz, 10, at<void*>(20), 30, kStream), copied + "70 host source");
  EXPECT_EQ(READ_DRIVER(cuMemcpyDtoH_v2, at<void*>(10), 20, 30), copied + "none host destination");
  EXPECT_EQ(READ_DRIVER(cuMemcpyDtoH_v2_ptds, at<void*>(10), 20, 30), copied + "none host destination");
  EXPECT_EQ(READ_DRIVER(cuMemcpyDtoHAsync_v2, at<void*>(10), 20, 30, kStream), copied + "70 host destination");
  EXPECT_EQ(READ_DRIVER(cuMemcpyDtoHAsync_v2_ptsz, at<void*>(10), 20, 30, kStream), copied + "70 host destination");
  EXPECT_EQ(READ_DRIVER(cuMemcpyDtoD_v2, 10, 20, 30), copied + "none host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpyDtoDAsync_v2, 10, 20, 30, kStream), copied + "70 host unknown");
}

TEST(ApiCalls, ReadMemsetsInBytes) {
  const auto set = [](int bytes, const char* stream) {
    return "bytes " + std::to_string(bytes) + " dst 10 src 0 object 0 stream " + stream + " host unknown";
  };
  EXPECT_EQ(READ_RUNTIME(cudaMemset_v3020, at<void*>(10), 3, 30), set(30, "none"));
  EXPECT_EQ(READ_RUNTIME(cudaMemsetAsync_v3020, at<void*>(10), 3, 30, kStream), set(30, "70"));
  EXPECT_EQ(READ_RUNTIME(cudaMemsetAsync_ptsz_v7000, at<void*>(10), 3, 30, kStream), set(30, "70"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD8_v2, 10, 3, 30), set(30, "none"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD16_v2, 10, 3, 30), set(60, "none"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD32_v2, 10, 3, 30), set(120, "none"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD8Async, 10, 3, 30, kStream), set(30, "70"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD16Async, 10, 3, 30, kStream), set(60, "70"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD32Async, 10, 3, 30, kStream), set(120, "70"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD8Async_ptsz, 10, 3, 30, kStream), set(30, "70"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD16Async_ptsz, 10, 3, 30, kStream), set(60, "70"));
  EXPECT_EQ(READ_DRIVER(cuMemsetD32Async_ptsz, 10, 3, 30, kStream), set(120, "70"));
}

TEST(ApiCalls, ReadPrefetches) {
  const std::string fetched = "bytes 30 dst 10 src 0 object 0 stream 70 host unknown";
  EXPECT_EQ(READ_RUNTIME(cudaMemPrefetchAsync_v12020, at<void*>(10), 30, {}, 4, kStream), fetched);
  EXPECT_EQ(READ_RUNTIME(cudaMemPrefetchAsync_ptsz_v12020, at<void*>(10), 30, {}, 4, kStream), fetched);
  EXPECT_EQ(READ_DRIVER(cuMemPrefetchAsync, 10, 30, 4, kStream), fetched);
  EXPECT_EQ(READ_DRIVER(cuMemPrefetchAsync_ptsz, 10, 30, 4, kStream), fetched);
  EXPECT_EQ(READ_DRIVER(cuMemPrefetchAsync_v2, 10, 30, {}, 4, kStream), fetched);
  EXPECT_EQ(READ_DRIVER(cuMemPrefetchAsync_v2_ptsz, 10, 30, {}, 4, kStream), fetched);
  // Those of CUDA 12 have another place for their stream.
  const cudaMemPrefetchAsync_v12020_params old = {at<void*>(10), 30, {}, 4, kStream};
  for (const auto id : {CUPTI_RUNTIME_TRACE_CBID_cudaMemPrefetchAsync_v8000,
                        CUPTI_RUNTIME_TRACE_CBID_cudaMemPrefetchAsync_ptsz_v8000}) {
    EXPECT_EQ(read(kRuntime, id, old), "bytes 30 dst 10 src 0 object 0 stream none host unknown");
  }
}

TEST(ApiCalls, ReadStreamsAndEvents) {
  const std::string stream = "bytes none dst 0 src 0 object 0 stream 70 host unknown";
  const std::string event = "bytes none dst 0 src 0 object 80 stream none host unknown";
  const std::string both = "bytes none dst 0 src 0 object 80 stream 70 host unknown";
  EXPECT_EQ(READ_RUNTIME(cudaStreamSynchronize_v3020, kStream), stream);
  EXPECT_EQ(READ_RUNTIME(cudaStreamSynchronize_ptsz_v7000, kStream), stream);
  EXPECT_EQ(READ_RUNTIME(cudaGraphLaunch_v10000, at<cudaGraphExec_t>(5), kStream), stream);
  EXPECT_EQ(READ_RUNTIME(cudaGraphLaunch_ptsz_v10000, at<cudaGraphExec_t>(5), kStream), stream);
  EXPECT_EQ(READ_RUNTIME(cudaEventSynchronize_v3020, kEvent), event);
  EXPECT_EQ(READ_RUNTIME(cudaEventRecord_v3020, kEvent, kStream), both);
  EXPECT_EQ(READ_RUNTIME(cudaEventRecord_ptsz_v7000, kEvent, kStream), both);
  EXPECT_EQ(READ_RUNTIME(cudaEventRecordWithFlags_v11010, kEvent, kStream, 1), both);
  EXPECT_EQ(READ_RUNTIME(cudaStreamWaitEvent_v3020, kStream, kEvent, 1), both);
  EXPECT_EQ(READ_RUNTIME(cudaStreamWaitEvent_ptsz_v7000, kStream, kEvent, 1), both);
  EXPECT_EQ(READ_DRIVER(cuStreamSynchronize, kStream), stream);
  EXPECT_EQ(READ_DRIVER(cuStreamSynchronize_ptsz, kStream), stream);
  EXPECT_EQ(READ_DRIVER(cuGraphLaunch, at<CUgraphExec>(5), kStream), stream);
  EXPECT_EQ(READ_DRIVER(cuGraphLaunch_ptsz, at<CUgraphExec>(5), kStream), stream);
  EXPECT_EQ(READ_DRIVER(cuEventSynchronize, kEvent), event);
  EXPECT_EQ(READ_DRIVER(cuEventRecord, kEvent, kStream), both);
  EXPECT_EQ(READ_DRIVER(cuEventRecord_ptsz, kEvent, kStream), both);
  EXPECT_EQ(READ_DRIVER(cuEventRecordWithFlags, kEvent, kStream, 1), both);
  EXPECT_EQ(READ_DRIVER(cuStreamWaitEvent, kStream, kEvent, 1), both);
  EXPECT_EQ(READ_DRIVER(cuStreamWaitEvent_ptsz, kStream, kEvent, 1), both);
}

TEST(ApiCalls, ReadWhereMemoryWasTaken) {
  const std::string taken = "bytes 30 dst 10 src 0 object 0 stream none host unknown";
  void* pointer = at<void*>(10);
  CUdeviceptr address = 10;
  EXPECT_EQ(READ_RUNTIME(cudaMalloc_v3020, &pointer, 30), taken);
  EXPECT_EQ(READ_RUNTIME(cudaMallocAsync_v11020, &pointer, 30, kStream), taken);
  EXPECT_EQ(READ_RUNTIME(cudaMallocAsync_ptsz_v11020, &pointer, 30, kStream), taken);
  EXPECT_EQ(READ_RUNTIME(cudaMallocFromPoolAsync_v11020, &pointer, 30, at<cudaMemPool_t>(5), kStream), taken);
  EXPECT_EQ(READ_RUNTIME(cudaMallocFromPoolAsync_ptsz_v11020, &pointer, 30, at<cudaMemPool_t>(5), kStream), taken);
  EXPECT_EQ(READ_RUNTIME(cudaMallocHost_v3020, &pointer, 30), taken);
  EXPECT_EQ(READ_RUNTIME(cudaHostAlloc_v3020, &pointer, 30, 4), taken);
  EXPECT_EQ(READ_RUNTIME(cudaMallocManaged_v6000, &pointer, 30, 4), taken);
  EXPECT_EQ(READ_RUNTIME(cudaHostRegister_v4000, pointer, 30, 4), taken);
  EXPECT_EQ(READ_DRIVER(cuMemAlloc_v2, &address, 30), taken);
  EXPECT_EQ(READ_DRIVER(cuMemAllocAsync, &address, 30, kStream), taken);
  EXPECT_EQ(READ_DRIVER(cuMemAllocAsync_ptsz, &address, 30, kStream), taken);
  EXPECT_EQ(READ_DRIVER(cuMemAllocFromPoolAsync, &address, 30, at<CUmemoryPool>(5), kStream), taken);
  EXPECT_EQ(READ_DRIVER(cuMemAllocFromPoolAsync_ptsz, &address, 30, at<CUmemoryPool>(5), kStream), taken);
  EXPECT_EQ(READ_DRIVER(cuMemAllocManaged, &address, 30, 4), taken);
  EXPECT_EQ(READ_DRIVER(cuMemAllocHost_v2, &pointer, 30), taken);
  EXPECT_EQ(READ_DRIVER(cuMemHostAlloc, &pointer, 30, 4), taken);
  EXPECT_EQ(READ_DRIVER(cuMemHostRegister_v2, pointer, 30, 4), taken);
  const std::string nowhere = "bytes 30 dst 0 src 0 object 0 stream none host unknown";
  EXPECT_EQ(READ_RUNTIME(cudaMalloc_v3020, nullptr, 30), nowhere);
  EXPECT_EQ(READ_DRIVER(cuMemAlloc_v2, nullptr, 30), nowhere);
}

TEST(ApiCalls, ReadRowsThatWereTakenWithTheirGaps) {
  void* pointer = at<void*>(10);
  std::size_t pitch = 512;
  EXPECT_EQ(READ_RUNTIME(cudaMallocPitch_v3020, &pointer, &pitch, 30, 4),
            "bytes 2048 dst 10 src 0 object 0 stream none host unknown");
  const std::string nothing = "bytes none dst 0 src 0 object 0 stream none host unknown";
  EXPECT_EQ(READ_RUNTIME(cudaMallocPitch_v3020, nullptr, &pitch, 30, 4), nothing);
  EXPECT_EQ(READ_RUNTIME(cudaMallocPitch_v3020, &pointer, nullptr, 30, 4), nothing);
}

TEST(ApiCalls, ReadPhysicalMemoryOfDevicesAlone) {
  CUmemGenericAllocationHandle handle = 10;
  CUmemAllocationProp properties{};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_EQ(READ_DRIVER(cuMemCreate, &handle, 30, &properties, 0),
            "bytes 30 dst 10 src 0 object 0 stream none host unknown");
  const std::string nothing = "bytes none dst 0 src 0 object 0 stream none host unknown";
  EXPECT_EQ(READ_DRIVER(cuMemCreate, nullptr, 30, &properties, 0), nothing);
  EXPECT_EQ(READ_DRIVER(cuMemCreate, &handle, 30, nullptr, 0), nothing);
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(READ_DRIVER(cuMemCreate, &handle, 30, &properties, 0), nothing);
}

TEST(ApiCalls, ReadWhereMemoryWasGivenBack) {
  const std::string given = "bytes none dst 10 src 0 object 0 stream none host unknown";
  void* const pointer = at<void*>(10);
  EXPECT_EQ(READ_RUNTIME(cudaFree_v3020, pointer), given);
  EXPECT_EQ(READ_RUNTIME(cudaFreeAsync_v11020, pointer, kStream), given);
  EXPECT_EQ(READ_RUNTIME(cudaFreeAsync_ptsz_v11020, pointer, kStream), given);
  EXPECT_EQ(READ_RUNTIME(cudaFreeHost_v3020, pointer), given);
  EXPECT_EQ(READ_RUNTIME(cudaHostUnregister_v4000, pointer), given);
  EXPECT_EQ(READ_DRIVER(cuMemFree_v2, 10), given);
  EXPECT_EQ(READ_DRIVER(cuMemFreeAsync, 10, kStream), given);
  EXPECT_EQ(READ_DRIVER(cuMemFreeAsync_ptsz, 10, kStream), given);
  EXPECT_EQ(READ_DRIVER(cuMemFreeHost, pointer), given);
  EXPECT_EQ(READ_DRIVER(cuMemHostUnregister, pointer), given);
  EXPECT_EQ(READ_DRIVER(cuMemRelease, 10), given);
}

TEST(ApiCalls, LeaveAloneWhatTheyDoNotKnow) {
  const std::string nothing = "bytes none dst 0 src 0 object 0 stream none host unknown";
  CallArguments arguments;
  read_arguments(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, nullptr, arguments);
  EXPECT_EQ(text_of(arguments), nothing);
  const cudaMemcpy_v3020_params parameters = {at<void*>(10), at<void*>(20), 30, cudaMemcpyHostToDevice};
  EXPECT_EQ(read(kRuntime, 0, parameters), nothing);
  EXPECT_EQ(read(kDriver, 0, parameters), nothing);
  EXPECT_EQ(read(CallbackDomain::kResource, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, parameters), nothing);
}

TEST(ApiCalls, HaveTheClassOfTheirName) {
  const std::pair<const char*, CallKind> of_runtime[] = {
      {"cudaMemcpy2DAsync_v3020", CallKind::kCopy},
      {"cudaMemset2D", CallKind::kMemset},
      {"cudaStreamSynchronize_ptsz_v7000", CallKind::kSynchronize},
      {"cudaDeviceSynchronize", CallKind::kSynchronize},
      {"cudaThreadSynchronize", CallKind::kSynchronize},
      {"cudaEventSynchronize", CallKind::kSynchronize},
      {"cudaGraphLaunch", CallKind::kGraphLaunch},
      {"cudaEventRecordWithFlags", CallKind::kEventRecord},
      {"cudaStreamWaitEvent", CallKind::kStreamWait},
      {"cudaMallocHost", CallKind::kHostAlloc},
      {"cudaMallocManaged", CallKind::kManagedAlloc},
      {"cudaMalloc3D", CallKind::kDeviceAlloc},
      {"cudaHostAlloc", CallKind::kHostAlloc},
      {"cudaFreeHost", CallKind::kHostFree},
      {"cudaFreeAsync", CallKind::kDeviceFree},
      {"cudaHostRegister", CallKind::kHostRegister},
      {"cudaHostUnregister", CallKind::kHostUnregister},
      {"cudaMemPrefetchAsync", CallKind::kPrefetch},
      {"cudaLaunchKernel", CallKind::kOther},
      {"cudaEventQuery", CallKind::kOther},
      {"cuMemcpy", CallKind::kOther},
      {"", CallKind::kOther},
  };
  for (const auto& [name, kind] : of_runtime) EXPECT_EQ(recorded_kind(kRuntime, name), kind) << name;
  const std::pair<const char*, CallKind> of_driver[] = {
      {"cuMemcpy3DPeer", CallKind::kCopy},
      {"cuMemsetD2D8", CallKind::kMemset},
      {"cuStreamSynchronize", CallKind::kSynchronize},
      {"cuCtxSynchronize", CallKind::kSynchronize},
      {"cuEventSynchronize", CallKind::kSynchronize},
      {"cuGraphLaunch", CallKind::kGraphLaunch},
      {"cuLaunchHostFunc", CallKind::kOther},
      {"cuLaunchKernelEx", CallKind::kLaunch},
      {"cuEventRecord", CallKind::kEventRecord},
      {"cuStreamWaitEvent", CallKind::kStreamWait},
      {"cuMemAllocHost_v2", CallKind::kHostAlloc},
      {"cuMemHostAlloc", CallKind::kHostAlloc},
      {"cuMemAllocManaged", CallKind::kManagedAlloc},
      {"cuMemAllocPitch", CallKind::kDeviceAlloc},
      {"cuMemCreate", CallKind::kDeviceAlloc},
      {"cuMemFreeHost", CallKind::kHostFree},
      {"cuMemFree_v2", CallKind::kDeviceFree},
      {"cuMemRelease", CallKind::kDeviceFree},
      {"cuMemHostRegister", CallKind::kHostRegister},
      {"cuMemHostUnregister", CallKind::kHostUnregister},
      {"cuMemPrefetchAsync", CallKind::kPrefetch},
      {"cudaMemcpy", CallKind::kOther},
      {"cuInit", CallKind::kOther},
  };
  for (const auto& [name, kind] : of_driver) EXPECT_EQ(recorded_kind(kDriver, name), kind) << name;
  EXPECT_EQ(recorded_kind(CallbackDomain::kResource, "cuMemcpy"), CallKind::kOther);
}

TEST(ApiCalls, OfTheProfilerAreKnownByTheirName) {
  EXPECT_EQ(profiler_switch_of("cudaProfilerStart"), ProfilerSwitch::kStart);
  EXPECT_EQ(profiler_switch_of("cudaProfilerStop_v4000"), ProfilerSwitch::kStop);
  EXPECT_EQ(profiler_switch_of("cuProfilerStart"), ProfilerSwitch::kStart);
  EXPECT_EQ(profiler_switch_of("cuProfilerStop"), ProfilerSwitch::kStop);
  for (const char* name : {"cudaProfilerInitialize", "cudaMemcpy", ""}) {
    EXPECT_EQ(profiler_switch_of(name), ProfilerSwitch::kNone) << name;
  }
  EXPECT_EQ(recorded_kind(kRuntime, "cudaProfilerStart"), CallKind::kOther);
}

}  // namespace
}  // namespace turnpike::cuda
