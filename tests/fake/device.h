// The simulated GPUs: memory that is really copied, streams with a clock, graphs that are captured and replayed.
#pragma once

#include <cuda.h>
#include <cupti_activity.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "boundary.h"
#include "device_clock.h"

// The handles of the driver API point at these.
struct CUctx_st {
  std::uint32_t id;
  std::uint32_t device;
};

struct CUgraphNode_st {
  std::uint64_t id;
  turnpike::fake::DeviceWork work;
  void* dst;
  const void* src;
};

struct CUgraph_st {
  std::uint32_t id;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

struct CUgraphExec_st {
  CUgraph_st graph;
};

struct CUstream_st {
  std::uint32_t id;
  std::uint32_t device;
  std::mutex mutex;
  std::uint64_t tail_ns = 0;              // when the last work in it ends
  std::unique_ptr<CUgraph_st> capturing;  // set while the stream is being captured
};

struct CUevent_st {
  std::uint64_t time_ns = 0;
};

namespace turnpike::fake {

inline constexpr std::uint32_t kDeviceCount = 2;
// The id that CUPTI gives to the default stream of a process's first context.
inline constexpr std::uint32_t kDefaultStreamId = 7;

const Observer* observer();
// Whether CUDA can be used: initialised, and not in a child that was forked from an initialised process.
bool is_usable();

CUcontext context_of(std::uint32_t device);
CUstream resolve(CUstream stream);  // the current device's default stream for a null handle

inline std::uint64_t now_ns() {
  return clock_realtime_ns();
}
void wait_until(std::uint64_t time_ns);
void wait_for_stream(CUstream stream);
std::uint64_t tail_of_device(std::uint32_t device);  // when the last work of all its streams ends
void wait_for_device(std::uint32_t device);

// CUpti_ActivityMemoryKind of the address: pageable unless it was allocated or registered here.
std::uint8_t memory_kind(const void* address);
// The same, and the allocation that it lies in.
struct MemoryAt {
  std::uint8_t kind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
};
MemoryAt memory_at(const void* address);
void* allocate(std::size_t bytes, std::uint8_t kind);
bool release(void* address);
void register_host(void* address, std::size_t bytes);
bool unregister_host(void* address);

// Puts work into a stream (or, while it is captured, into the graph) and tells the observer; fills in device, context,
// stream, correlation and times. `dst` and `src` are null where there is nothing to copy. Returns when the work ends.
std::uint64_t submit(CUstream stream, DeviceWork work, void* dst, const void* src);
// A copy from what the addresses say. `is_async`: as the API function is named.
CUresult copy(CUstream stream, void* dst, const void* src, std::size_t bytes, bool is_async);

void add_stream(CUstream stream);
void remove_stream(CUstream stream);
void tell_graph_node(CUpti_CallbackIdResource id, CUgraph graph, CUgraphNode node, CUgraphNode original);
std::uint32_t current_correlation();
std::uint64_t next_id();  // for graphs, nodes and streams

}  // namespace turnpike::fake
