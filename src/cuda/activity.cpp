// Checks, at compile time, that activity.h describes NVIDIA's records.
#include "cuda/activity.h"

#include <cupti.h>

#include <cstddef>
#include <cstring>

namespace turnpike::cuda {
namespace {

#define SAME_PLACE(vendor_type, vendor_field, our_type, our_field)                      \
  static_assert(offsetof(vendor_type, vendor_field) == offsetof(our_type, our_field) && \
                sizeof(vendor_type::vendor_field) == sizeof(our_type::our_field))

SAME_PLACE(CUpti_ActivityMemcpy6, dstKind, MemcpyActivity, dst_kind);
SAME_PLACE(CUpti_ActivityMemcpy6, bytes, MemcpyActivity, bytes);
SAME_PLACE(CUpti_ActivityMemcpy6, start, MemcpyActivity, start_ns);
SAME_PLACE(CUpti_ActivityMemcpy6, streamId, MemcpyActivity, stream);
SAME_PLACE(CUpti_ActivityMemcpy6, correlationId, MemcpyActivity, correlation);
SAME_PLACE(CUpti_ActivityMemcpy6, graphNodeId, MemcpyActivity, graph_node);
SAME_PLACE(CUpti_ActivityMemcpy6, graphId, MemcpyActivity, graph);
SAME_PLACE(CUpti_ActivityMemcpy5, graphId, MemcpyActivity, graph);
static_assert(CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC == 1);

SAME_PLACE(CUpti_ActivityMemcpyPtoP4, bytes, PeerMemcpyActivity, bytes);
SAME_PLACE(CUpti_ActivityMemcpyPtoP4, srcDeviceId, PeerMemcpyActivity, src_device);
SAME_PLACE(CUpti_ActivityMemcpyPtoP4, dstDeviceId, PeerMemcpyActivity, dst_device);
SAME_PLACE(CUpti_ActivityMemcpyPtoP4, correlationId, PeerMemcpyActivity, correlation);
SAME_PLACE(CUpti_ActivityMemcpyPtoP4, graphNodeId, PeerMemcpyActivity, graph_node);
SAME_PLACE(CUpti_ActivityMemcpyPtoP4, graphId, PeerMemcpyActivity, graph);

SAME_PLACE(CUpti_ActivityMemset4, bytes, MemsetActivity, bytes);
SAME_PLACE(CUpti_ActivityMemset4, correlationId, MemsetActivity, correlation);
SAME_PLACE(CUpti_ActivityMemset4, memoryKind, MemsetActivity, memory_kind);
SAME_PLACE(CUpti_ActivityMemset4, graphNodeId, MemsetActivity, graph_node);

SAME_PLACE(CUpti_ActivityKernel10, start, KernelActivity, start_ns);
SAME_PLACE(CUpti_ActivityKernel10, deviceId, KernelActivity, device);
SAME_PLACE(CUpti_ActivityKernel10, correlationId, KernelActivity, correlation);
SAME_PLACE(CUpti_ActivityKernel10, name, KernelActivity, name);
SAME_PLACE(CUpti_ActivityKernel10, graphNodeId, KernelActivity, graph_node);
SAME_PLACE(CUpti_ActivityKernel10, graphId, KernelActivity, graph);
SAME_PLACE(CUpti_ActivityKernel9, graphId, KernelActivity, graph);

SAME_PLACE(CUpti_ActivityUnifiedMemoryCounter3, value, ManagedMemoryActivity, value);
SAME_PLACE(CUpti_ActivityUnifiedMemoryCounter3, start, ManagedMemoryActivity, start_ns);
SAME_PLACE(CUpti_ActivityUnifiedMemoryCounter3, address, ManagedMemoryActivity, address);
SAME_PLACE(CUpti_ActivityUnifiedMemoryCounter3, srcId, ManagedMemoryActivity, src_device);
SAME_PLACE(CUpti_ActivityUnifiedMemoryCounter3, dstId, ManagedMemoryActivity, dst_device);

#undef SAME_PLACE

// CUPTI numbered its versions 1, 2, ... up to 12.x (28 is 12.9) and xxyyzz from 13.0 on.
constexpr std::uint32_t kFirstVersionWithCopyCount = 26;  // CUDA 12.8

}  // namespace

std::uint32_t copy_count(const MemcpyActivity& record, std::uint32_t cupti_version) noexcept {
  if (cupti_version < kFirstVersionWithCopyCount) return 1;
  std::uint64_t count = 0;
  static_assert(sizeof(CUpti_ActivityMemcpy6::copyCount) == sizeof(count));
  std::memcpy(&count, reinterpret_cast<const char*>(&record) + offsetof(CUpti_ActivityMemcpy6, copyCount),
              sizeof(count));
  return count == 0 ? 1 : static_cast<std::uint32_t>(count);
}

}  // namespace turnpike::cuda
