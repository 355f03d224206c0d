// A flag that threads wait for. Setting it takes no lock, so that signal handlers may, too.
#pragma once

#include <atomic>
#include <cstdint>

namespace turnpike::record {

class WakeFlag {
 public:
  // Wakes all who wait.
  void set() noexcept;
  void clear() noexcept { word_.store(0, std::memory_order_release); }
  // Clears it. Whether it was set.
  bool take() noexcept { return word_.exchange(0, std::memory_order_acq_rel) != 0; }
  bool is_set() const noexcept { return word_.load(std::memory_order_acquire) != 0; }
  // Returns when it is set, or the time is over. Whether it is set.
  bool wait(std::int64_t timeout_ns) noexcept;

 private:
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace turnpike::record
