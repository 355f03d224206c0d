// The functions of the fake libcupti: the callback API and the activity API, as far as the recorder uses them.
//
// Compiled twice: FAKE_CUPTI_OLD leaves out what a library of the CUDA 11 days does not have.
#include <cupti.h>
#include <dlfcn.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "activity.h"
#include "boundary.h"
#include "callback_names.h"
#include "device_clock.h"
#include "records.h"
#include "script.h"

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback;
  void* userdata;
  char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
};

namespace turnpike::fake {
namespace {

constexpr std::size_t kDomainCount = 8;
constexpr std::size_t kCallbackCount = 1024;
std::atomic<CUpti_Subscriber_st*> subscriber{nullptr};
std::atomic<bool> enabled_callbacks[kDomainCount][kCallbackCount];
std::atomic<std::uint64_t> callback_count{0};
std::atomic<std::uint64_t> question_count{0};
// What was left on whenever the last call was switched off, or a subscription ended, summed.
std::atomic<std::uint64_t> kinds_left_count{0};
std::atomic<std::uint64_t> buffers_left_count{0};
std::atomic<std::uint64_t> unsubscribe_count{0};

std::uint64_t calls_on() {
  std::uint64_t count = 0;
  for (const auto& domain : enabled_callbacks) {
    for (const auto& callback : domain) count += callback ? 1 : 0;
  }
  return count;
}

void note_what_is_left() {
  kinds_left_count += activity().enabled_count();
  buffers_left_count += activity().truth().requests - activity().truth().completions;
}

// What watches the loader meanwhile (loader_watch.cpp), if the process has it.
auto* const watch_callback = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "loader_watch_callback"));

void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const CUpti_Subscriber_st* told = subscriber.load(std::memory_order_acquire);
  if (told == nullptr || !enabled_callbacks[domain][id].load(std::memory_order_relaxed)) return;
  callback_count.fetch_add(1, std::memory_order_relaxed);
  if (watch_callback != nullptr) watch_callback(1);
  if (script().enters_loader) dlsym(RTLD_DEFAULT, "getpid");
  told->callback(told->userdata, domain, id, data);
  if (watch_callback != nullptr) watch_callback(-1);
}

// The caller has asked what a device or a stream is called.
void take_time_to_answer() {
  question_count.fetch_add(1, std::memory_order_relaxed);
  std::this_thread::sleep_for(std::chrono::milliseconds(script().question_ms));
}

void on_call(CUpti_ApiCallbackSite site, ApiCall& call) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call.name;
  data.functionParams = call.params;
  data.functionReturnValue = site == CUPTI_API_EXIT ? call.return_value : nullptr;
  data.symbolName = call.symbol;
  data.context = call.context;
  data.contextUid = call.context_id;
  data.correlationData = &call.slot;
  data.correlationId = call.correlation;
  tell(call.domain, call.cbid, &data);
}

void on_work(const DeviceWork& work) {
  activity().work(work);
}

