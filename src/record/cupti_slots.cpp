// Functions that stand for CUPTI's in PyTorch's modules. Where the recorder has not loaded the same CUPTI, they only
// call that.
#include "record/cupti_slots.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string_view>

#include "base/fork_mutex.h"
#include "base/slots.h"
#include "record/recorder.h"

namespace turnpike::record {
namespace {

using cuda::CallbackDomain;
using cuda::CuptiResult;

CuptiResult (*g_subscribe)(void**, cuda::CallbackFunction, void*) = nullptr;
CuptiResult (*g_unsubscribe)(void*) = nullptr;
CuptiResult (*g_enable_callback)(std::uint32_t, void*, CallbackDomain, std::uint32_t) = nullptr;
CuptiResult (*g_enable_domain)(std::uint32_t, void*, CallbackDomain) = nullptr;
CuptiResult (*g_register_callbacks)(cuda::BufferRequested, cuda::BufferCompleted) = nullptr;
CuptiResult (*g_activity_enable)(cuda::ActivityKind) = nullptr;
CuptiResult (*g_activity_disable)(cuda::ActivityKind) = nullptr;
CuptiResult (*g_flush_all)(std::uint32_t) = nullptr;

// The thread that takes the slots, the recorder's or another one, writes these just before.
template <typename Function>
Function* real(Function*& original) noexcept {
  return std::atomic_ref<Function*>(original).load(std::memory_order_acquire);
}

Recorder* sharer() noexcept {
  Recorder& recorder = Recorder::instance();
  return recorder.shares_cupti(real(g_register_callbacks)) ? &recorder : nullptr;
}

// CUPTI has one subscriber, the recorder's. Kineto gets this address for one: it subscribes once in a process, gives up
// the GPU for good where that fails, and uses callbacks for other things than its records alone.
char g_subscriber_of_guest;

CuptiResult subscribe(void** subscriber, cuda::CallbackFunction callback, void* user) {
  Recorder* recorder = sharer();
  // Where another tool subscribed before the recorder, both are refused.
  if (recorder == nullptr || !recorder->api().has_subscribed() || subscriber == nullptr) {
    return real(g_subscribe)(subscriber, callback, user);
  }
  *subscriber = &g_subscriber_of_guest;
  return cuda::kCuptiSuccess;
}

CuptiResult unsubscribe(void* subscriber) {
  return subscriber == &g_subscriber_of_guest ? cuda::kCuptiSuccess : real(g_unsubscribe)(subscriber);
}

// Kineto asks for new contexts when it subscribes, and does without their callbacks.
CuptiResult enable_callback(std::uint32_t enable, void* subscriber, CallbackDomain domain, std::uint32_t id) {
  if (subscriber != &g_subscriber_of_guest) return real(g_enable_callback)(enable, subscriber, domain, id);
  return enable == 0 || domain == CallbackDomain::kResource ? cuda::kCuptiSuccess : cuda::kCuptiNotSupported;
}

// With TEARDOWN_CUPTI=1 Kineto asks for all calls, in order to end CUPTI at the exit of one. Where that is refused, it
// goes on.
CuptiResult enable_domain(std::uint32_t enable, void* subscriber, CallbackDomain domain) {
  if (subscriber != &g_subscriber_of_guest) return real(g_enable_domain)(enable, subscriber, domain);
  return enable == 0 ? cuda::kCuptiSuccess : cuda::kCuptiNotSupported;
}

CuptiResult register_callbacks(cuda::BufferRequested requested, cuda::BufferCompleted completed) {
  Recorder* recorder = sharer();
  if (recorder == nullptr || requested == nullptr || completed == nullptr) {
    return real(g_register_callbacks)(requested, completed);
  }
  return recorder->begin_guest_activity(requested, completed);
}

CuptiResult activity_enable(cuda::ActivityKind kind) {
  Recorder* recorder = sharer();
  return recorder == nullptr ? real(g_activity_enable)(kind) : recorder->switch_guest_kind(kind, true);
}

CuptiResult activity_disable(cuda::ActivityKind kind) {
  Recorder* recorder = sharer();
  return recorder == nullptr ? real(g_activity_disable)(kind) : recorder->switch_guest_kind(kind, false);
}

CuptiResult flush_all(std::uint32_t flags) {
  Recorder* recorder = sharer();
  const CuptiResult result = real(g_flush_all)(flags);
  if (recorder != nullptr) recorder->note_guest_flush(flags);
  return result;
}

template <typename Function>
Hook cupti_hook(const char* name, Function* replacement, Function** original) {
  return {name, reinterpret_cast<void*>(replacement), reinterpret_cast<void**>(original)};
}

const std::array kCuptiHooks = {
    cupti_hook("cuptiSubscribe", &subscribe, &g_subscribe),
    cupti_hook("cuptiUnsubscribe", &unsubscribe, &g_unsubscribe),
    cupti_hook("cuptiEnableCallback", &enable_callback, &g_enable_callback),
    cupti_hook("cuptiEnableDomain", &enable_domain, &g_enable_domain),
    cupti_hook("cuptiActivityRegisterCallbacks", &register_callbacks, &g_register_callbacks),
    cupti_hook("cuptiActivityEnable", &activity_enable, &g_activity_enable),
    cupti_hook("cuptiActivityDisable", &activity_disable, &g_activity_disable),
    cupti_hook("cuptiActivityFlushAll", &flush_all, &g_flush_all),
};

// The libraries of a PyTorch without CUDA are large, too, and call nothing here.
bool is_of_pytorch(const SlotOwner& owner) {
  const auto is_cupti = [](std::string_view name) { return name.find("cupti") != std::string_view::npos; };
  return owner.file_name().starts_with("libtorch") && owner.links_against(is_cupti);
}

// Held while the loader is entered, so no fork waits for it.
ForkMutex& take_mutex() {
  static auto& mutex = *new ForkMutex(ForkMutex::Held::kForLong);
  return mutex;
}
Slots& slots() {
  static auto& slots = *new Slots(is_of_pytorch, kCuptiHooks);
  return slots;
}

}  // namespace

void take_cupti_slots() noexcept {
  // The thread that has it takes them, and may be waiting for the loader.
  const std::unique_lock lock(take_mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return;
  try {
    slots().take(Slots::Loader::kMayEnter);
  } catch (...) {
    // Without memory torch.profiler gets what CUPTI leaves it.
  }
}

}  // namespace turnpike::record
