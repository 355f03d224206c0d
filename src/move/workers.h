// The engine's threads: their cores, their sleep and their end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace turnpike::move {

// The owner's lock guards everything but wake() and join().
class Workers {
 public:
  // Starts threads until there are `count`, or as many as the system allows. Each calls `work`, which must return once
  // are_dismissed().
  void start(std::size_t count, const std::function<void()>& work);
  std::size_t count() const { return threads_.size(); }

  // Wakes up to `count` sleeping threads.
  void wake(std::size_t count);
  // Releases the lock and sleeps, as a condition variable does, until there is work or the threads are dismissed.
  template <typename HasWork>
  void sleep_until(std::unique_lock<std::mutex>& lock, HasWork has_work) {
    woken_.wait(lock, [&] { return are_dismissed_ || has_work(); });
  }
  // The same, but for `pause` at most. A thread that is woken earlier wakes another one: it would have come anyway.
  void sleep_for(std::unique_lock<std::mutex>& lock, std::chrono::microseconds pause) {
    if (woken_.wait_for(lock, pause) == std::cv_status::no_timeout) woken_.notify_one();
  }

  // How threads end: dismiss() with the lock, release the lock, join(), allow() with the lock again.
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
