// cuptiFinalize, at the exit callback of a call of our own, and events that tell when the GPUs' work is done.
#include "cuda/detach.h"

#include <cupti.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <string>

#include "base/clock.h"

namespace turnpike::cuda {
namespace {

// It needs CUDA to be initialised, and no context.
constexpr std::uint32_t kCall = CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount;

// Globals, not on the stack: a callback on another thread may read them after this function has returned.
std::atomic<CuptiResult (*)()> g_finalize{nullptr};
std::atomic<pthread_t> g_caller{};
std::atomic<bool> g_is_finalized{false};

void on_call(void*, CallbackDomain, std::uint32_t, const void* data) {
  if (static_cast<const ApiCallback*>(data)->site != CallbackSite::kExit) return;
  if (g_caller.load(std::memory_order_relaxed) != pthread_self()) return;
  const auto finalize = g_finalize.exchange(nullptr);
  if (finalize != nullptr) g_is_finalized.store(finalize() == kCuptiSuccess);
}

// Asks now and then: a wait inside the driver would last as long as a kernel that waits for the host, perhaps for ever.
bool wait_for(const Driver& driver, CUctx_st* context, CUevent_st* event, std::int64_t deadline_ns) {
  constexpr timespec kPause{0, 200'000};
  DriverCode code = driver.ctx_record_event(context, event);
  if (code == 0) code = driver.event_query(event);
  while (code == kNotReady && monotonic_ns() < deadline_ns) {
    nanosleep(&kPause, nullptr);
    code = driver.event_query(event);
  }
  return code == 0;
}

bool wait_for_gpu(const Driver& driver, int device, std::int64_t deadline_ns) {
  unsigned int flags = 0;
  int is_active = 0;
  if (driver.device_primary_ctx_get_state(device, &flags, &is_active) != 0) return false;
  if (is_active == 0) return true;
  CUctx_st* context = nullptr;
  if (driver.device_primary_ctx_retain(&context, device) != 0) return false;
  bool is_done = false;
  if (driver.ctx_push_current(context) == 0) {
    CUevent_st* event = nullptr;
    if (driver.event_create(&event, kEventDisableTiming) == 0) {
      is_done = wait_for(driver, context, event, deadline_ns);
      driver.event_destroy(event);
    }
    driver.ctx_pop_current(&context);
  }
  driver.device_primary_ctx_release(device);
  return is_done;
}

}  // namespace

Detached detach_cupti(const Cupti& cupti, const Driver& driver) {
  void* subscriber = nullptr;
  std::string holder;
  const CuptiResult subscribed = cupti.subscribe_as_turnpike(&subscriber, on_call, nullptr, holder);
  if (subscribed == kCuptiMultipleSubscribers) return Detached::kHeldByOther;
  if (subscribed != kCuptiSuccess) return Detached::kNotYet;
  if (cupti.enable_callback(1, subscriber, CallbackDomain::kDriverApi, kCall) == kCuptiSuccess) {
    int count = 0;
    g_is_finalized = false;
    g_caller = pthread_self();
    g_finalize = cupti.finalize;
    driver.device_get_count(&count);
    g_finalize = nullptr;
    // No call of CUPTI after it, not even to unsubscribe: that would attach it.
    if (g_is_finalized) return Detached::kYes;
  }
  cupti.unsubscribe(subscriber);
  return Detached::kNotYet;
}

bool wait_for_gpus(const Driver& driver, std::int64_t patience_ns) {
  const std::int64_t deadline_ns = monotonic_ns() + patience_ns;
  int count = 0;
  if (driver.ctx_record_event == nullptr || driver.device_get_count(&count) != 0) return false;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    if (driver.device_get(&device, ordinal) != 0 || !wait_for_gpu(driver, device, deadline_ns)) return false;
  }
  return true;
}

}  // namespace turnpike::cuda
