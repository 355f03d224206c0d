// The classes of calls, and the arguments of every call whose parameters are known.
#include "cuda/api_calls.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "callback_names.h"
#include "cuda/call_arguments.h"

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
  read_arguments(domain, id, &parameters, true, arguments);
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
  // Those of CUDA 12, as the driver's of that time.
  const cuMemPrefetchAsync_params old = {10, 30, 4, kStream};
  for (const auto id : {CUPTI_RUNTIME_TRACE_CBID_cudaMemPrefetchAsync_v8000,
                        CUPTI_RUNTIME_TRACE_CBID_cudaMemPrefetchAsync_ptsz_v8000}) {
    EXPECT_EQ(read(kRuntime, id, old), fetched);
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

// The first byte of a copy of planes lies behind the start of its memory.
TEST(ApiCalls, ReadCopiesOfPlanes) {
  cudaMemcpy3DParms planes{};
  planes.srcPtr = {at<void*>(1000), 100, 6, 10};
  planes.srcPos = {3, 2, 1};
  planes.dstPtr = {at<void*>(5000), 50, 6, 20};
  planes.extent = {4, 5, 6};
  planes.kind = cudaMemcpyHostToDevice;
  const std::string copied = "bytes 120 dst 5000 src 2203 object 0 stream ";
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3D_v3020, &planes), copied + "none host unknown");
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3D_ptds_v7000, &planes), copied + "none host unknown");
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3DAsync_v3020, &planes, kStream), copied + "70 host unknown");
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3DAsync_ptsz_v7000, &planes, kStream), copied + "70 host unknown");
  planes.srcArray = at<cudaArray_t>(9);
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3D_v3020, &planes), "bytes none dst 5000 src 0 object 0 stream none host unknown")
      << "widths of arrays are in elements";
  cudaMemcpy3DPeerParms between{};
  between.srcPtr = {at<void*>(1000), 100, 6, 10};
  between.dstPtr = {at<void*>(5000), 50, 6, 20};
  between.extent = {4, 5, 6};
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3DPeerAsync_v4000, &between, kStream),
            "bytes 120 dst 5000 src 1000 object 0 stream 70 host unknown");
}

TEST(ApiCalls, ReadCopiesThatTheDriverIsGivenADescriptionOf) {
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = at<void*>(1000);
  rows.srcPitch = 100;
  rows.srcY = 2;
  rows.srcXInBytes = 3;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = 5000;
  rows.WidthInBytes = 4;
  rows.Height = 5;
  EXPECT_EQ(READ_DRIVER(cuMemcpy2D_v2, &rows), "bytes 20 dst 5000 src 1203 object 0 stream none host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpy2DAsync_v2_ptsz, &rows, kStream),
            "bytes 20 dst 5000 src 1203 object 0 stream 70 host unknown");
  CUDA_MEMCPY3D planes{};
  planes.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  planes.srcDevice = 1000;
  planes.srcPitch = 100;
  planes.srcHeight = 10;
  planes.srcZ = 1;
  planes.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  planes.dstArray = at<CUarray>(9);
  planes.WidthInBytes = 4;
  planes.Height = 5;
  planes.Depth = 6;
  EXPECT_EQ(READ_DRIVER(cuMemcpy3DAsync_v2, &planes, kStream),
            "bytes 120 dst 0 src 2000 object 0 stream 70 host unknown");
  CUDA_MEMCPY3D_PEER between{};
  between.srcMemoryType = between.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  between.srcDevice = 10;
  between.dstDevice = 20;
  between.WidthInBytes = between.Height = between.Depth = 3;
  EXPECT_EQ(READ_DRIVER(cuMemcpy3DPeerAsync_ptsz, &between, kStream),
            "bytes 27 dst 20 src 10 object 0 stream 70 host unknown");
}

TEST(ApiCalls, ReadTheBytesOfManyCopiesTogether) {
  const std::string many = "bytes 60 dst 0 src 0 object 0 stream 70 host unknown";
  std::size_t sizes[] = {10, 20, 30};
  EXPECT_EQ(READ_RUNTIME(cudaMemcpyBatchAsync_v13000, nullptr, nullptr, sizes, 3, nullptr, nullptr, 0, kStream), many);
  EXPECT_EQ(READ_DRIVER(cuMemcpyBatchAsync_v2_ptsz, nullptr, nullptr, sizes, 3, nullptr, nullptr, 0, kStream), many);
  const cuMemcpyBatchAsync_params of_12 = {nullptr, nullptr, sizes, 3, nullptr, nullptr, 0, nullptr, kStream};
  EXPECT_EQ(read(kDriver, CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync, of_12), many);
  EXPECT_EQ(read(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyBatchAsync_v12080, of_12), many);
  EXPECT_EQ(
      READ_RUNTIME(cudaMemDiscardAndPrefetchBatchAsync_v13000, nullptr, sizes, 3, nullptr, nullptr, 0, 0, kStream),
      many);
  EXPECT_EQ(READ_DRIVER(cuMemPrefetchBatchAsync, nullptr, sizes, 3, nullptr, nullptr, 0, 0, kStream), many);
  cudaMemcpy3DBatchOp planes[2]{};
  for (auto& one : planes) one.src.type = one.dst.type = cudaMemcpyOperandTypePointer;
  planes[0].extent = {1, 2, 3};
  planes[1].extent = {3, 3, 6};
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3DBatchAsync_v13000, 2, planes, 0, kStream), many);
  planes[1].dst.type = cudaMemcpyOperandTypeArray;
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy3DBatchAsync_v13000, 2, planes, 0, kStream),
            "bytes none dst 0 src 0 object 0 stream 70 host unknown");
}

