// A mutex that a forked child can always take. A plain one that another thread holds at the fork stays locked in the
// child for good, because that thread is not there.
#pragma once

#include <mutex>

namespace turnpike {

// What else is to be done around a fork, while no other thread holds a mutex that is held briefly.
struct ForkSteps {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
};
// One for the process, or the library that this is a part of. They stay in memory.
void set_fork_steps(const ForkSteps& steps) noexcept;

// All of them are in one list, which one handler of forks goes through.
class ForkMutex {
 public:
  enum class Held {
    // For moments, and nothing that waits is called meanwhile: a fork waits for it, and what it protects is whole in
    // the child. Whoever holds one may take another that was made before it.
    kBriefly,
    // Around what may wait, such as a call of CUDA: no fork waits for it. The child gets a fresh one and must not go
    // on with what it protects, if it was held.
    kForLong,
  };

  explicit ForkMutex(Held held = Held::kBriefly);
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }
  // In a forked child: whether another thread held it at a fork.
  bool was_left() const noexcept { return was_left_; }

 private:
  friend void set_fork_steps(const ForkSteps& steps) noexcept;
  static void handle_forks() noexcept;
  static void before_fork() noexcept;
  static void after_fork() noexcept;
  static void in_child() noexcept;
  static void unlock_all() noexcept;
  void free_in_child() noexcept;

  std::mutex mutex_;
  const Held held_;
  bool was_left_ = false;
  ForkMutex* older_ = nullptr;
  ForkMutex* newer_ = nullptr;
};

}  // namespace turnpike
