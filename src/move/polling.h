// When the devices may be asked how far they are.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace turnpike::move {

// A question to a device takes a microsecond, with the stager's lock held: one in a while is enough for all threads.
// Safe from any thread.
class Polling {
 public:
  // A thread's right to put one question, if it has it.
  class Turn {
   public:
    explicit Turn(bool is_left = true) : is_left_(is_left) {}
    // True once.
    bool take() { return std::exchange(is_left_, false); }

   private:
    bool is_left_;
  };

  // For a thread that has nothing to do, and holds no lock: looks on until `changes` is no longer as it was seen, until
  // it is up to this thread to ask, or for a while.
  Turn look_out(const std::atomic<std::uint64_t>& changes, std::uint64_t seen);

 private:
  std::atomic<std::int64_t> next_question_ns_{0};
};

}  // namespace turnpike::move
