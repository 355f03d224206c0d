// The simulated GPUs: addresses, streams and the clock that their work runs by.
#include "device.h"

#include <cupti_activity.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <shared_mutex>

namespace turnpike::fake {
namespace {

// A GPU's queue is finite: the caller waits when this much work lies before it, as at the real one's 1024 launches.
constexpr std::uint64_t kQueueNs = 5'000'000;
constexpr std::uint64_t kBytesPerNs = 25;

struct Range {
  std::size_t bytes;
  std::uint8_t kind;
};

struct World {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, Range> ranges;
  std::set<CUstream> streams;
  CUctx_st contexts[kDeviceCount] = {{1, 0}, {2, 1}};
  CUstream_st default_streams[kDeviceCount] = {{kDefaultStreamId, 0, {}, 0, {}}, {kDefaultStreamId, 1, {}, 0, {}}};
  std::uint64_t work_ns = 500;  // the least that a piece of work takes: FAKE_CUDA_WORK_NS
};

// Never destroyed: threads of the program may still run while the process ends.
World& world() {
  static World& instance = *[] {
    auto* made = new World;
    if (const char* text = std::getenv("FAKE_CUDA_WORK_NS")) made->work_ns = std::strtoull(text, nullptr, 10);
    return made;
  }();
  return instance;
}

std::atomic<std::uint64_t> ids{100};

std::uint8_t copy_kind(std::uint8_t src, std::uint8_t dst) {
  const auto is_host = [](std::uint8_t kind) {
    return kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE || kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  };
  if (is_host(src)) return is_host(dst) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  return is_host(dst) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

void carry_out(const DeviceWork& work, void* dst, const void* src) {
  if (dst == nullptr) return;
  if (work.kind == WorkKind::kMemset) {
    std::memset(dst, static_cast<int>(work.value), work.bytes);
  } else if (src != nullptr) {
    std::memmove(dst, src, work.bytes);
  }
}

}  // namespace

void wait_until(std::uint64_t time_ns) {
  for (std::uint64_t now = now_ns(); now < time_ns; now = now_ns()) {
    if (time_ns - now > 100'000) {
      const timespec pause{0, static_cast<long>(time_ns - now < 1'000'000 ? 50'000 : 1'000'000)};
      nanosleep(&pause, nullptr);
    } else {
      sched_yield();
    }
  }
}

CUcontext context_of(std::uint32_t device) {
  return &world().contexts[device];
}

CUstream resolve(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    return &world().default_streams[fake_cuda_device()];
  }
  return stream;
}

void wait_for_stream(CUstream stream) {
  std::uint64_t tail = 0;
  {
    const std::lock_guard lock(stream->mutex);
    tail = stream->tail_ns;
  }
  wait_until(tail);
}

std::uint64_t tail_of_device(std::uint32_t device) {
  std::uint64_t tail = 0;
  const auto look_at = [&tail](CUstream stream) {
    const std::lock_guard lock(stream->mutex);
    if (stream->tail_ns > tail) tail = stream->tail_ns;
  };
  look_at(&world().default_streams[device]);
  const std::shared_lock lock(world().mutex);
  for (CUstream stream : world().streams) {
    if (stream->device == device) look_at(stream);
  }
  return tail;
}

void wait_for_device(std::uint32_t device) {
  wait_until(tail_of_device(device));
}

MemoryAt memory_at(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock lock(world().mutex);
  auto next = world().ranges.upper_bound(place);
  if (next == world().ranges.begin()) return {};
  --next;
  if (place - next->first >= next->second.bytes) return {};
  return {next->second.kind, next->first, next->second.bytes};
}

std::uint8_t memory_kind(const void* address) {
  return memory_at(address).kind;
}

void* allocate(std::size_t bytes, std::uint8_t kind) {
  void* address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (address == nullptr) return nullptr;
  std::memset(address, 0, bytes);  // victims print checksums
  const std::lock_guard lock(world().mutex);
  world().ranges[reinterpret_cast<std::uintptr_t>(address)] = {bytes, kind};
  return address;
}

bool release(void* address) {
  if (address == nullptr) return true;
  {
    const std::lock_guard lock(world().mutex);
    if (world().ranges.erase(reinterpret_cast<std::uintptr_t>(address)) == 0) return false;
  }
  std::free(address);
  return true;
}

void register_host(void* address, std::size_t bytes) {
  const std::lock_guard lock(world().mutex);
  world().ranges[reinterpret_cast<std::uintptr_t>(address)] = {bytes, CUPTI_ACTIVITY_MEMORY_KIND_PINNED};
}

bool unregister_host(void* address) {
  const std::lock_guard lock(world().mutex);
  return world().ranges.erase(reinterpret_cast<std::uintptr_t>(address)) != 0;
}

std::uint64_t submit(CUstream stream, DeviceWork work, void* dst, const void* src) {
  std::unique_lock lock(stream->mutex);
  work.device = stream->device;
  work.context = world().contexts[stream->device].id;
  work.stream = stream->id;
  work.correlation = current_correlation();
  if (stream->capturing) {
    CUgraph graph = stream->capturing.get();
    graph->nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{next_id(), work, dst, src}));
    CUgraphNode node = graph->nodes.back().get();
    lock.unlock();
    tell_graph_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, node, nullptr);
    return now_ns();
  }
  const std::uint64_t now = now_ns();
  work.start_ns = stream->tail_ns > now ? stream->tail_ns : now;
  work.end_ns = work.start_ns + world().work_ns + work.bytes / kBytesPerNs;
  stream->tail_ns = work.end_ns;
  carry_out(work, dst, src);
  lock.unlock();
  if (const Observer* told = observer()) told->work(work);
  if (work.end_ns > now + kQueueNs) wait_until(work.end_ns - kQueueNs);
  return work.end_ns;
}

CUresult copy(CUstream stream, void* dst, const void* src, std::size_t bytes, bool is_async) {
  if (dst == nullptr || src == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) return CUDA_SUCCESS;
  DeviceWork work{.kind = WorkKind::kMemcpy};
  work.src_kind = memory_kind(src);
  work.dst_kind = memory_kind(dst);
  work.copy_kind = copy_kind(work.src_kind, work.dst_kind);
  work.is_async = is_async;
  work.bytes = bytes;
  const std::uint64_t end_ns = submit(stream, work, dst, src);
  // As the real one: a copy to pageable memory is over when the call returns, Async or not.
  const bool is_blocking = !is_async || (work.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH &&
                                         work.dst_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  if (is_blocking) wait_until(end_ns);
  return CUDA_SUCCESS;
}

void add_stream(CUstream stream) {
  const std::lock_guard lock(world().mutex);
  world().streams.insert(stream);
}

void remove_stream(CUstream stream) {
  const std::lock_guard lock(world().mutex);
  world().streams.erase(stream);
}

std::uint64_t next_id() {
  return ids.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace turnpike::fake
