// When a thread may ask a device how far it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

#include "move/steady_ns.h"

namespace turnpike::move {

// A question to a device takes a microsecond and needs the stager's lock, so all threads together ask once in a while.
// Safe from any thread.
class Polling {
 public:
  // A thread's right to ask once, if it has one.
  class Turn {
   public:
    explicit Turn(bool is_left = true) : is_left_(is_left) {}
    // True once.
    bool take() { return std::exchange(is_left_, false); }

   private:
    bool is_left_;
  };

  // With another clock in nanoseconds, and another way to leave the core to others.
  explicit Polling(std::int64_t (*now_ns)() = steady_ns, void (*yield)() = std::this_thread::yield)
      : now_ns_(now_ns), yield_(yield) {}

  // For an idle thread without the lock. Waits until `changes` differs from `seen`, until this thread may ask, or for
  // a while.
  Turn look_out(const std::atomic<std::uint64_t>& changes, std::uint64_t seen);

 private:
  std::int64_t (*const now_ns_)();
  void (*const yield_)();
  std::atomic<std::int64_t> next_question_ns_{0};
};

}  // namespace turnpike::move
