// After a recording CUPTI is detached, where the environment asks for it and it is safe: while CUPTI is attached, calls
// of CUDA take longer, whether or not anybody asks it for anything.
#include <cstdlib>
#include <cstring>

#include "cuda/detach.h"
#include "cuda/driver.h"
#include "record/other_threads.h"
#include "record/recorder.h"

namespace turnpike::record {

// When a recording starts. Launches are heard in full detail alone, and threads that only launch kernels would not be
// known otherwise. MPS was not tried.
bool Recorder::wants_to_detach() const noexcept {
  const char* wish = std::getenv(TURNPIKE_ENV_DETACH);
  return wish != nullptr && std::strcmp(wish, "1") == 0 && is_cupti_detachable_ && options_.detail == Detail::kFull &&
         losses_.get(trace::Loss::kSharedByMps) == 0;
}

bool Recorder::may_detach() const noexcept {
  return options_.may_detach && !api_.must_stay_attached() && !handover_.has_unknown_threads() && !has_had_guest_ &&
         !is_ending_;
}

bool Recorder::detach() {
  if (state_ != State::kIdle || !is_attached()) return false;
  // Whoever starts or stops a recording now may need the caller's other locks, such as Python's.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const std::lock_guard detaching(detach_mutex_);
  // A collector that has not come to its end may be inside of CUPTI.
  if (state_ != State::kIdle || !is_attached() || !may_detach() || !collector_.is_done()) return false;
  const auto driver = cuda::find_loaded_driver();
  if (!driver || may_others_call_cuda(handover_.threads())) return false;
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
