// The list of mutexes, and what a fork does with them.
#include "base/fork_mutex.h"

#include <pthread.h>

#include <atomic>
#include <new>

namespace turnpike {
namespace {

// Of the list. Never destroyed: a fork may come until the very end of a process.
std::mutex& list_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}
ForkMutex* g_newest = nullptr;
std::atomic<const ForkSteps*> g_steps{nullptr};

}  // namespace

void set_fork_steps(const ForkSteps& steps) noexcept {
  ForkMutex::handle_forks();
  g_steps = &steps;
}

void ForkMutex::handle_forks() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(before_fork, after_fork, in_child); });
}

ForkMutex::ForkMutex(Held held) : held_(held) {
  handle_forks();
  const std::lock_guard lock(list_mutex());
  older_ = g_newest;
  if (older_ != nullptr) older_->newer_ = this;
  g_newest = this;
}

ForkMutex::~ForkMutex() {
  const std::lock_guard lock(list_mutex());
  (newer_ == nullptr ? g_newest : newer_->older_) = older_;
  if (older_ != nullptr) older_->newer_ = newer_;
}

// The newest first: whoever holds one may wait for an older one.
void ForkMutex::before_fork() noexcept {
  list_mutex().lock();
  for (ForkMutex* mutex = g_newest; mutex != nullptr; mutex = mutex->older_) {
    if (mutex->held_ == Held::kBriefly) mutex->mutex_.lock();
  }
  if (const ForkSteps* steps = g_steps.load()) steps->before();
}

void ForkMutex::after_fork() noexcept {
  if (const ForkSteps* steps = g_steps.load()) steps->in_parent();
  unlock_all();
}

void ForkMutex::in_child() noexcept {
  for (ForkMutex* mutex = g_newest; mutex != nullptr; mutex = mutex->older_) {
    if (mutex->held_ == Held::kForLong) mutex->free_in_child();
  }
  if (const ForkSteps* steps = g_steps.load()) steps->in_child();
  unlock_all();
}

void ForkMutex::unlock_all() noexcept {
  for (ForkMutex* mutex = g_newest; mutex != nullptr; mutex = mutex->older_) {
    if (mutex->held_ == Held::kBriefly) mutex->mutex_.unlock();
  }
  list_mutex().unlock();
}

// There is no other thread: a mutex that cannot be taken was left.
void ForkMutex::free_in_child() noexcept {
  if (mutex_.try_lock()) return mutex_.unlock();
  was_left_ = true;
  new (&mutex_) std::mutex;
}

}  // namespace turnpike
