// The activity records of CUPTI, read by prefix: only fields whose place has not moved since CUDA 11.8. Newer CUPTIs
// append fields, so records are stepped through by cuptiActivityGetNextRecord and never by sizeof. Checked in
// activity.cpp.
#pragma once

#include <cstdint>

namespace turnpike::cuda {

// CUpti_ActivityMemcpy5 and later.
struct MemcpyActivity {
  std::uint32_t kind;
  std::uint8_t copy_kind;
  std::uint8_t src_kind;
  std::uint8_t dst_kind;
  std::uint8_t flags;  // bit 0: asynchronous
  std::uint64_t bytes;
  std::uint64_t start_ns;  // 0 with end_ns 0: unavailable
  std::uint64_t end_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
  std::uint32_t runtime_correlation;
  std::uint32_t padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t channel;
};

// CUpti_ActivityMemcpyPtoP3 and later.
struct PeerMemcpyActivity {
  std::uint32_t kind;
  std::uint8_t copy_kind;
  std::uint8_t src_kind;
  std::uint8_t dst_kind;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t src_device;
  std::uint32_t src_context;
  std::uint32_t dst_device;
  std::uint32_t dst_context;
  std::uint32_t correlation;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

// CUpti_ActivityMemset3 and later.
struct MemsetActivity {
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
  std::uint16_t flags;
  std::uint16_t memory_kind;
  std::uint32_t padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

// CUpti_ActivityKernel5 and later.
struct KernelActivity {
  std::uint32_t kind;
  std::uint8_t cache_config;
  std::uint8_t shared_memory_config;
  std::uint16_t registers_per_thread;
  std::uint32_t partitioned_cache[2];
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t completed_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::int32_t grid[3];
  std::int32_t block[3];
  std::int32_t static_shared_bytes;
  std::int32_t dynamic_shared_bytes;
  std::uint32_t local_bytes_per_thread;
  std::uint32_t local_bytes_total;
  std::uint32_t correlation;
  std::int64_t grid_id;
  const char* name;  // mangled; stays valid for the life of the process
  void* reserved;
  std::uint64_t queued_ns;
  std::uint64_t submitted_ns;
  std::uint8_t launch[8];
  std::uint64_t graph_node;
  std::uint32_t shared_memory_carveout;
  std::uint32_t graph;
};

// CUpti_ActivityUnifiedMemoryCounter2 and later.
struct ManagedMemoryActivity {
  std::uint32_t kind;
  std::uint32_t counter;  // 1: host to device, 2: device to host, 8: device to device
  std::uint64_t value;    // bytes, for those
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t address;
  std::uint32_t src_device;
  std::uint32_t dst_device;
};

// How many copies a batched memcpy record stands for: in a field that CUDA 12.8 added at the record's end.
std::uint32_t copy_count(const MemcpyActivity& record, std::uint32_t cupti_version) noexcept;

}  // namespace turnpike::cuda
