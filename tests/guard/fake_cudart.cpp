// A libcudart without a GPU: it counts its calls, knows three kinds of memory by their addresses, and can capture.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "fake_memory.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::size_t kArea = 1 << 20;
alignas(4096) char g_gpu[2][kArea];
alignas(4096) char g_pinned[kArea];
std::atomic<long> g_calls{0};
std::atomic<int> g_is_capturing{0};
std::atomic<int> g_call_ms{0};
std::atomic<int> g_question_ms{0};
std::atomic<int> g_error{0};
std::atomic<long> g_questions_before{0};
thread_local long t_open_questions = 0;  // since the thread's last call
std::atomic<long> g_runtime_questions{0};

bool is_in(const char* area, const void* address) {
  return address >= area && address < area + kArea;
}

void take(const std::atomic<int>& ms) {
  if (ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

int called() {
  ++g_calls;
  g_questions_before += t_open_questions;
  t_open_questions = 0;
  take(g_call_ms);
  return g_error;
}

}  // namespace

EXPORT void* fake_gpu(int device) {
  return g_gpu[device];
}
EXPORT void* fake_pinned() {
  return g_pinned;
}
EXPORT long fake_calls() {
  return g_calls.load();
}
// What calls return from now on.
EXPORT void fake_fail(int error) {
  g_error = error;
}
// How often it was asked what an address is since then, before a call of the same thread and behind its last one.
EXPORT void fake_forget_questions() {
  g_questions_before = t_open_questions = 0;
  g_runtime_questions = 0;
}
EXPORT long fake_questions_before() {
  return g_questions_before;
}
EXPORT long fake_questions_behind() {
  return t_open_questions;
}
// Of these, how many were asked of this runtime and not of the driver.
EXPORT long fake_runtime_questions() {
  return g_runtime_questions;
}
EXPORT void fake_capture(int is_capturing) {
  g_is_capturing = is_capturing;
}

// How long a call takes, and to say what an address is.
EXPORT void fake_take(int call_ms, int question_ms) {
  g_call_ms = call_ms;
  g_question_ms = question_ms;
}

// What an address is.
EXPORT FakeMemory fake_memory_at(const void* address) {
  ++t_open_questions;
  take(g_question_ms);
  for (int device = 0; device < 2; ++device) {
    if (is_in(g_gpu[device], address)) return {2, device};
  }
  return {is_in(g_pinned, address) ? 1 : 0, 0};
}

struct FakeAttributes {
  int type, device;
  void *device_pointer, *host_pointer;
};
EXPORT int cudaPointerGetAttributes(FakeAttributes* to, const void* address) {
  ++g_runtime_questions;
  const FakeMemory memory = fake_memory_at(address);
  *to = {memory.type, memory.device, nullptr, nullptr};
#ifdef FAKE_CUDART_WITHOUT_LAST_ERROR
  if (to->type == 0) return 1;  // as CUDA 10 did
#endif
  return 0;
}
#ifndef FAKE_CUDART_WITHOUT_LAST_ERROR
EXPORT int cudaGetLastError() {
  return 0;
}
#endif
EXPORT int cudaStreamIsCapturing(void*, int* state) {
  *state = g_is_capturing.load();
  return 0;
}
EXPORT int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*) {
  return called();
}
EXPORT int cudaMemcpy(void*, const void*, std::size_t, int) {
  return called();
}
EXPORT int cudaStreamSynchronize(void*) {
  return called();
}
EXPORT int cudaEventSynchronize(void*) {
  return called();
}
EXPORT int cudaDeviceSynchronize() {
  return called();
}
EXPORT int cudaMalloc(void**, std::size_t) {
  return called();
}
EXPORT int cudaFree(void*) {
  return called();
}
// Those of which nothing but the call counts. Their parameters are C's: nobody here looks at them.
#define COUNTED(name) \
  EXPORT int name() { \
    return called();  \
  }
COUNTED(cudaMemcpy_ptds)
COUNTED(cudaMemcpyAsync_ptsz)
COUNTED(cudaMemcpy2DAsync_ptsz)
COUNTED(cudaMemcpy3D)
COUNTED(cudaMemcpy3DPeerAsync)
COUNTED(cudaMemcpyBatchAsync)
COUNTED(cudaMemcpyToSymbol)
COUNTED(cudaMemcpyFromSymbolAsync)
COUNTED(cudaMemcpy2DToArray)
COUNTED(cudaMemPrefetchAsync)
COUNTED(cudaMemPrefetchAsync_v2)
COUNTED(cudaStreamSynchronize_ptsz)
COUNTED(cudaMallocAsync)
COUNTED(cudaMallocManaged)
COUNTED(cudaFreeHost)
#undef COUNTED
