// The engine's threads: on which cores they run, how they sleep, and how they end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace turnpike::move {

// The owner's lock guards it, but for wake() and join().
class Workers {
 public:
  // There are `count` threads then, fewer where the system allows no more. Each calls `work`, which returns when
  // are_dismissed().
  void start(std::size_t count, const std::function<void()>& work);
  std::size_t count() const { return threads_.size(); }

  // Wakes so many of those that sleep.
  void wake(std::size_t count);
  // Opens the lock and sleeps, as a condition variable does: until there is something to do, or the threads are
  // dismissed.
  template <typename HasWork>
  void sleep_until(std::unique_lock<std::mutex>& lock, HasWork has_work) {
    woken_.wait(lock, [&] { return are_dismissed_ || has_work(); });
  }
  // The same for a while. A thread that is woken earlier passes the call on: it would have come by itself.
  void sleep_for(std::unique_lock<std::mutex>& lock, std::chrono::microseconds pause) {
    if (woken_.wait_for(lock, pause) == std::cv_status::no_timeout) woken_.notify_one();
  }

  // The three steps to no threads: dismissed they need the lock to end, and wait for it until join().
  std::vector<std::thread> dismiss();
  void join(std::vector<std::thread> threads);
  void allow() { are_dismissed_ = false; }
  bool are_dismissed() const { return are_dismissed_; }

 private:
  std::condition_variable woken_;
  std::vector<std::thread> threads_;
  bool are_dismissed_ = false;
};

}  // namespace turnpike::move
