// The life of the fake driver: cuInit with the injection of a profiler, calls with their correlation ids, forked
// children.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "device.h"

namespace turnpike::fake {
namespace {

enum class State { kNotInitialised, kInitialising, kReady, kForked };
std::atomic<State> state{State::kNotInitialised};
std::atomic<const Observer*> listener{nullptr};
std::atomic<std::uint32_t> correlations{0};
std::recursive_mutex init_mutex;

struct ThreadState {
  std::uint32_t depth = 0;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
};
thread_local ThreadState thread;

void mark_forked() {
  if (state.load() != State::kNotInitialised) state.store(State::kForked);
  listener.store(nullptr);
}

// What the driver does with CUDA_INJECTION64_PATH: a library that cannot be loaded is passed over in silence, one that
// does not return 1 keeps CUDA from starting.
bool inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return true;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return true;
  auto* initialise = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  return initialise == nullptr || initialise() == 1;
}

}  // namespace

const Observer* observer() {
  return listener.load(std::memory_order_acquire);
}
bool is_usable() {
  return state.load(std::memory_order_acquire) == State::kReady;
}
std::uint32_t current_correlation() {
  return thread.correlation;
}

void tell_graph_node(CUpti_CallbackIdResource id, CUgraph graph, CUgraphNode node, CUgraphNode original) {
  const Observer* observer = listener.load(std::memory_order_acquire);
  if (observer == nullptr) return;
  CUpti_GraphData graph_data{};
  graph_data.graph = graph;
  graph_data.node = node;
  graph_data.originalNode = original;
  graph_data.nodeType = node->work.kind == WorkKind::kKernel ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_MEMCPY;
  CUpti_ResourceData data{};
  data.context = context_of(thread.device);
  data.resourceDescriptor = &graph_data;
  observer->resource(id, data);
}

extern "C" {

void fake_cuda_observe(const Observer* observer) {
  listener.store(observer, std::memory_order_release);
}

void fake_cuda_enter(ApiCall* call) {
  if (thread.depth++ == 0) thread.correlation = correlations.fetch_add(1, std::memory_order_relaxed) + 1;
  call->correlation = thread.correlation;
  call->context = context_of(thread.device);
  call->context_id = call->context->id;
  if (const Observer* observer = listener.load(std::memory_order_acquire)) observer->call(CUPTI_API_ENTER, *call);
}

void fake_cuda_exit(ApiCall* call) {
  if (const Observer* observer = listener.load(std::memory_order_acquire)) observer->call(CUPTI_API_EXIT, *call);
  --thread.depth;
}

std::uint32_t fake_cuda_stream_id(CUstream stream) {
  return resolve(stream)->id;
}
std::uint32_t fake_cuda_context_id(CUcontext context) {
  return context->id;
}
std::uint32_t fake_cuda_device_of(CUcontext context) {
  return context->device;
}
std::uint64_t fake_cuda_node_id(CUgraphNode node) {
  return node->id;
}
void fake_cuda_set_device(std::uint32_t device) {
  thread.device = device;
}
std::uint32_t fake_cuda_device() {
  return thread.device;
}

CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (state.load(std::memory_order_acquire) == State::kReady) return CUDA_SUCCESS;
  const std::lock_guard lock(init_mutex);
  switch (state.load()) {
    case State::kForked:
      return CUDA_ERROR_NOT_INITIALIZED;
    case State::kInitialising:  // from the injected library itself
    case State::kReady:
      return CUDA_SUCCESS;
    case State::kNotInitialised:
      break;
  }
  state.store(State::kInitialising);
  pthread_atfork(nullptr, nullptr, mark_forked);
  if (!inject()) {
    state.store(State::kNotInitialised);
    return CUDA_ERROR_UNKNOWN;
  }
  state.store(State::kReady, std::memory_order_release);
  if (const Observer* observer = listener.load()) {
    CUpti_ResourceData data{};
    data.context = context_of(0);
    observer->resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, data);
  }
  return CUDA_SUCCESS;
}
}

}  // namespace turnpike::fake
