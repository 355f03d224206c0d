// Loads libcupti and checks, at compile time, that our view of its types is NVIDIA's.
#include "cuda/cupti.h"

#include <cupti.h>
#include <dlfcn.h>

#include <cstddef>

#include "cuda/cupti_library.h"

namespace turnpike::cuda {
namespace {

static_assert(sizeof(CUptiResult) == sizeof(CuptiResult));
static_assert(CUPTI_ERROR_INVALID_PARAMETER == kCuptiInvalidParameter);
static_assert(CUPTI_ERROR_MAX_LIMIT_REACHED == kCuptiMaxLimitReached);
static_assert(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == kCuptiMultipleSubscribers);
static_assert(CUPTI_CB_DOMAIN_DRIVER_API == static_cast<int>(CallbackDomain::kDriverApi));
static_assert(CUPTI_CB_DOMAIN_RUNTIME_API == static_cast<int>(CallbackDomain::kRuntimeApi));
static_assert(CUPTI_CB_DOMAIN_RESOURCE == static_cast<int>(CallbackDomain::kResource));
static_assert(CUPTI_CBID_RESOURCE_STREAM_CREATED == kStreamCreated);
static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == kGraphNodeCreated);
static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == kGraphNodeCloned);
static_assert(CUPTI_API_EXIT == static_cast<int>(CallbackSite::kExit));
static_assert(sizeof(CUpti_CallbackData) == sizeof(ApiCallback));
static_assert(offsetof(CUpti_CallbackData, functionParams) == offsetof(ApiCallback, parameters));
static_assert(offsetof(CUpti_CallbackData, functionReturnValue) == offsetof(ApiCallback, return_value));
static_assert(offsetof(CUpti_CallbackData, context) == offsetof(ApiCallback, context));
static_assert(offsetof(CUpti_CallbackData, contextUid) == offsetof(ApiCallback, context_id));
static_assert(offsetof(CUpti_CallbackData, correlationData) == offsetof(ApiCallback, slot));
static_assert(offsetof(CUpti_CallbackData, correlationId) == offsetof(ApiCallback, correlation));
static_assert(offsetof(CUpti_ResourceData, resourceDescriptor) == offsetof(ResourceCallback, descriptor));
static_assert(offsetof(CUpti_GraphData, node) == offsetof(GraphCallback, node));
static_assert(offsetof(CUpti_GraphData, originalNode) == offsetof(GraphCallback, original_node));
static_assert(CUPTI_ACTIVITY_KIND_MEMCPY == static_cast<int>(ActivityKind::kMemcpy));
static_assert(CUPTI_ACTIVITY_KIND_MEMSET == static_cast<int>(ActivityKind::kMemset));
static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == static_cast<int>(ActivityKind::kConcurrentKernel));
static_assert(CUPTI_ACTIVITY_KIND_MEMCPY2 == static_cast<int>(ActivityKind::kPeerMemcpy));
static_assert(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER == static_cast<int>(ActivityKind::kManagedMemory));
static_assert(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER == static_cast<int>(ActivityAttribute::kZeroedOutBuffers));
static_assert(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ==
              static_cast<int>(ActivityAttribute::kPinnedHostMemory));
static_assert(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER == static_cast<int>(ActivityAttribute::kPerThreadBuffers));
static_assert(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == kFlushForced);

// How long the parameters of cuptiSubscribe_v2 are in CUDA 13.0, where it begins. Later ones go on with whether several
// subscribers are allowed, which they are not where the structure ends before.
constexpr std::size_t kParametersOfCuda130 =
    offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof(CUpti_SubscriberParams::oldSubscriberSize);

template <typename Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

const char* Cupti::describe(CuptiResult result) const noexcept {
  const char* text = nullptr;
  if (get_result_string == nullptr || get_result_string(result, &text) != kCuptiSuccess || text == nullptr) {
    return "unknown CUPTI error";
  }
  return text;
}

CuptiResult Cupti::subscribe_as_turnpike(void** subscriber, CallbackFunction callback, void* user,
                                         std::string& holder) const {
  holder.clear();
  if (subscribe_by_name == nullptr) return subscribe(subscriber, callback, user);
  char name[2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = {};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = kParametersOfCuda130;
  parameters.subscriberName = "turnpike";
  parameters.oldSubscriberName = name;
  parameters.oldSubscriberSize = sizeof(name) - 1;  // whatever is written, it ends
  const CuptiResult result = subscribe_by_name(subscriber, callback, user, &parameters);
  if (result == kCuptiMultipleSubscribers) holder = name;
  // A version that does not take parameters of this length.
  return result == CUPTI_ERROR_INVALID_PARAMETER ? subscribe(subscriber, callback, user) : result;
}

CuptiResult Cupti::configure_managed_memory_counters() const noexcept {
  if (configure_managed_memory == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  CUpti_ActivityUnifiedMemoryCounterConfig configurations[2] = {};
  const CUpti_ActivityUnifiedMemoryCounterKind kinds[2] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH};
  for (int i = 0; i < 2; ++i) {
    configurations[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
    configurations[i].kind = kinds[i];
    configurations[i].enable = 1;
  }
  return configure_managed_memory(configurations, 2);
}

bool load_cupti(const char* path, Cupti& cupti, std::string& message) {
  // PyTorch's wheels bring a libcupti to machines without a driver, too. That of CUDA 13.2 ends the program there, at
  // whichever call.
  const bool is_named = path != nullptr && *path != '\0';
  if (!is_named && dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    message = kNoDriver;
    return false;
  }
  void* library = open_cupti_library(path, message);
  if (library == nullptr) return false;
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!look_up(library, name, function) && missing == nullptr) missing = name;
  };
  need("cuptiGetVersion", cupti.get_version);
  need("cuptiGetResultString", cupti.get_result_string);
  need("cuptiGetTimestamp", cupti.get_timestamp);
  need("cuptiSubscribe", cupti.subscribe);
  need("cuptiEnableCallback", cupti.enable_callback);
  need("cuptiEnableDomain", cupti.enable_domain);
  need("cuptiGetCallbackName", cupti.get_callback_name);
  need("cuptiActivityEnable", cupti.activity_enable);
  need("cuptiActivityDisable", cupti.activity_disable);
  need("cuptiActivityRegisterCallbacks", cupti.activity_register_callbacks);
  need("cuptiActivityFlushAll", cupti.activity_flush_all);
  need("cuptiActivityGetNextRecord", cupti.activity_get_next_record);
  need("cuptiActivityGetNumDroppedRecords", cupti.activity_get_num_dropped_records);
  need("cuptiActivitySetAttribute", cupti.activity_set_attribute);
  need("cuptiGetStreamIdEx", cupti.get_stream_id);
  need("cuptiGetDeviceId", cupti.get_device_id);
  look_up(library, "cuptiSubscribe_v2", cupti.subscribe_by_name);
  look_up(library, "cuptiGetGraphNodeId", cupti.get_graph_node_id);
  look_up(library, "cuptiActivityConfigureUnifiedMemoryCounter", cupti.configure_managed_memory);
  if (missing == nullptr) return true;
  message += std::string(" lacks ") + missing + ": it is too old; Turnpike needs CUPTI of CUDA 11.8 or newer";
  return false;
}

}  // namespace turnpike::cuda