void on_resource(CUpti_CallbackIdResource id, const CUpti_ResourceData& data) {
  tell(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

const Observer kObserver = {on_call, on_work, on_resource};

// As the real library: it ties itself to the driver when it is loaded.
__attribute__((constructor)) void connect() {
  fake_cuda_observe(&kObserver);
}

__attribute__((destructor)) void write_report() {
  if (script().report.empty()) return;
  std::FILE* file = std::fopen(script().report.c_str(), "w");
  if (file == nullptr) return;
  const Truth& truth = activity().truth();
  std::fprintf(file,
               "produced %lu\ndropped %lu\ndelivered %lu\nrequests %lu\ncompletions %lu\ncallbacks %lu\n"
               "kernel_disables %lu\nunzeroed_buffers %lu\nunsafe_flushes %lu\nquestions %lu\n"
               "kinds_left %lu\nbuffers_left %lu\nkinds_on %lu\ncalls_on %lu\nunsubscribes %lu\n",
               truth.produced.load(), truth.dropped.load(), truth.delivered.load(), truth.requests.load(),
               truth.completions.load(), callback_count.load(), truth.kernel_disables.load(),
               truth.unzeroed_buffers.load(), truth.unsafe_flushes.load(), question_count.load(),
               kinds_left_count.load(), buffers_left_count.load(), activity().enabled_count(), calls_on(),
               unsubscribe_count.load());
  std::fclose(file);
}

}  // namespace

#define FAIL_AS_TOLD(...) \
  if (const CUptiResult told = script().failure(__VA_ARGS__); told != CUPTI_SUCCESS) return told

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  FAIL_AS_TOLD(__func__);
  *version = script().version;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  FAIL_AS_TOLD(__func__);
  *text = result == CUPTI_SUCCESS                                    ? "CUPTI_SUCCESS"
          : result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
          : result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES            ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                                     : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* timestamp) {
  FAIL_AS_TOLD(__func__);
  *timestamp = script().has_raw_clock ? read_ns(CLOCK_MONOTONIC_RAW) : clock_realtime_ns();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata) {
  FAIL_AS_TOLD(__func__);
  if (handle == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  auto* made = new CUpti_Subscriber_st{callback, userdata, ""};
  CUpti_Subscriber_st* expected = nullptr;
  if (!subscriber.compare_exchange_strong(expected, made)) {
    delete made;
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  *handle = made;
  return CUPTI_SUCCESS;
}

#ifndef FAKE_CUPTI_OLD
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata,
                              CUpti_SubscriberParams* parameters) {
  const CUptiResult told = script().failure(__func__);
  if (told != CUPTI_SUCCESS && told != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return told;
  if (parameters != nullptr && parameters->structSize < offsetof(CUpti_SubscriberParams, oldSubscriberSize)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const CUptiResult result = told == CUPTI_SUCCESS ? cuptiSubscribe(handle, callback, userdata) : told;
  if (parameters == nullptr) return result;
  if (result == CUPTI_SUCCESS) {
    std::snprintf((*handle)->name, sizeof((*handle)->name), "CUPTI for %s", parameters->subscriberName);
  } else if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && parameters->oldSubscriberName != nullptr) {
    const CUpti_Subscriber_st* holder = subscriber.load();
    std::snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "%s",
                  holder == nullptr ? "Nsight Systems" : holder->name);
  }
  return result;
}
#endif

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  FAIL_AS_TOLD(__func__);
  if (handle == nullptr || handle != subscriber.load()) return CUPTI_ERROR_INVALID_PARAMETER;
  ++unsubscribe_count;
  for (auto& domain : enabled_callbacks) {
    for (auto& callback : domain) callback = false;
  }
  note_what_is_left();
  subscriber = nullptr;
  delete handle;  // as the real one, whoever is in a callback
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  FAIL_AS_TOLD(__func__, id);
  if (handle == nullptr || handle != subscriber.load()) return CUPTI_ERROR_INVALID_PARAMETER;
  if (domain >= kDomainCount || id >= kCallbackCount) return CUPTI_ERROR_INVALID_PARAMETER;
  enabled_callbacks[domain][id] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(std::uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  FAIL_AS_TOLD(__func__, enable);
  if (handle == nullptr || handle != subscriber.load()) return CUPTI_ERROR_INVALID_PARAMETER;
  if (domain >= kDomainCount) return CUPTI_ERROR_INVALID_PARAMETER;
  const bool had_calls = calls_on() > 0;
  for (auto& callback : enabled_callbacks[domain]) callback = enable != 0;
  if (had_calls && calls_on() == 0) note_what_is_left();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize() {
  FAIL_AS_TOLD(__func__);
  if (const auto told = subscriber.load(); told != nullptr) cuptiUnsubscribe(told);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  FAIL_AS_TOLD(__func__);
  const char* found = callback_name(domain, id);
  if (found == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = found;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_AS_TOLD(__func__, kind);
  if (kind >= 128) return CUPTI_ERROR_INVALID_KIND;
  activity().enable(kind, true);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  FAIL_AS_TOLD(__func__, kind);
  if (kind >= 128) return CUPTI_ERROR_INVALID_KIND;
  activity().enable(kind, false);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  FAIL_AS_TOLD(__func__);
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  activity().set_callbacks(request, complete);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  FAIL_AS_TOLD(__func__, flag);
  const bool is_forced = (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
  return activity().flush(is_forced) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  FAIL_AS_TOLD(__func__);
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    next = reinterpret_cast<std::uint8_t*>(*record) + record_bytes(kind);
  }
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  FAIL_AS_TOLD(__func__);
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = activity().take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* bytes, void* value) {
  FAIL_AS_TOLD(__func__, attribute);
  if (bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
    activity().set_zeroed_buffers(*static_cast<const std::uint8_t*>(value) != 0);
  }
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
    activity().set_thread_buffers(*static_cast<const std::uint8_t*>(value) != 0);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, std::uint32_t* id) {
  FAIL_AS_TOLD(__func__);
  if (context == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = fake_cuda_context_id(context);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, std::uint32_t* id) {
  FAIL_AS_TOLD(__func__);
  take_time_to_answer();
  *id = context == nullptr ? fake_cuda_device() : fake_cuda_device_of(context);
  return CUPTI_SUCCESS;
}

#ifndef FAKE_CUPTI_OLD

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  FAIL_AS_TOLD(__func__, type);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, std::uint8_t, std::uint32_t* id) {
  FAIL_AS_TOLD(__func__);
  take_time_to_answer();
  *id = fake_cuda_stream_id(stream);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* id) {
  FAIL_AS_TOLD(__func__);
  *id = fake_cuda_node_id(node);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig* config,
                                                       std::uint32_t count) {
  FAIL_AS_TOLD(__func__);
  return config == nullptr || count == 0 ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

#endif
}

}  // namespace turnpike::fake
