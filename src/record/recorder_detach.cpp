// After a recording CUPTI is detached, where the environment asks for it and it is safe: while CUPTI is attached, calls
// of CUDA take longer, whether or not anybody asks it for anything.
#include <cstdlib>
#include <cstring>

#include "cuda/detach.h"
#include "cuda/driver.h"
#include "record/other_threads.h"
#include "record/recorder.h"

namespace turnpike::record {
namespace {

constexpr std::int64_t kMostWaitNs = 10'000'000'000;

}  // namespace

// When a recording starts. Launches are heard in full detail alone, and threads that only launch kernels would not be
// known otherwise. MPS was not tried.
bool Recorder::wants_to_detach() const noexcept {
  const char* wish = std::getenv(TURNPIKE_ENV_DETACH);
  return wish != nullptr && std::strcmp(wish, "1") == 0 && is_cupti_detachable_ && options_.detail == Detail::kFull &&
         losses_.get(trace::Loss::kSharedByMps) == 0;
}

bool Recorder::may_detach() const noexcept {
  // A collector that has not come to its end may be inside of CUPTI.
  return state_ == State::kIdle && is_attached() && options_.may_detach && !api_.must_stay_attached() &&
         !handover_.has_unknown_threads() && !api_.is_capturing() && !has_had_guest_ && !is_ending_ &&
         !has_waited_in_vain_ && collector_.is_done();
}

// Once in vain, and it is not tried again: each of many short recordings would wait as long.
bool Recorder::wait_for_gpu() {
  if (std::try_lock(detach_mutex_, mutex_) != -1) return false;
  {
    // Not while it waits: whoever starts a recording would have to wait, too.
    const std::lock_guard detaching(detach_mutex_, std::adopt_lock);
    const std::lock_guard lock(mutex_, std::adopt_lock);
    if (!may_detach() || may_others_call_cuda(handover_.threads())) return false;
  }
  const auto driver = cuda::find_loaded_driver();
  const bool is_idle = driver && cuda::wait_for_gpus(*driver, kMostWaitNs);
  if (!is_idle) has_waited_in_vain_ = true;
  return is_idle;
}

bool Recorder::detach() {
  // Whoever has a lock may need the caller's other locks, such as Python's. A fork waits for the first of these, which
  // is given back last: the child has none of them locked.
  if (std::try_lock(detach_mutex_, mutex_) != -1) return false;
  const std::lock_guard detaching(detach_mutex_, std::adopt_lock);
  const std::lock_guard lock(mutex_, std::adopt_lock);
  const auto driver = cuda::find_loaded_driver();
  if (!may_detach() || !driver || may_others_call_cuda(handover_.threads())) return false;
  const cuda::Detached detached = cuda::detach_cupti(cupti_, *driver);
  if (detached == cuda::Detached::kHeldByOther) has_had_guest_ = true;
  if (detached != cuda::Detached::kYes) return false;
  pool_.reset();
  is_attached_ = false;
  return true;
}

void Recorder::note_guest() noexcept {
  if (has_had_guest_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(detach_mutex_);
  has_had_guest_.store(true, std::memory_order_release);
  is_attached_ = true;
}

}  // namespace turnpike::record