TEST(ApiCalls, ReadCopiesOfArraysWithoutTheirHandles) {
  EXPECT_EQ(READ_RUNTIME(cudaMemcpy2DToArrayAsync_v3020, at<cudaArray_t>(9), 1, 2, at<void*>(20), 200, 6, 7,
                         cudaMemcpyHostToDevice, kStream),
            "bytes 42 dst 0 src 20 object 0 stream 70 host unknown");
  EXPECT_EQ(READ_DRIVER(cuMemcpyHtoAAsync_v2, at<CUarray>(9), 4, at<void*>(20), 30, kStream),
            "bytes 30 dst 0 src 20 object 0 stream 70 host source");
}

// A call that failed may have been given anything.
TEST(ApiCalls, FollowNoAddressOfACallThatFailed) {
  const auto read_failed = [](CallbackDomain domain, std::uint32_t id, const auto& parameters) {
    CallArguments arguments;
    read_arguments(domain, id, &parameters, false, arguments);
    return text_of(arguments);
  };
  const std::string unknown = "bytes none dst 0 src 0 object 0 stream 70 host unknown";
  const cudaMemcpy3DAsync_v3020_params planes = {at<cudaMemcpy3DParms*>(1), kStream};
  EXPECT_EQ(read_failed(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DAsync_v3020, planes), unknown);
  const cuMemcpy2DAsync_v2_params rows = {at<CUDA_MEMCPY2D*>(1), kStream};
  EXPECT_EQ(read_failed(kDriver, CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2, rows), unknown);
  cudaMemcpyBatchAsync_v13000_params many{};
  many.sizes = at<std::size_t*>(1);
  many.count = 3;
  many.stream = kStream;
  EXPECT_EQ(read_failed(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyBatchAsync_v13000, many), unknown);
}

// CUDA's own headers have no struct for these.
bool has_no_parameters(std::string_view name) {
  // Of 32-bit addresses or with structs that no header describes: no program of 64 bits calls them.
  constexpr std::string_view kObsolete[] = {"cuMemcpy_v2",     "cuMemcpy2D", "cuMemcpy2DUnaligned",
                                            "cuMemcpy2DAsync", "cuMemcpy3D", "cuMemcpy3DAsync"};
  return name.starts_with("cu64") || std::find(std::begin(kObsolete), std::end(kObsolete), name) != std::end(kObsolete);
}

TEST(ApiCalls, AreReadForEveryCopyThatTheHeadersName) {
  int copies = 0;
  for (const auto& [domain, cupti_domain] :
       {std::pair{kRuntime, CUPTI_CB_DOMAIN_RUNTIME_API}, std::pair{kDriver, CUPTI_CB_DOMAIN_DRIVER_API}}) {
    for (std::uint32_t id = 0; id < 4096; ++id) {
      const char* const name = fake::callback_name(cupti_domain, id);
      if (name == nullptr) continue;
      const CallKind kind = recorded_kind(domain, name);
      const bool has_bytes = kind == CallKind::kCopy || kind == CallKind::kMemset || kind == CallKind::kPrefetch;
      if (!has_bytes || has_no_parameters(name)) continue;
      ++copies;
      EXPECT_TRUE(knows_arguments(domain, id)) << name << ": its row is missing in call_arguments.cpp";
    }
  }
  EXPECT_GT(copies, 150);
}

TEST(ApiCalls, LeaveAloneWhatTheyDoNotKnow) {
  const std::string nothing = "bytes none dst 0 src 0 object 0 stream none host unknown";
  CallArguments arguments;
  read_arguments(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, nullptr, true, arguments);
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
      {"cudaMemDiscardAndPrefetchBatchAsync_v13000", CallKind::kPrefetch},
      {"cudaLaunchKernel", CallKind::kOther},
      {"cudaEventQuery", CallKind::kOther},
      {"cuMemcpy", CallKind::kOther},
      {"", CallKind::kOther},
  };
  for (const auto& [name, kind] : of_runtime) EXPECT_EQ(recorded_kind(kRuntime, name), kind) << name;
  const std::pair<const char*, CallKind> of_driver[] = {
      {"cuMemcpy3DPeer", CallKind::kCopy},
      {"cuMemsetD2D8", CallKind::kMemset},
      {"cuMemDiscardAndPrefetchBatchAsync_ptsz", CallKind::kPrefetch},
      {"cuMemBatchDecompressAsync", CallKind::kLaunch},
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
