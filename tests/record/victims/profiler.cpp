// Calls CUPTI through slots of its own, as libtorch_cpu.so does.
#include "profiler.h"

#include <cupti.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME};

CUpti_SubscriberHandle g_subscriber = nullptr;
bool g_is_initialized = false;
bool g_is_subscribed = false;
std::atomic<bool> g_must_tear_down{false};
std::atomic<std::uint64_t> g_callbacks{0};

std::mutex g_mutex;
std::map<std::uint8_t*, std::vector<std::uint8_t>> g_given;
std::vector<std::vector<std::uint8_t>> g_ready;
std::uint64_t g_foreign = 0;

void on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  ++g_callbacks;
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API || !g_must_tear_down) return;
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite != CUPTI_API_EXIT) return;
  g_must_tear_down = false;
  cuptiUnsubscribe(g_subscriber);
  cuptiFinalize();
  g_is_subscribed = false;
  g_subscriber = nullptr;
}

void request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  // Not zeroed, as Kineto's.
  std::vector<std::uint8_t> memory(kBufferBytes, 0xa5);
  const std::lock_guard lock(g_mutex);
  *buffer = memory.data();
  *size = memory.size();
  *max_records = 0;
  g_given[memory.data()] = std::move(memory);
}

void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  const std::lock_guard lock(g_mutex);
  const auto given = g_given.find(buffer);
  if (given == g_given.end()) {
    ++g_foreign;
    return;
  }
  given->second.resize(valid_bytes);
  g_ready.push_back(std::move(given->second));
  g_given.erase(given);
}

int subscribe() {
  const CUptiResult result = cuptiSubscribe(&g_subscriber, on_callback, nullptr);
  g_is_subscribed = result == CUPTI_SUCCESS;
  if (!g_is_subscribed) return result;
  return cuptiEnableCallback(1, g_subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
}

void switch_kinds_off() {
  for (const CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
}

}  // namespace

extern "C" {

int profiler_begin_without_subscriber() {
  cuptiActivityRegisterCallbacks(request, complete);
  for (const CUpti_ActivityKind kind : kKinds) cuptiActivityEnable(kind);
  return 0;
}

int profiler_begin() {
  static int first = 0;
  if (!g_is_initialized) {
    g_is_initialized = true;
    first = subscribe();
  }
  return first != 0 ? first : profiler_begin_without_subscriber();
}

ProfilerCounts profiler_end() {
  switch_kinds_off();
  ProfilerCounts counts{};
  bool may_have_records = true;
  // As Kineto: where CUPTI has no buffer of it, it asks for nothing. The fake asks for one late otherwise.
  if (std::getenv("FAKE_CUPTI_KEEP") != nullptr) {
    const std::lock_guard lock(g_mutex);
    may_have_records = !g_given.empty();
  }
  if (may_have_records) cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(g_mutex);
  for (std::vector<std::uint8_t>& buffer : g_ready) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer.data(), buffer.size(), &record) == CUPTI_SUCCESS) {
      counts.copies += record->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
      counts.kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    }
  }
  g_ready.clear();
  counts.foreign_buffers = g_foreign;
  return counts;
}

void profiler_end_without_flush() {
  switch_kinds_off();
}

void profiler_tear_down() {
  if (cuptiEnableDomain(1, g_subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) != CUPTI_SUCCESS ||
      cuptiEnableDomain(1, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS) {
    return;
  }
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  g_must_tear_down = true;
}

std::uint64_t profiler_callbacks() {
  return g_callbacks;
}
}
