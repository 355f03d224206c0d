// cuptiFinalize, at the exit callback of a call of our own.
#include "cuda/detach.h"

#include <cupti.h>
#include <pthread.h>

#include <atomic>
#include <string>

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

}  // namespace turnpike::cuda
