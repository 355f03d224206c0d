// What another profiler of this process, the guest, wants to hear of CUPTI: it shares the recorder's subscriber, since
// CUPTI has one. torch.profiler is such a guest.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cuda/cupti.h"

namespace turnpike::record {

class GuestCallbacks {
 public:
  static constexpr std::size_t kDomains = 8;
  static constexpr std::size_t kCallbacks = 1024;

  void set_function(cuda::CallbackFunction function, void* user) noexcept {
    user_.store(user, std::memory_order_relaxed);
    function_.store(function, std::memory_order_release);
  }
  void clear() noexcept {
    function_.store(nullptr, std::memory_order_release);
    for (auto& domain : wanted_) {
      for (auto& callback : domain) callback.store(false, std::memory_order_relaxed);
    }
  }
  bool is_there() const noexcept { return function_.load(std::memory_order_acquire) != nullptr; }

  // False: no such callback can be kept here.
  bool set_wanted(cuda::CallbackDomain domain, std::uint32_t id, bool is_wanted) noexcept {
    if (!has_room_for(domain, id)) return false;
    wanted_[static_cast<std::size_t>(domain)][id].store(is_wanted, std::memory_order_relaxed);
    return true;
  }
  bool wants(cuda::CallbackDomain domain, std::uint32_t id) const noexcept {
    return has_room_for(domain, id) && wanted_[static_cast<std::size_t>(domain)][id].load(std::memory_order_relaxed);
  }

  // On the program's thread, inside of CUPTI's callback.
  void tell(cuda::CallbackDomain domain, std::uint32_t id, const void* data) const {
    const cuda::CallbackFunction function = function_.load(std::memory_order_acquire);
    if (function != nullptr && wants(domain, id)) function(user_.load(std::memory_order_relaxed), domain, id, data);
  }

 private:
  static bool has_room_for(cuda::CallbackDomain domain, std::uint32_t id) noexcept {
    return static_cast<std::size_t>(domain) < kDomains && id < kCallbacks;
  }

  std::atomic<cuda::CallbackFunction> function_{nullptr};
  std::atomic<void*> user_{nullptr};
  std::array<std::array<std::atomic<bool>, kCallbacks>, kDomains> wanted_{};
};

}  // namespace turnpike::record
