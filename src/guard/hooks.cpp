#include "guard/hooks.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <string_view>

#include "base/fork_mutex.h"
#include "base/hot.h"
#include "base/slots.h"
#include "guard/cxx_runtime.h"
#include "guard/hook_table.h"
#include "guard/outside.h"

namespace turnpike::guard {
namespace {

bool is_name_of_torch(std::string_view name) {
  return name.starts_with("libtorch") || name.starts_with("libc10");
}

// PyTorch's own libraries and extensions that link against them: in these a C++ exception is a Python one. Not a
// program of its own.
bool belongs_to_torch(const SlotOwner& owner) {
  if (owner.path().empty()) return false;
  return is_name_of_torch(owner.file_name()) || owner.links_against(is_name_of_torch);
}

// Its holder may wait for the loader's lock, which a forking thread may hold. Never destroyed: threads may outlive
// main.
ForkMutex& slots_mutex() {
  static auto& mutex = *new ForkMutex(ForkMutex::Held::kForLong);
  return mutex;
}
std::atomic<std::size_t> g_count{0};  // of the slots that were taken last
// Whose age each call asks for; nullptr: no slots are taken any more.
TURNPIKE_HOT_DATA std::atomic<Slots*> g_watched{nullptr};

// A forked child does not ask the loader, whose lock a thread may hold that the child lacks: it keeps the slots that
// are taken.
std::atomic<bool> g_is_final{false};

void in_forked_child() noexcept {
  if (!slots_mutex().was_left() && g_count == 0) return;
  g_is_final = true;
  g_watched = nullptr;
}
// Before any thread can use the mutex, and behind its own handler.
[[maybe_unused]] const int kHandlesForks = [] {
  slots_mutex();
  return pthread_atfork(nullptr, nullptr, in_forked_child);
}();

Slots& slots() {
  static auto& all = *new Slots(belongs_to_torch, hook_table());  // what they hold is used until the process has ended
  g_watched.store(&all, std::memory_order_release);
  return all;
}

// With the lock held. All that a hook uses of other libraries is found here.
std::size_t take_if_stale() noexcept {
  if (g_is_final) return g_count;
  try {
    if (!slots().is_stale()) {
      if (slots().may_follow()) slots().follow();  // a hook has taken some
      return g_count;
    }
    g_count = slots().take(Slots::Loader::kMayEnter);
    slots().follow();
    if (!bind_runtime()) {
      // A libcudart of another age: what cannot be judged is not guarded.
      slots().restore();
      g_count = 0;
    } else {
      CxxRuntime::find();
      listen_to_recorder();
    }
    return g_count;
  } catch (...) {
    return 0;
  }
}

// Extensions may have come since. Does not wait, neither for the lock, whose owner may wait for the loader, nor for the
// loader itself: whoever is loading a library may wait for the call that this hook stands in.
void take_if_free() noexcept {
  const std::unique_lock lock(slots_mutex(), std::try_to_lock);
  if (!lock.owns_lock() || g_is_final) return;
  try {
    g_count = slots().take(Slots::Loader::kAvoid);
    listen_to_recorder();
  } catch (...) {
    // Without memory they are taken at a later call.
  }
}

}  // namespace

TURNPIKE_HOT void take_new_slots() noexcept {
  const Slots* watched = g_watched.load(std::memory_order_acquire);
  if (watched != nullptr && watched->is_stale()) take_if_free();
}

std::size_t take_slots() noexcept {
  const std::lock_guard lock(slots_mutex());
  return take_if_stale();
}

bool are_slots_fresh() noexcept {
  const std::unique_lock lock(slots_mutex(), std::try_to_lock);
  if (!lock.owns_lock() || g_count == 0) return false;
  return g_is_final || (!slots().is_stale() && !slots().may_follow());
}

void restore_slots() noexcept {
  const std::lock_guard lock(slots_mutex());
  if (g_is_final) return;
  slots().restore();
  g_count = 0;
}

}  // namespace turnpike::guard
