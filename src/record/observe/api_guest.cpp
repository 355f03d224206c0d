// One subscriber for two: the recorder, and another profiler of this process.
#include <algorithm>

#include "base/self_time.h"
#include "record/observe/api_observer.h"

namespace turnpike::record {

using cuda::CallbackDomain;

// Under the lock. A guest's is the recorder's, too.
cuda::CuptiResult ApiObserver::take_subscriber(std::string& holder) {
  if (subscriber_.load() != nullptr) return cuda::kCuptiSuccess;
  void* subscriber = nullptr;
  const auto callback = is_self_time_counted() ? &ApiObserver::on_timed_callback : &ApiObserver::on_callback;
  const cuda::CuptiResult result = cupti_->subscribe_as_turnpike(&subscriber, callback, this, holder);
  if (result == cuda::kCuptiSuccess) subscriber_.store(subscriber);
  return result;
}

cuda::CuptiResult ApiObserver::subscribe_guest(const cuda::Cupti& cupti, void** subscriber,
                                               cuda::CallbackFunction callback, void* user) {
  if (subscriber == nullptr || callback == nullptr) return cuda::kCuptiInvalidParameter;
  const std::lock_guard lock(subscriber_mutex_);
  if (guest_.is_there()) return cuda::kCuptiMultipleSubscribers;
  set_cupti(cupti);
  std::string holder;
  const cuda::CuptiResult result = take_subscriber(holder);
  if (result != cuda::kCuptiSuccess) return result;
  guest_.set_function(callback, user);
  *subscriber = subscriber_.load();
  return cuda::kCuptiSuccess;
}

bool ApiObserver::has_guest(const void* subscriber) const noexcept {
  return guest_.is_there() && subscriber == subscriber_.load();
}

cuda::CuptiResult ApiObserver::unsubscribe_guest() noexcept {
  const std::lock_guard lock(subscriber_mutex_);
  if (!is_subscribed_) {
    guest_.clear();
    return cupti_->unsubscribe(subscriber_.exchange(nullptr));
  }
  for (std::uint32_t domain = 0; domain < GuestCallbacks::kDomains; ++domain) {
    for (std::uint32_t id = 0; id < GuestCallbacks::kCallbacks; ++id) {
      const auto of = CallbackDomain{domain};
      if (guest_.wants(of, id) && !wants(of, id)) cupti_->enable_callback(0, subscriber_.load(), of, id);
    }
  }
  guest_.clear();
  return cuda::kCuptiSuccess;
}

cuda::CuptiResult ApiObserver::enable_for_guest(bool is_on, CallbackDomain domain, std::uint32_t id) noexcept {
  const std::lock_guard lock(subscriber_mutex_);
  if (!guest_.set_wanted(domain, id, is_on)) return cuda::kCuptiInvalidParameter;
  if (wants(domain, id)) return cuda::kCuptiSuccess;
  return cupti_->enable_callback(is_on ? 1 : 0, subscriber_.load(), domain, id);
}

cuda::CuptiResult ApiObserver::enable_domain_for_guest(bool is_on, CallbackDomain domain) noexcept {
  const std::lock_guard lock(subscriber_mutex_);
  for (std::uint32_t id = 0; id < GuestCallbacks::kCallbacks; ++id) {
    const bool was_wanted = guest_.wants(domain, id);
    if (!guest_.set_wanted(domain, id, is_on)) return cuda::kCuptiInvalidParameter;
    if (!is_on && was_wanted && !wants(domain, id)) cupti_->enable_callback(0, subscriber_.load(), domain, id);
  }
  return is_on ? cupti_->enable_domain(1, subscriber_.load(), domain) : cuda::kCuptiSuccess;
}

// Whether the recorder listens to it.
bool ApiObserver::wants(CallbackDomain domain, std::uint32_t id) const noexcept {
  if (!is_subscribed_) return false;
  if (domain == CallbackDomain::kResource) {
    return std::find(kResources.begin(), kResources.end(), id) != kResources.end();
  }
  if ((domain != CallbackDomain::kDriverApi && domain != CallbackDomain::kRuntimeApi) || id >= kCallbacks) return false;
  return functions_[index_of(domain)][id].load(std::memory_order_relaxed).is_heard();
}

// The guest's subscriber goes on: what only the recorder listened to costs its program nothing more.
void ApiObserver::forget_calls() noexcept {
  void* const subscriber = subscriber_.load();
  for (const CallbackDomain domain : {CallbackDomain::kDriverApi, CallbackDomain::kRuntimeApi}) {
    for (std::uint32_t id = 1; id < kCallbacks; ++id) {
      const Function old = functions_[index_of(domain)][id].exchange(Function(), std::memory_order_relaxed);
      if (old.is_heard() && !guest_.wants(domain, id)) cupti_->enable_callback(0, subscriber, domain, id);
    }
  }
  for (const std::uint32_t id : kResources) {
    if (!guest_.wants(CallbackDomain::kResource, id)) {
      cupti_->enable_callback(0, subscriber, CallbackDomain::kResource, id);
    }
  }
}

}  // namespace turnpike::record
